//! The value of `error_pages`: which file is shown with which status. Read by the table of keys;
//! `service` shows them.

use std::collections::BTreeMap;

use http::StatusCode;
use serde::de::{Deserialize, Deserializer, Error};

use super::pages::page_name;
use crate::config::value::Value;

/// The files that are shown with errors, by status.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ErrorPages(Vec<ErrorPage>);

/// Statuses, and the name below the root of the file that is shown with them.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ErrorPage {
    first: u16,
    last: u16,
    name: String,
}

impl ErrorPages {
    /// The name below the root of the file that is shown with `status`; a status itself comes before its
    /// hundred.
    pub(crate) fn name(&self, status: StatusCode) -> Option<&str> {
        let code = status.as_u16();
        let of_status = |page: &&ErrorPage| (page.first..=page.last).contains(&code);
        let found = self.0.iter().filter(of_status).min_by_key(|page| page.last - page.first);
        found.map(|page| page.name.as_str())
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The names below the root of all files.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|page| page.name.as_str())
    }

    fn read_from(table: BTreeMap<String, String>) -> Result<ErrorPages, String> {
        let page = |(status, path): (String, String)| {
            let (first, last) = statuses(&status).ok_or_else(|| {
                format!("\"{status}\" is not the status of an error; write such as 404, 4xx or 5xx")
            })?;
            Ok(ErrorPage { first, last, name: page_name(&path)? })
        };
        table.into_iter().map(page).collect::<Result<Vec<_>, String>>().map(ErrorPages)
    }
}

/// The first and the last status that `404` or `4xx` stands for.
fn statuses(text: &str) -> Option<(u16, u16)> {
    match text {
        "4xx" => Some((400, 499)),
        "5xx" => Some((500, 599)),
        code => {
            let code = code.parse().ok().filter(|code| (400..=599).contains(code))?;
            Some((code, code))
        }
    }
}

impl Value for ErrorPages {
    type Resolved = ErrorPages;

    const NAME: &'static str = "TABLE";

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ErrorPages, D::Error> {
        ErrorPages::read_from(BTreeMap::deserialize(deserializer)?).map_err(D::Error::custom)
    }

    fn resolve(self) -> ErrorPages {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pages: &[(&str, &str)]) -> Result<ErrorPages, String> {
        let owned = pages.iter().map(|(status, path)| ((*status).to_owned(), (*path).to_owned()));
        ErrorPages::read_from(owned.collect())
    }

    #[test]
    fn a_status_comes_before_its_hundred() {
        let pages =
            read(&[("4xx", "/4.html"), ("404", "/404.html"), ("5xx", "/50x.html")]).unwrap();
        let name = |code| pages.name(StatusCode::from_u16(code).unwrap());
        assert_eq!((name(404), name(403)), (Some("404.html"), Some("4.html")));
        assert_eq!((name(503), name(200), name(304)), (Some("50x.html"), None, None));
        assert_eq!((pages.names().count(), pages.is_empty()), (3, false));
        for (status, path, why) in [
            ("200", "/a", "not the status of an error"),
            ("6xx", "/a", "not the status of an error"),
            ("40", "/a", "write such as 404, 4xx or 5xx"),
            ("404", "a", "write such as /404.html"),
            ("404", "/../a", "not the path of a page"),
        ] {
            let wrong = read(&[(status, path)]).unwrap_err();
            assert!(wrong.contains(why), "{wrong}");
        }
    }
}

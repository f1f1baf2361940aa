//! Paths in routes: what they may look like. Used by the table of routes' keys and by `--proxy`.

use std::fmt;
use std::str::FromStr;

use crate::config::value::value;

/// The path of a route, decoded and in normal form, without a slash at its end unless it is `/`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RoutePath(pub(super) String);

impl FromStr for RoutePath {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        check_start(text)?;
        // Requests with `\` are refused, and those that `;` leads to another route.
        let is_odd = |c: &char| matches!(c, '%' | '?' | '#' | '\\' | ';') || c.is_control();
        if let Some(odd) = text.chars().find(is_odd) {
            let odd = odd.escape_default();
            return Err(format!(
                "the path \"{text}\" holds `{odd}`; write it decoded and without parameters and a query"
            ));
        }
        let path = text.strip_suffix('/').unwrap_or(text);
        let mut segments = path.split('/').skip(1);
        if segments.any(|segment| matches!(segment, "" | "." | "..")) {
            return Err(format!(
                "the path \"{text}\" holds a segment that is empty or of dots; paths are compared \
                 without them"
            ));
        }
        Ok(RoutePath(if path.is_empty() { "/".to_owned() } else { path.to_owned() }))
    }
}

impl fmt::Display for RoutePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

value!(RoutePath, "PATH", |path| -> String { path.0 });

/// A path as it is sent to a backend, without a query unless `query` is true.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SentPath<const QUERY: bool>(pub(super) String);

impl<const QUERY: bool> FromStr for SentPath<QUERY> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        check_start(text)?;
        let odd = |c: &char| !c.is_ascii_graphic() || *c == '#' || (*c == '?' && !QUERY);
        match text.chars().find(odd) {
            None => Ok(SentPath(text.to_owned())),
            Some(odd) => {
                let odd = odd.escape_default();
                Err(format!("the path \"{text}\" holds `{odd}`; write it as it is to be sent"))
            }
        }
    }
}

impl<const QUERY: bool> fmt::Display for SentPath<QUERY> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

value!(SentPath<false>, "PATH", |path| -> String { path.0 });
value!(SentPath<true>, "PATH", |path| -> String { path.0 });

fn check_start(text: &str) -> Result<(), String> {
    if text.starts_with('/') {
        return Ok(());
    }
    Err(format!("the path \"{text}\" does not begin with a slash; write \"/{text}\""))
}

//! The table of the keys that say which names of a site are served, and what stands for names that are
//! not there. Used by [`super::FileKeys`], for the server and for routes of files.

use std::fmt;
use std::str::FromStr;

use weir_http::message::path::is_name;

use crate::config::table::settings;
use crate::config::value::value;

settings! {
    /// Flags and keys about names and pages, as far as they were given.
    #[derive(clap::Args)]
    pub(in crate::config) struct PageKeys;

    /// Which names of a site are served, and what stands for names that are not there.
    pub struct PagesConfig {}

    "Names and pages" {
        /// Name of the file that stands for its directory; of several the first that is there
        #[arg(long)]
        index: Vec<IndexName> = vec![IndexName("index.html".to_owned())],
        needs "a directory to serve",
        example ["index.html", "index.htm"];

        /// What is looked for in the place of a path, in this order; `{path}` is the path
        ///
        /// The first that is a file is served. It is for paths without a slash at their end; directories
        /// have their `index`.
        #[arg(long)]
        try_files: Vec<Template> = Vec::new(),
        else "the path itself",
        needs "a directory to serve",
        example ["{path}", "{path}.html"];

        /// Serve `/x` from `x.html` or `x/index.html`, and redirect `/x.html` to `/x`
        ///
        /// It is short for `try_files = ["{path}", "{path}.html", "{path}/index.html"]` with redirects from
        /// the longer names, those of indexes included.
        #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
        clean_urls: bool = false,
        needs "a directory to serve",
        example true;

        /// File that is served, with status 200, to clients that want HTML where there is no other, as
        /// applications of one page need it
        ///
        /// Clients want HTML if `Accept` names `text/html`, or allows everything and the last segment of
        /// the path has no dot. So a missing script stays a 404. A directory with neither an index nor a
        /// list is no file either.
        #[arg(long)]
        fallback: Fallback = Fallback(None),
        needs "a directory to serve",
        example "/index.html";

        /// Show what directories hold that have no index, as HTML, or as JSON to those who prefer it
        ///
        /// Names that are not served are not shown. Up to 512 KB of names are sorted, directories first;
        /// of larger directories they come as the file system has them.
        #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
        listing: bool = false,
        needs "a directory to serve",
        example true;

        /// Serve sources of scripts and backups of editors, too
        ///
        /// Otherwise they are 404: `.php`, `.py`, `.cgi`, `.pl`, `.rb` and others that servers execute,
        /// and `*~`, `*.bak`, `*.swp` and the like. A mirror of packages or a site of source code wants
        /// them served. Names that begin with a dot are never served, but for `.well-known` directly below
        /// the root.
        #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
        serve_sources: bool = false,
        needs "a directory to serve",
        example true;
    }
}

/// The name of a file that stands for its directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexName(String);

impl FromStr for IndexName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match is_name(text.as_bytes()) && !text.contains('/') {
            true => Ok(IndexName(text.to_owned())),
            false => Err(format!(
                "\"{text}\" is not the name of an index; write such as index.html, without a slash \
                 and a dot at its beginning"
            )),
        }
    }
}

impl fmt::Display for IndexName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

value!(IndexName, "FILE", |name| -> String { name.0 });

/// What stands for the path in a [`Template`].
const PATH: &str = "{path}";

/// Where to look for a path: text before it and behind it, below the root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    before: String,
    behind: String,
}

impl Template {
    /// Looks for the path with this behind it.
    fn with_end(behind: &str) -> Template {
        Template { before: String::new(), behind: behind.to_owned() }
    }

    /// Whether it is the path itself.
    pub(crate) fn is_path(&self) -> bool {
        self.before.is_empty() && self.behind.is_empty()
    }

    /// The path, other than `name`, for which this name is looked for, if there is one.
    fn other_path<'n>(&self, name: &'n str) -> Option<&'n str> {
        let path = name.strip_prefix(self.before.as_str())?.strip_suffix(self.behind.as_str())?;
        (!self.is_path() && !path.is_empty()).then_some(path)
    }

    /// The name to look for, for a path that is not empty.
    pub(crate) fn apply(&self, path: &[u8]) -> Vec<u8> {
        [self.before.as_bytes(), path, self.behind.as_bytes()].concat()
    }
}

impl FromStr for Template {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = |why: &str| Err(format!("cannot try \"{text}\": {why}"));
        let Some((before, behind)) = text.split_once(PATH) else {
            return wrong("it does not hold {path}; for one file in place of all write `fallback`");
        };
        if [before, behind].iter().any(|part| part.contains(['{', '}'])) {
            return wrong("only {path} may stand in braces, and only once");
        }
        let before = before.strip_prefix('/').unwrap_or(before);
        // `x` is like any path: what is a name with it is a name with others.
        match is_name(format!("{before}x{behind}").as_bytes()) {
            true => Ok(Template { before: before.to_owned(), behind: behind.to_owned() }),
            false => wrong("it is no name below the root; write such as {path}.html"),
        }
    }
}

impl fmt::Display for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let slash = if self.before.is_empty() { "" } else { "/" };
        write!(f, "{slash}{}{PATH}{}", self.before, self.behind)
    }
}

value!(Template, "PATTERN", |template| -> Template { template });

/// The file that is served where there is no other, if there is one: its name below the root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fallback(Option<String>);

const OFF: &str = "off";

impl FromStr for Fallback {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            OFF => Ok(Fallback(None)),
            path => page_name(path).map(Some).map(Fallback),
        }
    }
}

impl fmt::Display for Fallback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            None => f.write_str(OFF),
            Some(name) => write!(f, "/{name}"),
        }
    }
}

value! {
    Fallback, "PATH", |page| -> Option<String> { page.0 }
    fn words() -> Vec<(&'static str, &'static str)> {
        vec![("a path", "this file of the site"), (OFF, "none")]
    }
}

/// The name below the root of the file that a path of the configuration names.
///
/// # Errors
///
/// What is wrong with the path and what would be right.
pub(super) fn page_name(path: &str) -> Result<String, String> {
    match path.strip_prefix('/').filter(|name| is_name(name.as_bytes())) {
        Some(name) => Ok(name.to_owned()),
        None => Err(format!(
            "\"{path}\" is not the path of a page; write such as /404.html, decoded, with a slash at \
             its beginning, none at its end and no segment that begins with a dot"
        )),
    }
}

impl PagesConfig {
    /// Where a path is looked for; nothing: as it is.
    pub(crate) fn templates(&self) -> Vec<Template> {
        match self.clean_urls {
            true => ["", ".html", "/index.html"].map(Template::with_end).into(),
            false => self.try_files.clone(),
        }
    }

    /// A path under which a file is served beside `path`, that of its name, if there is one. Both begin
    /// with a slash.
    pub(in crate::config) fn other_path(&self, path: &str) -> Option<String> {
        let name = path.strip_prefix('/')?;
        let (directory, last) = name.rsplit_once('/').unwrap_or(("", name));
        if self.index.iter().any(|index| index == last) {
            let slash = if directory.is_empty() { "" } else { "/" };
            return Some(format!("/{directory}{slash}"));
        }
        let templates = self.templates();
        let other = templates.iter().find_map(|template| template.other_path(name));
        other.map(|other| format!("/{other}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_paths_are_looked_for() {
        for (text, path, name) in [
            ("{path}", "a/b", "a/b"),
            ("{path}.html", "a/b", "a/b.html"),
            ("{path}/index.html", "a", "a/index.html"),
            ("/v2/{path}", "a/b", "v2/a/b"),
            ("v2-{path}", "a", "v2-a"),
        ] {
            let template: Template = text.parse().unwrap();
            assert_eq!(template.apply(path.as_bytes()), name.as_bytes(), "{text}");
            assert_eq!(template.is_path(), text == "{path}");
            assert_eq!(template.to_string().parse(), Ok(template));
        }
        for (text, why) in [
            ("/index.html", "write `fallback`"),
            ("{path}{path}", "only once"),
            ("{path}.{ext}", "only {path} may stand in braces"),
            ("../{path}", "no name below the root"),
            (".{path}", "no name below the root"),
            ("{path}/", "no name below the root"),
            ("{path}/.hidden", "no name below the root"),
            ("//{path}", "no name below the root"),
        ] {
            let wrong = text.parse::<Template>().unwrap_err();
            assert!(wrong.contains(why), "{text}: {wrong}");
        }
    }

    #[test]
    fn names_of_indexes_and_pages() {
        assert_eq!("index.htm".parse(), Ok(IndexName("index.htm".to_owned())));
        for wrong in ["", "a/b", ".index", "..", "a\0"] {
            assert!(wrong.parse::<IndexName>().unwrap_err().contains("such as index.html"));
        }
        assert_eq!("/a/b.html".parse(), Ok(Fallback(Some("a/b.html".to_owned()))));
        assert_eq!("off".parse(), Ok(Fallback(None)));
        for wrong in ["", "/", "a.html", "/a/", "//a", "/../a", "/.a", "on"] {
            let why = wrong.parse::<Fallback>().unwrap_err();
            assert!(why.contains("such as /404.html"), "{why}");
        }
    }
}

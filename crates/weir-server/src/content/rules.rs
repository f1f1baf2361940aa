//! What of a directory is served under which names, and what heads say of each file. Made of the
//! configuration once; the site asks when it looks a name up, never for what it knows already.

use std::borrow::Cow;
use std::sync::Arc;

use http::{HeaderValue, header};
use weir_http::message::{FieldChanges, media};

use super::sources;
use crate::config::{CacheControl, FilesConfig, MediaTypes, Template};

/// What is cut off at the end of a name by `clean_urls`.
const HTML: &[u8] = b".html";

/// See the module.
#[derive(Debug)]
pub(crate) struct Rules {
    /// Names of the files that stand for their directory, the first that is there.
    index: Vec<String>,
    /// Where a path is looked for; nothing: as it is.
    templates: Vec<Template>,
    /// Longer names are redirected to those that are short.
    cleans: bool,
    /// Directories without an index are listed.
    pub(super) lists: bool,
    serves_sources: bool,
    types: MediaTypes,
    caching: CacheControl,
    /// What is changed about the fields of files without `Cache-Control`, if anything is.
    changes: Option<Arc<FieldChanges>>,
    /// The same for files with each value of it.
    cached: Vec<(HeaderValue, Arc<FieldChanges>)>,
}

impl Rules {
    pub(crate) fn new(files: &FilesConfig) -> Rules {
        let changes = files.changes();
        let caching = files.fields.cache_control.clone();
        let with = |value: HeaderValue| {
            let changes = changes.clone().setting(header::CACHE_CONTROL, value.clone());
            (value, Arc::new(changes))
        };
        Rules {
            index: files.pages.index.clone(),
            templates: files.pages.templates(),
            cleans: files.pages.clean_urls,
            lists: files.pages.listing,
            serves_sources: files.pages.serve_sources,
            types: files.fields.types.clone(),
            cached: caching.values().into_iter().map(with).collect(),
            caching,
            changes: (!changes.is_empty()).then(|| Arc::new(changes)),
        }
    }

    /// The names to look for in the place of `name`, a path without a slash at its end, in their order.
    pub(super) fn candidates<'a>(
        &'a self,
        name: &'a [u8],
    ) -> impl Iterator<Item = Cow<'a, [u8]>> + 'a {
        // That of the root has nothing to be put before or behind.
        let as_it_is = self.templates.is_empty() || name.is_empty();
        let templates: &[Template] = if as_it_is { &[] } else { &self.templates };
        let itself = as_it_is.then_some(Cow::Borrowed(name));
        itself.into_iter().chain(templates.iter().map(move |template| match template.is_path() {
            true => Cow::Borrowed(name),
            false => Cow::Owned(template.apply(name)),
        }))
    }

    /// The names to look for in the place of a directory, in their order.
    pub(super) fn indexes<'a>(
        &'a self,
        directory: &'a [u8],
    ) -> impl Iterator<Item = Cow<'a, [u8]>> + 'a {
        self.index.iter().map(move |index| {
            let slash: &[u8] = if directory.is_empty() { b"" } else { b"/" };
            Cow::Owned([directory, slash, index.as_bytes()].concat())
        })
    }

    /// How many bytes at the end of `name` a shorter one would do without, if it serves the same file:
    /// that of an index, or `.html`.
    pub(super) fn spare_end(&self, name: &[u8]) -> Option<Spare> {
        let last = name.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
        if !self.cleans {
            return None;
        }
        if self.index.iter().any(|index| index.as_bytes() == last) {
            return Some(Spare::Index(last.len()));
        }
        (last.len() > HTML.len() && last.ends_with(HTML)).then_some(Spare::Extension(HTML.len()))
    }

    /// Whether nobody is to see a file of this name.
    pub(super) fn keeps_back(&self, name: &[u8]) -> bool {
        !self.serves_sources && sources::is_source_or_backup(name)
    }

    /// `Content-Type` of the file of this name.
    pub(super) fn media(&self, name: &[u8]) -> Cow<'static, str> {
        match self.types.of(name) {
            Some(media) => Cow::Owned(media.to_owned()),
            None => Cow::Borrowed(media::content_type(name)),
        }
    }

    /// What is changed about the fields of the file of this name.
    pub(super) fn changes(&self, name: &[u8]) -> Option<Arc<FieldChanges>> {
        let Some(value) = self.caching.of(name) else { return self.changes.clone() };
        let found = self.cached.iter().find(|(other, _)| *other == value);
        found.map(|(_, changes)| changes.clone())
    }
}

/// What a name could do without: so many bytes at its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spare {
    /// The name of an index: what is left is a directory, with its slash.
    Index(usize),
    /// The extension of HTML.
    Extension(usize),
}

impl Spare {
    /// The number of bytes.
    pub(super) fn bytes(self) -> usize {
        match self {
            Spare::Index(bytes) | Spare::Extension(bytes) => bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Config, parse};

    fn rules(text: &str) -> Rules {
        Rules::new(&Config::from_settings(parse(text).unwrap()).unwrap().files)
    }

    fn names<'a>(found: impl Iterator<Item = Cow<'a, [u8]>>) -> Vec<String> {
        found.map(|name| String::from_utf8(name.into_owned()).unwrap()).collect()
    }

    #[test]
    fn a_plain_site_is_served_as_it_is() {
        let rules = rules("");
        assert_eq!(names(rules.candidates(b"a/b")), ["a/b"]);
        assert_eq!(names(rules.indexes(b"a")), ["a/index.html"]);
        assert_eq!(rules.spare_end(b"index.html"), None);
        assert!(rules.keeps_back(b"a.php") && !rules.keeps_back(b"a.html") && !rules.lists);
        assert_eq!(rules.media(b"a.html"), "text/html; charset=utf-8");
        assert_eq!(rules.changes(b"a.html"), None);
    }

    #[test]
    fn clean_urls_have_three_places_and_two_spare_ends() {
        let rules = rules("clean_urls = true\nindex = [\"index.html\", \"main.html\"]");
        assert_eq!(names(rules.candidates(b"a")), ["a", "a.html", "a/index.html"]);
        assert_eq!(names(rules.candidates(b"")), [""]);
        assert_eq!(names(rules.indexes(b"")), ["index.html", "main.html"]);
        for (name, spare) in [
            ("a/main.html", Some(Spare::Index(9))),
            ("index.html", Some(Spare::Index(10))),
            ("a/b.html", Some(Spare::Extension(5))),
            ("a.htm", None),
            (".html", None),
        ] {
            assert_eq!(rules.spare_end(name.as_bytes()), spare, "{name}");
        }
    }

    #[test]
    fn fields_differ_from_file_to_file() {
        let rules = rules(
            "serve_sources = true\ntypes = { \".foo\" = \"text/x-foo\" }\n\
             cache_control = { \"*.js\" = \"immutable\", \"*.css\" = \"no-cache\" }\n\
             headers = { set = { X-A = \"1\", Cache-Control = \"no-store\" } }",
        );
        assert!(!rules.keeps_back(b"a.php"));
        assert_eq!(rules.media(b"a.FOO"), "text/x-foo");
        let caching = |name: &[u8]| {
            let changes = rules.changes(name).unwrap();
            assert_eq!(changes.set.len(), 2, "{changes:?}");
            let field = changes.set.iter().find(|(name, _)| *name == header::CACHE_CONTROL);
            field.unwrap().1.to_str().unwrap().to_owned()
        };
        assert_eq!(caching(b"a.css"), "no-cache");
        assert_eq!(caching(b"a.js"), "max-age=31536000, immutable");
        assert_eq!(caching(b"a.txt"), "no-store");
        let same =
            |one, other| Arc::ptr_eq(&rules.changes(one).unwrap(), &rules.changes(other).unwrap());
        assert!(same(b"a.css", b"b.css"), "they are shared");
    }
}

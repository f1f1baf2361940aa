//! How the files of a site are served: the keys of the server about that, which a route of files may say
//! otherwise, and the [`FilesConfig`] of each site that comes of them. `content` and `service` go by it.

mod caching;
mod error_pages;
mod fields;
mod pages;
mod pattern;
#[cfg(test)]
mod tests;
mod types;

use std::ops::Range;
use std::path::PathBuf;

use http::{HeaderValue, header};
use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeTable, Deserializer};
use weir_http::message::FieldChanges;

pub use self::caching::CacheControl;
pub use self::error_pages::ErrorPages;
use self::fields::FieldKeys;
pub use self::fields::FieldsConfig;
use self::pages::PageKeys;
pub use self::pages::{PagesConfig, Template};
pub use self::types::MediaTypes;
use super::error::ConfigError;
use super::key::{Key, Resolved as _, Table as _};
use super::keys::{Source, apart, check_section};

/// The keys about files, as far as they were given.
#[derive(Clone, Debug, Default, clap::Args)]
pub(super) struct FileKeys {
    #[command(flatten)]
    pages: PageKeys,

    /// There are no flags for them.
    #[arg(skip)]
    fields: FieldKeys,
}

/// How the files of one site are served.
#[derive(Clone, Debug)]
pub struct FilesConfig {
    /// Their directory; `None`: that of the server.
    pub root: Option<PathBuf>,
    /// What is taken off the path of a request before a file is looked for: segments joined by `/`, of
    /// a route that strips its prefix.
    pub strips: Option<String>,
    /// Which names are served, and what stands for names that are not there.
    pub pages: PagesConfig,
    /// What answers have beside the bytes of files.
    pub fields: FieldsConfig,
}

impl FileKeys {
    /// The names of all keys.
    pub(super) fn names() -> Vec<&'static str> {
        [PageKeys::NAMES, FieldKeys::NAMES].concat()
    }

    /// All that is known of them.
    pub(super) fn keys() -> Vec<Key> {
        [PageKeys::keys(), FieldKeys::keys()].concat()
    }

    /// The names of those that were given.
    pub(super) fn given(&self) -> Vec<&'static str> {
        [self.pages.given(), self.fields.given()].concat()
    }

    /// These where they say something, else those of `below`.
    pub(super) fn over(self, mut below: FileKeys) -> FileKeys {
        if self.pages.try_files.is_some() {
            // Two ways to say one thing: what is said nearer counts.
            below.pages.clean_urls = None;
        }
        FileKeys { pages: self.pages.over(below.pages), fields: self.fields.over(below.fields) }
    }

    /// The site of the files in `root`.
    pub(super) fn site(&self, root: Option<PathBuf>, strips: Option<String>) -> FilesConfig {
        FilesConfig { root, strips, pages: self.pages.resolve(), fields: self.fields.resolve() }
    }

    /// Reads the values of keys, whose names are known; `span` is that of their table.
    ///
    /// # Errors
    ///
    /// What is wrong with a value, or with several together, beginning with the line.
    pub(super) fn read(
        source: Source<'_>,
        span: Range<usize>,
        mut table: DeTable<'_>,
    ) -> Result<FileKeys, ConfigError> {
        for key in FieldKeys::keys() {
            check_section(source, &mut table, &key)?;
        }
        let starts: Vec<(String, usize)> =
            table.keys().map(|key| (key.get_ref().to_string(), key.span().start)).collect();
        let (pages, fields) = apart(table, PageKeys::NAMES);
        let pages = PageKeys::deserialize(Deserializer::from(Spanned::new(span.clone(), pages)));
        let pages = pages.map_err(|error| source.refused(&error))?;
        let fields = FieldKeys::deserialize(Deserializer::from(Spanned::new(span.clone(), fields)));
        let fields = fields.map_err(|error| source.refused(&error))?;
        let keys = FileKeys { pages, fields };
        keys.check().map_err(|(key, what)| {
            let start = starts.iter().find(|(name, _)| name == key);
            source.wrong(start.map_or(span.start, |(_, start)| *start), what)
        })?;
        Ok(keys)
    }

    /// Looks whether what is said of fields makes sense together, where it stands in several tables.
    ///
    /// # Errors
    ///
    /// What does not, and why.
    pub(super) fn check_fields(&self) -> Result<(), String> {
        self.fields.check().map_err(|(key, why)| format!("`{key}`: {why}"))
    }

    /// The first key that makes no sense with the others, and why.
    fn check(&self) -> Result<(), (&'static str, String)> {
        if self.pages.try_files.is_some() && self.pages.clean_urls == Some(true) {
            let why = "`clean_urls` says where files are looked for already; remove `try_files`";
            return Err(("try_files", why.to_owned()));
        }
        self.fields.check()
    }
}

impl FilesConfig {
    /// The names of the keys whose values differ in `other`.
    pub(super) fn differing(&self, other: &FilesConfig) -> Vec<&'static str> {
        [self.pages.differing(&other.pages), self.fields.differing(&other.fields)].concat()
    }

    /// What is changed about the fields of all answers.
    pub(crate) fn changes(&self) -> FieldChanges {
        let edits = &self.fields.headers;
        // Answers that depend on more than weir's own field says still depend on that.
        let (add, set) = edits.set.iter().cloned().partition(|(name, _)| *name == header::VARY);
        let changes = FieldChanges { set, add, remove: edits.remove.clone() };
        match self.fields.cors.is_empty() {
            true => changes,
            false if self.fields.admits_every_origin() => {
                changes.adding(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"))
            }
            // The answer is another for each origin (Fetch, section 3.3.5).
            false => changes.adding(header::VARY, HeaderValue::from_static("Origin")),
        }
    }

    /// The names below the root of the pages that stand for others.
    pub(crate) fn named_pages(&self) -> Vec<&str> {
        self.fields.error_pages.names().chain(self.pages.fallback.as_deref()).collect()
    }
}

//! The table of the keys that say what answers of a site have beside the bytes of files: pages for errors,
//! types, fields, CORS. Used by [`super::FileKeys`], for the server and for routes of files. They have no
//! flags: most are tables.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use http::{Method, header};
use serde::de::{Deserializer, Error};
use weir_http::forward::FieldEdits;

use super::caching::CacheControl;
use super::error_pages::ErrorPages;
use super::types::MediaTypes;
use crate::config::key::Key;
use crate::config::routes::Edits;
use crate::config::table::settings;
use crate::config::value::{Value, value};
use crate::config::values::Timeout;

settings! {
    /// Keys about what answers of a site have beside the bytes of files, as far as they were given.
    pub(in crate::config) struct FieldKeys;

    /// What answers of a site have beside the bytes of files.
    pub struct FieldsConfig {}

    "Types and fields of files" {
        /// Files that are shown with errors, by status: `404`, or `4xx` and `5xx` for all others
        ///
        /// The status stays. Clients that are not let in see those of the files that they asked for. Those of
        /// the server are shown for backends, too, where weir answers in their place. A page that is not
        /// there, or not in memory while a disk hangs, is a short text.
        error_pages: ErrorPages = ErrorPages::default(),
        else "short texts",
        needs "a directory to serve",
        example { "404" = "/404.html", "5xx" = "/50x.html" };

        /// Media types by file name extension, in place of weir's own
        types: MediaTypes = MediaTypes::default(),
        else "those that weir knows",
        needs "a directory to serve",
        example { ".foo" = "text/x-foo; charset=utf-8" };

        /// What `Cache-Control` says: a value for all files, or a table of values by pattern
        ///
        /// A pattern that begins with a slash is for the whole name of a file below the root, others are
        /// for its last segment; `*` is anything. If several patterns match, the most specific one decides:
        /// the one with the most characters apart from `*`.
        cache_control: CacheControl = CacheControl::default(),
        else "the field is not sent",
        needs "a directory to serve",
        example { "/assets/*" = "immutable", "*.html" = "no-cache" };

        /// Changes to the fields of the site's answers, those of errors and redirects included
        ///
        /// `Vary` is added to weir's own. A `Content-Type` is that of each part where several ranges are
        /// sent.
        headers: FileHeaders = FileHeaders::default(),
        else "none",
        needs "a directory to serve",
        example { set = { "X-Content-Type-Options" = "nosniff" }, remove = ["Last-Modified"] };

        /// Origins whose scripts may read the files (CORS); `*`: all
        ///
        /// Preflight requests (OPTIONS) are answered, and the fields allowed that they ask for.
        cors: Vec<Origin> = Vec::new(),
        else "none",
        needs "a directory to serve",
        example ["https://app.example.org"];

        /// Methods that preflight requests are told
        cors_methods: Vec<CorsMethod> = vec![CorsMethod(Method::GET), CorsMethod(Method::HEAD)],
        needs "cors",
        example ["GET", "HEAD"];

        /// How long browsers keep what a preflight request was told
        cors_max_age: Timeout,
        else "as browsers like, 5 s mostly",
        needs "cors",
        example "2h";
    }
}

impl FieldsConfig {
    /// Whether scripts of every origin may read the files.
    pub(crate) fn admits_every_origin(&self) -> bool {
        self.cors.iter().any(|origin| origin == EVERY_ORIGIN)
    }
}

impl FieldKeys {
    /// The first key that makes no sense with the others, and why.
    pub(super) fn check(&self) -> Result<(), (&'static str, String)> {
        let origins = self.cors.as_deref().unwrap_or_default();
        if origins.len() > 1 && origins.iter().any(|origin| origin.0 == EVERY_ORIGIN) {
            let why = "\"*\" is every origin; write it alone, or the origins";
            return Err(("cors", why.to_owned()));
        }
        let sets_origin = |headers: &FileHeaders| {
            let mut set = headers.0.set.iter();
            set.any(|(name, _)| *name == header::ACCESS_CONTROL_ALLOW_ORIGIN)
        };
        if !origins.is_empty() && self.headers.as_ref().is_some_and(sets_origin) {
            let why = "access-control-allow-origin is what `cors` says; remove one of the two";
            return Err(("headers", why.to_owned()));
        }
        Ok(())
    }
}

/// Changes to the fields of a site's answers.
#[derive(Clone, Debug, Default)]
pub struct FileHeaders(Arc<FieldEdits>);

impl Value for FileHeaders {
    type Resolved = Arc<FieldEdits>;

    const NAME: &'static str = "TABLE";

    fn keys() -> Vec<Key> {
        Edits::keys()
    }

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<FileHeaders, D::Error> {
        let edits = Edits::read(deserializer)?.resolve();
        let mut names = edits.remove.iter().chain(edits.set.iter().map(|(name, _)| name));
        let refused = names.find_map(|name| match *name {
            header::DATE => Some("the field date is that of the server; weir writes it itself"),
            header::CONTENT_RANGE => {
                Some("the field content-range says which part is sent; weir writes it itself")
            }
            _ => None,
        });
        if let Some(why) = refused {
            return Err(D::Error::custom(why));
        }
        if edits.remove.contains(&header::VARY) {
            return Err(D::Error::custom(
                "without the field vary, caches give a file in one coding to clients that take another; \
                 do not remove it",
            ));
        }
        Ok(FileHeaders(edits))
    }

    fn resolve(self) -> Arc<FieldEdits> {
        self.0
    }
}

/// What stands for every origin.
const EVERY_ORIGIN: &str = "*";

/// An origin as browsers write it (RFC 6454, section 6.2): a scheme, a host, and a port if it is not the one
/// of the scheme. Or every origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin(String);

impl FromStr for Origin {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let lower = text.to_ascii_lowercase();
        let usual_port = if lower.starts_with("https://") { ":443" } else { ":80" };
        let origin = lower.strip_suffix(usual_port).unwrap_or(&lower);
        let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:[]".contains(&byte);
        let is_origin = |text: &str| {
            let host = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
            host.is_some_and(|host| !host.is_empty() && host.bytes().all(is_part))
        };
        match lower == EVERY_ORIGIN || is_origin(origin) {
            true => Ok(Origin(origin.to_owned())),
            false => Err(format!(
                "\"{text}\" is not an origin; write such as https://app.example.org, with a port if that \
                 is not the usual one and without a path, or * for every origin"
            )),
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

value!(Origin, "ORIGIN", |origin| -> String { origin.0 });

/// A method that preflight requests are told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CorsMethod(Method);

impl FromStr for CorsMethod {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let method = Method::from_bytes(text.as_bytes());
        method.map(CorsMethod).map_err(|_| format!("\"{text}\" is not a method; write such as GET"))
    }
}

impl fmt::Display for CorsMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.as_str())
    }
}

value!(CorsMethod, "METHOD", |method| -> Method { method.0 });

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_are_written_as_browsers_do() {
        for (text, written) in [
            ("*", "*"),
            ("https://App.example.org", "https://app.example.org"),
            ("http://localhost:8080", "http://localhost:8080"),
            ("https://[::1]:8443", "https://[::1]:8443"),
            ("https://app.example.org:443", "https://app.example.org"),
            ("https://[::1]:443", "https://[::1]"),
            ("HTTP://localhost:80", "http://localhost"),
            ("https://localhost:80", "https://localhost:80"),
            ("http://localhost:443", "http://localhost:443"),
            ("https://localhost:8443", "https://localhost:8443"),
        ] {
            assert_eq!(text.parse::<Origin>().unwrap().to_string(), written);
        }
        for wrong in [
            "",
            "app.example.org",
            "https://",
            "https://:443",
            "https://a/",
            "https://a b",
            "null",
            "ftp://a",
            "*:80",
        ] {
            assert!(wrong.parse::<Origin>().unwrap_err().contains("not an origin"), "{wrong}");
        }
        assert!("G T".parse::<CorsMethod>().is_err());
    }
}

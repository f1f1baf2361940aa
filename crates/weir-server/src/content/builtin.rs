//! The built-in site, which is served when no directory is named: a page that says what weir is, and
//! files of many sizes to try.

use std::rc::Rc;
use std::sync::Arc;

use http::StatusCode;
use weir_http::message::conditions::{ETag, Validators};
use weir_http::message::path::SitePath;
use weir_sched::ObjectId;

use super::object::{Body, Facts, Object};
use super::tag;

const PAGE: &str = include_str!("builtin.html");

/// What browsers ask for beside a page that names no icon, such as a file to try. They know an SVG by
/// its type, whatever its name.
const ICON: &str = concat!(
    "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 16 16\">",
    "<path d=\"M1 5q3.5-3 7 0t7 0v9H1z\" fill=\"#1f7a8c\"/></svg>\n"
);

/// Names and lengths of the files to try.
const FILES: [(&str, u64); 7] = [
    ("files/1kb.bin", 1_000),
    ("files/10kb.bin", 10_000),
    ("files/100kb.bin", 100_000),
    ("files/1mb.bin", 1_000_000),
    ("files/10mb.bin", 10_000_000),
    ("files/100mb.bin", 100_000_000),
    ("files/1gb.bin", 1_000_000_000),
];

/// The site as one worker has it, made once.
#[derive(Debug)]
pub(crate) struct Builtin {
    page: Object,
    icon: Object,
    /// In the order of [`FILES`].
    files: [Object; FILES.len()],
}

impl Builtin {
    pub(crate) fn new() -> Builtin {
        // The content changes with the version only.
        let add = |sum, byte| sum * 31 + i64::from(byte);
        let version = env!("CARGO_PKG_VERSION").bytes().fold(0, add);
        let file = |place: usize| {
            let (_, length) = FILES[place];
            let etag = ETag::new(version, 0, length);
            object(place as u64 + 1, length, "application/octet-stream", etag, Body::Pattern)
        };
        Builtin {
            page: text(0, PAGE, "text/html; charset=utf-8"),
            icon: text(FILES.len() as u64 + 1, ICON, "image/svg+xml"),
            files: std::array::from_fn(file),
        }
    }

    pub(super) fn find(&self, path: &SitePath<'_>) -> Result<Object, StatusCode> {
        let name = path.as_bytes();
        if name == b"index.html" || name.is_empty() {
            return Ok(self.page.clone());
        }
        if name == b"favicon.ico" && !path.wants_directory() {
            return Ok(self.icon.clone());
        }
        let file = FILES.iter().position(|(file, _)| file.as_bytes() == name);
        let place = file.filter(|_| !path.wants_directory()).ok_or(StatusCode::NOT_FOUND)?;
        Ok(self.files[place].clone())
    }
}

fn text(id: u64, text: &'static str, media: &'static str) -> Object {
    let bytes: Arc<[u8]> = text.as_bytes().into();
    object(id, bytes.len() as u64, media, tag::of_content(&bytes), Body::Text(bytes))
}

fn object(id: u64, length: u64, media: &'static str, etag: ETag, body: Body) -> Object {
    let validators = Some(Validators { etag, modified: None });
    Object { facts: Rc::new(Facts::new(length, media, validators, ObjectId(id))), body }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_names_every_file() {
        for (name, _) in FILES {
            assert!(PAGE.contains(name), "{name}");
        }
    }
}

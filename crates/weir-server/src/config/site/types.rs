//! The value of `types`: media types by file name extension that stand in place of weir's own. Read by
//! the table of keys; `content` asks when it opens a file.

use std::collections::BTreeMap;

use http::HeaderValue;
use serde::de::{Deserialize, Deserializer, Error};
use weir_http::message::media;

use crate::config::value::Value;

/// Media types by extension, which is in lower case and without its dot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MediaTypes(BTreeMap<String, String>);

impl MediaTypes {
    /// The type of a file of this name, if it was given for its extension.
    pub(crate) fn of(&self, name: &[u8]) -> Option<&str> {
        if self.0.is_empty() {
            return None;
        }
        let extension = media::extension(name)?.to_ascii_lowercase();
        self.0.get(&extension).map(String::as_str)
    }

    fn read_from(table: BTreeMap<String, String>) -> Result<MediaTypes, String> {
        let mut types = BTreeMap::new();
        for (written, media) in table {
            let Some(extension) = written.strip_prefix('.').filter(|rest| is_extension(rest))
            else {
                return Err(format!(
                    "\"{written}\" is not the extension of a file name; write such as .foo, with the \
                     last dot and what follows it"
                ));
            };
            if !is_media_type(&media) {
                return Err(format!(
                    "\"{media}\" is not a media type; write such as text/plain; charset=utf-8"
                ));
            }
            if types.insert(extension.to_ascii_lowercase(), media).is_some() {
                return Err(format!("\"{written}\" is named twice; case does not matter"));
            }
        }
        Ok(MediaTypes(types))
    }
}

fn is_extension(text: &str) -> bool {
    !text.is_empty() && !text.contains(['.', '/', '\0'])
}

/// Two words with a slash between them, and perhaps parameters (RFC 9110, section 8.3.1).
fn is_media_type(text: &str) -> bool {
    let kind = text.split(';').next().unwrap_or_default().trim_end();
    let is_word = |word: &str| {
        let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&byte);
        !word.is_empty() && word.bytes().all(is_part)
    };
    let words = kind.split_once('/');
    words.is_some_and(|(one, other)| is_word(one) && is_word(other))
        && text.is_ascii()
        && HeaderValue::from_str(text).is_ok()
}

impl Value for MediaTypes {
    type Resolved = MediaTypes;

    const NAME: &'static str = "TABLE";

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<MediaTypes, D::Error> {
        MediaTypes::read_from(BTreeMap::deserialize(deserializer)?).map_err(D::Error::custom)
    }

    fn resolve(self) -> MediaTypes {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(types: &[(&str, &str)]) -> Result<MediaTypes, String> {
        let owned = types.iter().map(|(name, media)| ((*name).to_owned(), (*media).to_owned()));
        MediaTypes::read_from(owned.collect())
    }

    #[test]
    fn types_by_extension_in_any_case() {
        let types = read(&[(".Foo", "text/x-foo; charset=utf-8"), (".ts", "text/plain")]).unwrap();
        assert_eq!(types.of(b"a/b.FOO"), Some("text/x-foo; charset=utf-8"));
        assert_eq!(
            (types.of(b"a.ts"), types.of(b"foo"), types.of(b".foo")),
            (Some("text/plain"), None, None)
        );
        for (name, media, why) in [
            ("foo", "text/plain", "write such as .foo"),
            (".", "text/plain", "write such as .foo"),
            (".tar.gz", "application/gzip", "the last dot"),
            (".foo", "text", "not a media type"),
            (".foo", "text/", "not a media type"),
            (".foo", "text/plain\r\nA: b", "not a media type"),
            (".foo", "tëxt/plain", "not a media type"),
        ] {
            let wrong = read(&[(name, media)]).unwrap_err();
            assert!(wrong.contains(why), "{wrong}");
        }
        assert!(read(&[(".a", "a/b"), (".A", "a/b")]).unwrap_err().contains("named twice"));
    }
}

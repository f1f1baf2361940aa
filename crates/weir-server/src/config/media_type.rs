//! Patterns of media types, as `compress_types` lists them. Read by the table of the keys about
//! compression; whoever compresses asks whether a type is among them.

use std::fmt;
use std::str::FromStr;

use super::value::value;

/// One media type, or several that have something in common; in lower case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MediaPattern {
    /// Such as `application/json`.
    Exact(Box<str>),
    /// Such as `text/*`: the part before the slash.
    Kind(Box<str>),
    /// Such as `*+json`: the part behind the plus (RFC 6838, section 4.2.8).
    Suffix(Box<str>),
}

/// What compresses well: text, and what is written as text or stored without a coding of its own.
const USUAL: [&str; 15] = [
    "text/*",
    "*+json",
    "*+xml",
    "application/json",
    "application/javascript",
    "application/xml",
    "application/x-ndjson",
    "application/yaml",
    "application/toml",
    "application/rtf",
    "application/wasm",
    "font/ttf",
    "font/otf",
    "image/bmp",
    "image/x-icon",
];

impl MediaPattern {
    /// Those that are compressed unless the configuration says otherwise.
    pub(super) fn usual() -> Vec<MediaPattern> {
        USUAL.iter().filter_map(|text| text.parse().ok()).collect()
    }

    /// Whether `media`, the value of a `Content-Type` field, is of this kind; its parameters do not count.
    pub(crate) fn matches(&self, media: &str) -> bool {
        let essence = media.split(';').next().unwrap_or_default().trim_ascii();
        match self {
            MediaPattern::Exact(name) => essence.eq_ignore_ascii_case(name),
            MediaPattern::Kind(kind) => {
                essence.split_once('/').is_some_and(|(found, _)| found.eq_ignore_ascii_case(kind))
            }
            MediaPattern::Suffix(suffix) => essence
                .rsplit_once('+')
                .is_some_and(|(_, found)| found.eq_ignore_ascii_case(suffix)),
        }
    }
}

/// Whether a type, a subtype or a suffix can be called so (RFC 6838, section 4.2).
fn is_name(text: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&byte);
    !text.is_empty() && text.bytes().all(is_allowed)
}

impl FromStr for MediaPattern {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let lower = text.trim().to_ascii_lowercase();
        let pattern = match (lower.split_once('/'), lower.strip_prefix("*+")) {
            (Some((kind, "*")), _) if is_name(kind) => Some(MediaPattern::Kind(kind.into())),
            (Some((kind, subtype)), _) if is_name(kind) && is_name(subtype) => {
                Some(MediaPattern::Exact(lower.as_str().into()))
            }
            (None, Some(suffix)) if is_name(suffix) => Some(MediaPattern::Suffix(suffix.into())),
            _ => None,
        };
        pattern.ok_or_else(|| {
            format!(
                "\"{text}\" is not a media type; write such as application/json, text/* for all text, or \
                 *+xml for all that is written in XML"
            )
        })
    }
}

impl fmt::Display for MediaPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MediaPattern::Exact(name) => f.write_str(name),
            MediaPattern::Kind(kind) => write!(f, "{kind}/*"),
            MediaPattern::Suffix(suffix) => write!(f, "*+{suffix}"),
        }
    }
}

value!(MediaPattern, "TYPE", |pattern| -> MediaPattern { pattern });

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_ones_are_text_and_not_what_is_compressed_already() {
        let usual = MediaPattern::usual();
        let printed: Vec<String> = usual.iter().map(ToString::to_string).collect();
        assert_eq!(printed, USUAL);
        let covered = |media: &str| usual.iter().any(|pattern| pattern.matches(media));
        for media in [
            "text/html; charset=utf-8",
            "Text/CSS",
            "text/javascript;charset=utf-8",
            "application/json",
            "application/ld+json",
            "image/svg+xml; charset=utf-8",
            "application/manifest+json",
            "application/wasm",
        ] {
            assert!(covered(media), "{media}");
        }
        for media in [
            "image/png",
            "image/jpeg",
            "video/mp4",
            "font/woff2",
            "application/gzip",
            "application/octet-stream",
            "application/jsonx",
            "texts/x",
            "json",
            "text",
            "",
        ] {
            assert!(!covered(media), "{media}");
        }
    }

    #[test]
    fn what_is_no_media_type_is_refused() {
        for text in ["", "html", "*", "*/*", "text/", "/html", "text/a b", "text/html; q=1", "*+"] {
            let error = text.parse::<MediaPattern>().unwrap_err();
            assert!(error.contains("is not a media type; write such as"), "{text}: {error}");
        }
        assert_eq!(" Text/* ".parse(), Ok(MediaPattern::Kind("text".into())));
    }
}

//! The value of `cache_control`: what `Cache-Control` says of which files. Read by the table of keys;
//! `content` asks when it opens a file.

use std::collections::BTreeMap;
use std::fmt;

use http::HeaderValue;
use serde::de::{
    self, Deserialize, Deserializer, MapAccess, Visitor, value::MapAccessDeserializer,
};

use super::pattern::Pattern;
use crate::config::value::Value;

/// A year, and nobody need ask again: for what is never changed under its name (RFC 9111, section 5.2.2;
/// RFC 8246). Not `public`: with it, shared caches might keep what was asked for with a password and give
/// it to others (RFC 9111, section 3.5). What needs no password they may keep anyway.
const IMMUTABLE: HeaderValue = HeaderValue::from_static("max-age=31536000, immutable");

/// Copies may be kept, and are asked about each time.
const NO_CACHE: HeaderValue = HeaderValue::from_static("no-cache");

/// What `Cache-Control` says, by the name of the file: the most exact pattern first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CacheControl(Vec<(Pattern, Policy)>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Policy {
    /// Of HTML [`NO_CACHE`], of other names with a hash [`IMMUTABLE`], of others what the next pattern says.
    Hashed,
    Value(HeaderValue),
}

const HASHED_WORD: &str = "hashed";
const IMMUTABLE_WORD: &str = "immutable";

impl CacheControl {
    /// The value for the file of this name below the root; `None`: the field is not sent.
    pub(crate) fn of(&self, name: &[u8]) -> Option<HeaderValue> {
        let mut fits = self.0.iter().filter(|(pattern, _)| pattern.fits(name));
        fits.find_map(|(_, policy)| match policy {
            Policy::Value(value) => Some(value.clone()),
            // First: a page is what people have the address of, whatever it is called.
            Policy::Hashed if is_html(name) => Some(NO_CACHE),
            Policy::Hashed if has_hash(name) => Some(IMMUTABLE),
            Policy::Hashed => None,
        })
    }

    /// All values that it can give.
    pub(crate) fn values(&self) -> Vec<HeaderValue> {
        let of_policy = |policy: &Policy| match policy {
            Policy::Value(value) => vec![value.clone()],
            Policy::Hashed => vec![IMMUTABLE, NO_CACHE],
        };
        self.0.iter().flat_map(|(_, policy)| of_policy(policy)).collect()
    }

    fn read_from(table: BTreeMap<String, String>) -> Result<CacheControl, String> {
        let rule = |(pattern, value): (String, String)| {
            let pattern: Pattern = pattern.parse()?;
            Ok((pattern, policy(&value)?))
        };
        let mut rules = table.into_iter().map(rule).collect::<Result<Vec<_>, String>>()?;
        // Equally exact ones stay in the order of the alphabet.
        rules.sort_by_key(|(pattern, _)| std::cmp::Reverse(pattern.exactness()));
        Ok(CacheControl(rules))
    }
}

fn policy(text: &str) -> Result<Policy, String> {
    let text = text.trim();
    match text {
        HASHED_WORD => return Ok(Policy::Hashed),
        IMMUTABLE_WORD => return Ok(Policy::Value(IMMUTABLE)),
        _ => {}
    }
    let value = HeaderValue::from_str(text).ok().filter(|_| !text.is_empty() && text.is_ascii());
    value.map(Policy::Value).ok_or_else(|| {
        format!(
            "\"{text}\" is not a value of Cache-Control; write such as no-cache or max-age=3600, or \
             {HASHED_WORD} or {IMMUTABLE_WORD}"
        )
    })
}

/// Whether a build has put a hash into the last segment: between dots, hyphens or underscores, without
/// the extension, eight letters and digits or more that no words and dates have: hexadecimal ones of both
/// kinds, or small and capital letters and digits in disorder.
fn has_hash(name: &[u8]) -> bool {
    let last = name.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    let stem = match last.iter().rposition(|byte| *byte == b'.') {
        Some(dot) => last.get(..dot).unwrap_or_default(),
        None => last,
    };
    stem.split(|byte| b".-_".contains(byte)).any(is_hash)
}

fn is_hash(part: &[u8]) -> bool {
    let has = |is: fn(&u8) -> bool| part.iter().any(is);
    let all = |is: fn(&u8) -> bool| part.iter().all(is);
    let is_long = part.len() >= 8 && has(u8::is_ascii_digit);
    let is_hexadecimal =
        all(u8::is_ascii_hexdigit) && has(u8::is_ascii_alphabetic) && !may_be_a_date_or_word(part);
    let is_mixed = all(u8::is_ascii_alphanumeric)
        && has(u8::is_ascii_lowercase)
        && has(u8::is_ascii_uppercase)
        && is_disorderly(part);
    is_long && (is_hexadecimal || is_mixed)
}

/// Whether hexadecimal digits could be a date or a word beside a number, as in `05dec2026`, `20261205a` and
/// `face2face`: fewer than ten, which change between digits and letters twice at most, with three letters
/// or eight digits together. One of twelve hashes of eight digits is such by chance, which costs clients a
/// question; a date taken for a hash would be kept for a year.
fn may_be_a_date_or_word(part: &[u8]) -> bool {
    let runs = || part.chunk_by(|one, other| one.is_ascii_digit() == other.is_ascii_digit());
    let is_long = |run: &[u8]| run.len() >= if run.iter().all(u8::is_ascii_digit) { 8 } else { 3 };
    part.len() < 10 && runs().count() <= 3 && runs().any(is_long)
}

/// Whether letters and digits follow each other as chance has it, and not as in `Report2024Final`: small
/// and capital letters and digits take turns at half of the places or more, and there are never four small
/// letters together.
fn is_disorderly(part: &[u8]) -> bool {
    let kind = |byte: u8| (byte.is_ascii_digit(), byte.is_ascii_uppercase());
    let turns = part.windows(2).filter(|pair| kind(pair[0]) != kind(pair[1])).count();
    let has_word = part.windows(4).any(|four| four.iter().all(u8::is_ascii_lowercase));
    2 * turns >= part.len() && !has_word
}

fn is_html(name: &[u8]) -> bool {
    let lower = name.to_ascii_lowercase();
    lower.ends_with(b".html") || lower.ends_with(b".htm")
}

impl Value for CacheControl {
    type Resolved = CacheControl;

    const NAME: &'static str = "CACHING";

    fn words() -> Vec<(&'static str, &'static str)> {
        vec![
            (
                HASHED_WORD,
                "HTML is asked about each time; other names with a hash, such as app.3f9a01c2.js, are \
                 kept for a year and never asked about again; of others the next pattern says",
            ),
            (IMMUTABLE_WORD, "kept for a year and never asked about again, whatever the name"),
            ("a value", "such as max-age=3600"),
        ]
    }

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<CacheControl, D::Error> {
        deserializer.deserialize_any(Written)
    }

    fn resolve(self) -> CacheControl {
        self
    }
}

/// A text for all files, or a table of patterns.
struct Written;

impl<'de> Visitor<'de> for Written {
    type Value = CacheControl;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value of Cache-Control, or a table of values by pattern")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<CacheControl, E> {
        let all = BTreeMap::from([("*".to_owned(), text.to_owned())]);
        CacheControl::read_from(all).map_err(E::custom)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<CacheControl, A::Error> {
        let table = BTreeMap::deserialize(MapAccessDeserializer::new(map))?;
        CacheControl::read_from(table).map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(rules: &[(&str, &str)]) -> Result<CacheControl, String> {
        let owned =
            rules.iter().map(|(pattern, value)| ((*pattern).to_owned(), (*value).to_owned()));
        CacheControl::read_from(owned.collect())
    }

    #[test]
    fn the_most_exact_pattern_says_it() {
        let rules = read(&[
            ("*", "max-age=60"),
            ("*.html", "no-cache"),
            ("/assets/*", "immutable"),
            ("/assets/logo.svg", "max-age=3600"),
            ("service-worker.js", "no-cache"),
            ("/a/*", "max-age=5"),
            ("*.js", "max-age=7"),
        ])
        .unwrap();
        for (name, value) in [
            ("a.txt", "max-age=60"),
            // Those for a last segment are longer than those that begin with a slash.
            ("a/b.html", "no-cache"),
            ("assets/service-worker.js", "no-cache"),
            ("assets/a.js", "max-age=31536000, immutable"),
            ("assets/logo.svg", "max-age=3600"),
            ("x/assets/a.css", "max-age=60"),
            // Of two that are equally long, the one for the whole name.
            ("a/b.js", "max-age=5"),
            ("b.js", "max-age=7"),
        ] {
            assert_eq!(rules.of(name.as_bytes()).unwrap(), value, "{name}");
            assert!(rules.values().iter().any(|known| known == value), "{value}");
        }
        assert_eq!(CacheControl::default().of(b"a"), None);
    }

    #[test]
    fn hashes_are_told_from_words() {
        for name in [
            "app.3f9a01c2.js",
            "assets/index-BkYz3a9Q.js",
            "index-BkYz3a9Q",
            "main_0a1b2c3d4e5f60718293.css",
            "3f9a01c2.woff2",
            "a.b.DEADBEEF01.min.js",
            // Few changes between digits and letters, and no date nor word.
            "app.12345a67.js",
            "app.ab12345678.js",
        ] {
            assert!(has_hash(name.as_bytes()), "{name}");
        }
        for name in [
            "app.js",
            "bootstrap5.min.js",
            "jquery-3.7.1.min.js",
            "report-20261105.pdf",
            "component.js",
            "IMG_20240102.jpg",
            "feedface.js",
            "3f9a01c2/app.js",
            "a.3f9a01c2",
            "Chapter10.js",
            "Report2024Final.pdf",
            "iPhone15Pro.jpg",
            "iPhone15ProMax.jpg",
            "menu-05dec2026.pdf",
            "menu-05Dec2026.pdf",
            "menu.2026FEB01.pdf",
            "minutes_20261205a.pdf",
            "face2face.jpg",
            "cafe2026.jpg",
        ] {
            assert!(!has_hash(name.as_bytes()), "{name}");
        }
        let rules = read(&[("*", "hashed"), ("*.txt", "max-age=1")]).unwrap();
        assert_eq!(rules.of(b"a.3f9a01c2.js"), Some(IMMUTABLE));
        assert_eq!(rules.of(b"a/index.HTML"), Some(NO_CACHE));
        // A page stays a page.
        assert_eq!(rules.of(b"a.3f9a01c2.html"), Some(NO_CACHE));
        assert_eq!(rules.of(b"a.js"), None);
        // The pattern for names of this kind is more exact.
        assert_eq!(rules.of(b"a.3f9a01c2.txt").unwrap(), "max-age=1");
    }

    #[test]
    fn what_is_no_value_is_refused() {
        for value in ["", "a\nb", "ü"] {
            assert!(read(&[("*", value)]).unwrap_err().contains("not a value of Cache-Control"));
        }
        assert!(read(&[("", "no-cache")]).unwrap_err().contains("not a pattern"));
    }
}

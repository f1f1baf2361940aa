//! The normal form of a path, by which routes are found. Used by [`super::routing_table`] and
//! [`super::rewrite`].

use std::borrow::Cow;
use std::fmt;

use percent_encoding::percent_decode;

/// Why a path has no normal form. The response is 400.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InvalidPath {
    /// A `%` without two hexadecimal digits.
    BadEncoding,
    /// More `..` segments than segments before them.
    AboveRoot,
    /// A NUL byte, encoded or not.
    Nul,
    /// Backends differ in what it names: a backslash, which some take for a slash, a dot segment with
    /// parameters (`..;a`), which some cut off before they follow it, both encoded or not; or a path
    /// that takes another route without its parameters.
    Ambiguous,
    /// It does not begin with a slash.
    NoSlash,
}

impl fmt::Display for InvalidPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            InvalidPath::BadEncoding => "invalid percent-encoding in the path",
            InvalidPath::AboveRoot => "the path leads above the root",
            InvalidPath::Nul => "NUL in the path",
            InvalidPath::Ambiguous => "backends differ in what the path names",
            InvalidPath::NoSlash => "the path does not begin with a slash",
        })
    }
}

impl std::error::Error for InvalidPath {}

/// The path of a request target (no query) as nginx matches it: percent-decoded once, slashes that
/// follow each other merged, dot segments removed (RFC 3986, sections 2.1 and 5.2.4). An encoded
/// slash is a slash and an encoded dot is a dot: a backend may decode before it splits. It begins
/// with a slash and ends in one if it names a directory; the bytes need not be UTF-8, and there is no
/// backslash among them.
///
/// `*`, the target of `OPTIONS *`, and an empty path are `/`.
pub(crate) fn normalise(path: &str) -> Result<Cow<'_, [u8]>, InvalidPath> {
    let path = match path {
        "" | "*" => "/",
        path => path,
    };
    if !path.starts_with('/') {
        return Err(InvalidPath::NoSlash);
    }
    if is_normal(path.as_bytes()) {
        return Ok(Cow::Borrowed(path.as_bytes()));
    }
    without_dot_segments(&decoded(path.as_bytes())?).map(Cow::Owned)
}

/// Whether the path is certainly in normal form, as most are: that saves them an allocation.
fn is_normal(path: &[u8]) -> bool {
    let plain = !path.iter().any(|byte| matches!(byte, b'%' | b'\\' | 0));
    plain && !path.windows(2).any(|pair| matches!(pair, b"//" | b"/."))
}

fn decoded(path: &[u8]) -> Result<Vec<u8>, InvalidPath> {
    let mut after_percent = path.split(|byte| *byte == b'%').skip(1);
    let is_octet =
        |text: &[u8]| text.iter().take(2).filter(|byte| byte.is_ascii_hexdigit()).count() == 2;
    if !after_percent.all(is_octet) {
        return Err(InvalidPath::BadEncoding);
    }
    let bytes: Vec<u8> = percent_decode(path).collect();
    match bytes.iter().find(|byte| matches!(byte, 0 | b'\\')) {
        None => Ok(bytes),
        Some(0) => Err(InvalidPath::Nul),
        Some(_) => Err(InvalidPath::Ambiguous),
    }
}

/// Removes empty and dot segments of a decoded path.
fn without_dot_segments(path: &[u8]) -> Result<Vec<u8>, InvalidPath> {
    let mut out = Vec::with_capacity(path.len());
    let mut directory = true;
    for segment in path.split(|byte| *byte == b'/') {
        directory = matches!(segment, b"" | b"." | b"..");
        match segment {
            b"" | b"." => {}
            [b'.', b';', ..] | [b'.', b'.', b';', ..] => return Err(InvalidPath::Ambiguous),
            b".." => {
                let parent = out.iter().rposition(|byte| *byte == b'/');
                out.truncate(parent.ok_or(InvalidPath::AboveRoot)?);
            }
            name => {
                out.push(b'/');
                out.extend_from_slice(name);
            }
        }
    }
    if directory {
        out.push(b'/');
    }
    Ok(out)
}

/// A normal path as it looks to a backend that cuts parameters off its segments (RFC 3986, section
/// 3.3, leaves their meaning to applications) and merges empty ones. `None`: it has no parameters.
pub(super) fn without_parameters(normal: &[u8]) -> Option<Vec<u8>> {
    if !normal.contains(&b';') {
        return None;
    }
    let name = |segment: &[u8]| segment.split(|byte| *byte == b';').next().map(<[u8]>::to_vec);
    let names = normal.split(|byte| *byte == b'/').filter_map(name).filter(|name| !name.is_empty());
    Some(names.flat_map(|name| [b"/", &name[..]].concat()).collect())
}

#[cfg(test)]
mod tests {
    use super::InvalidPath::{AboveRoot, Ambiguous, BadEncoding, NoSlash, Nul};
    use super::*;
    use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};
    use proptest::prelude::*;

    const ALL_BUT_SLASHES: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/');

    fn normal(path: &str) -> Result<String, InvalidPath> {
        normalise(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    #[test]
    fn every_spelling_becomes_one() {
        for (path, expected) in [
            ("/", "/"),
            ("", "/"),
            ("*", "/"),
            ("//", "/"),
            ("/a/b", "/a/b"),
            ("/a//b///", "/a/b/"),
            ("/x/../admin", "/admin"),
            ("/x/%2e%2E/admin", "/admin"),
            ("/x%2f..%2Fadmin", "/admin"),
            ("/%61dmin", "/admin"),
            ("/admin/.", "/admin/"),
            ("/admin/x/..", "/admin/"),
            ("/a/..", "/"),
            ("/a/./%2e/b", "/a/b"),
            ("/%2561", "/%61"),
            ("/...", "/..."),
            ("/.git", "/.git"),
            ("/..a;/x;y=z/;", "/..a;/x;y=z/;"),
            ("/a%20b%C3%BC", "/a bü"),
        ] {
            assert_eq!(normal(path).as_deref(), Ok(expected), "{path}");
        }
    }

    #[test]
    fn what_names_nothing_is_refused() {
        for (path, error) in [
            ("/..", AboveRoot),
            ("/a/../../b", AboveRoot),
            ("/%2e%2e/etc/passwd", AboveRoot),
            ("/..%2fx", AboveRoot),
            ("/a%00", Nul),
            ("/a\0", Nul),
            ("/a\\b", Ambiguous),
            ("/a%5cb", Ambiguous),
            ("/%5C..", Ambiguous),
            ("/admin/..;/x", Ambiguous),
            ("/x/..;a=b/admin", Ambiguous),
            ("/x/%2e%2E%3B/admin", Ambiguous),
            ("/.;/x", Ambiguous),
            ("/%", BadEncoding),
            ("/a%2", BadEncoding),
            ("/%zz", BadEncoding),
            ("a", NoSlash),
            ("example.org:443", NoSlash),
            ("%2fa", NoSlash),
        ] {
            assert_eq!(normal(path), Err(error), "{path}");
        }
    }

    #[test]
    fn parameters_are_cut_off() {
        let cut = |path: &str| without_parameters(path.as_bytes()).map(String::from_utf8);
        for (path, expected) in [
            ("/admin;x", "/admin"),
            ("/;x/admin", "/admin"),
            ("/a;x=1;y/;/b", "/a/b"),
            ("/;", ""),
            ("/a/;/", "/a"),
        ] {
            assert_eq!(cut(path), Some(Ok(expected.to_owned())), "{path}");
        }
        assert_eq!(cut("/a/b"), None);
    }

    proptest! {
        #[test]
        fn a_normal_path_stays_as_it_is(path in "/([ab./%;\\\\]|%2e|%2f|%25|\\.\\.|ü){0,14}") {
            if let Ok(once) = normalise(&path) {
                let text = percent_encode(&once, ALL_BUT_SLASHES).to_string();
                prop_assert_eq!(normalise(&text), Ok(once.clone()));
                let segments: Vec<&[u8]> = once[1..].split(|byte| *byte == b'/').collect();
                let (last, names) = segments.split_last().unwrap();
                prop_assert!(names.iter().all(|name| !matches!(*name, b"" | b"." | b"..")));
                prop_assert!(!matches!(*last, b"." | b".."));
                prop_assert!(!once.contains(&b'\\'));
            }
        }

        #[test]
        fn the_short_way_says_what_the_long_way_says(path in "/([ab./;]|\\.\\.){0,10}") {
            if is_normal(path.as_bytes()) {
                prop_assert_eq!(without_dot_segments(path.as_bytes()), Ok(path.into_bytes()));
            }
        }
    }
}

//! From the path of a request target to a name below the root of the site.
//! Used by the file handler of `weir-server` before it looks a file up.

use std::borrow::Cow;
use std::fmt;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode, percent_encode};

use http::StatusCode;

/// The one hidden first segment that is public by definition (RFC 8615).
const WELL_KNOWN: &[u8] = b".well-known";

/// What has to be encoded in a path: everything but the unreserved characters (RFC 3986, section
/// 2.3) and the slash between segments.
const IN_PATH: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'/');

/// A decoded path relative to the root: segments joined by `/`, empty for the root itself.
///
/// No segment is empty, `.` or `..`, none contains NUL, and none begins with a dot except a first
/// segment `.well-known`. The bytes need not be UTF-8. They are those of the request where nothing
/// had to be decoded or removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SitePath<'a> {
    bytes: Cow<'a, [u8]>,
    kind: PathKind,
}

/// What a [`SitePath`] is the path of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathKind {
    /// What was asked for without a slash at the end.
    File,
    /// What was asked for with a slash at the end, or with a dot segment there, which means the same.
    Directory,
    /// The very file of this name, which nobody has asked for by it: one beside another, or a page that
    /// the configuration names.
    Beside,
}

impl PathKind {
    /// That of a path that was asked for.
    fn asked(directory: bool) -> PathKind {
        if directory { PathKind::Directory } else { PathKind::File }
    }
}

impl<'a> SitePath<'a> {
    /// The file `name`, which is one that [`is_name`] accepts, wherever paths of requests lead.
    pub fn exactly(name: &'a [u8]) -> SitePath<'a> {
        SitePath { bytes: Cow::Borrowed(name), kind: PathKind::Beside }
    }
}

impl SitePath<'_> {
    /// The file beside the file `name`, which is one that [`is_name`] accepts: called the same, with
    /// `extension` behind one more dot.
    pub fn beside(name: &[u8], extension: &str) -> SitePath<'static> {
        let bytes = [name, b".", extension.as_bytes()].concat();
        SitePath { bytes: Cow::Owned(bytes), kind: PathKind::Beside }
    }

    /// The path, without a slash at either end.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// What of the path lies below `prefix`, which is whole segments joined by `/`; all of it if that
    /// is empty. `None`: the path is not below it.
    pub fn below(&self, prefix: &[u8]) -> Option<SitePath<'_>> {
        let rest = match self.bytes.strip_prefix(prefix)? {
            rest if prefix.is_empty() || rest.is_empty() => rest,
            rest => rest.strip_prefix(b"/")?,
        };
        Some(SitePath { bytes: Cow::Borrowed(rest), kind: self.kind })
    }

    /// The same path as if it had been asked for with a slash at the end.
    pub fn as_directory(&self) -> SitePath<'_> {
        SitePath { bytes: Cow::Borrowed(self.as_bytes()), kind: PathKind::Directory }
    }

    /// The path without its last `cut` bytes, encoded for a `Location` field, with a slash before it and
    /// the query unchanged.
    pub fn shorter_location(&self, cut: usize, query: Option<&str>) -> String {
        let kept = self.bytes.get(..self.bytes.len().saturating_sub(cut)).unwrap_or_default();
        let mut location = String::with_capacity(kept.len() + 1);
        location.push('/');
        location.extend(percent_encode(kept, IN_PATH));
        if let Some(query) = query {
            location.push('?');
            location.push_str(query);
        }
        location
    }

    /// What it is the path of.
    pub fn kind(&self) -> PathKind {
        self.kind
    }

    /// Whether the path as sent ended in a slash, or in a dot segment, which means the same.
    pub fn wants_directory(&self) -> bool {
        self.kind == PathKind::Directory
    }

    /// The path encoded for a `Location` field, with a slash at both ends, and the query unchanged.
    ///
    /// It starts with exactly one slash whatever the client sent, so it cannot name another host.
    pub fn directory_location(&self, query: Option<&str>) -> String {
        let mut location = String::with_capacity(self.bytes.len() + 2);
        location.push('/');
        location.extend(percent_encode(&self.bytes, IN_PATH));
        if !self.bytes.is_empty() {
            location.push('/');
        }
        if let Some(query) = query {
            location.push('?');
            location.push_str(query);
        }
        location
    }
}

/// Why a path cannot name a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathError {
    /// A `%` without two hexadecimal digits, or an encoded slash inside a segment.
    BadEncoding,
    /// More `..` segments than segments before them.
    AboveRoot,
    /// A NUL byte: no file name contains one.
    Nul,
    /// A segment begins with a dot.
    Hidden,
}

impl PathError {
    /// The status to answer with: 404 for hidden names, 400 for the rest.
    pub fn status(&self) -> StatusCode {
        match self {
            PathError::Hidden => StatusCode::NOT_FOUND,
            PathError::BadEncoding | PathError::AboveRoot | PathError::Nul => {
                StatusCode::BAD_REQUEST
            }
        }
    }
}

impl fmt::Display for PathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PathError::BadEncoding => "invalid percent-encoding in the path",
            PathError::AboveRoot => "the path leads above the root",
            PathError::Nul => "NUL in the path",
            PathError::Hidden => "the path names a hidden file",
        })
    }
}

impl std::error::Error for PathError {}

/// Whether a name below the root can be reached by a path: segments joined by `/`, none of which is empty,
/// begins with a dot (but for a first one `.well-known`) or contains NUL.
pub fn is_name(name: &[u8]) -> bool {
    let is_segment = |segment: &[u8]| !segment.is_empty() && !segment.contains(&0);
    name.split(|&byte| byte == b'/').all(is_segment) && !has_hidden_segment(name)
}

/// A name as a reference in a page that stands beside it (RFC 3986, section 4.2): whatever it holds, it
/// names neither a scheme nor another directory.
pub fn reference(name: &[u8]) -> String {
    percent_encode(name, IN_PATH).to_string()
}

/// Resolves the path of a request target (no query): decodes it (RFC 3986, section 2.1), drops empty
/// segments and removes dot segments (section 5.2.4), encoded ones as well.
///
/// # Errors
///
/// See [`PathError`]; hidden names are judged last, so `/.git/../a` is `a`.
pub fn resolve(path: &str) -> Result<SitePath<'_>, PathError> {
    plain(path.as_bytes()).map_or_else(|| normalize(path), Ok)
}

/// The path, if it needs no change: nothing encoded, no empty segment, none that begins with a
/// dot. Most requests are like that, and this costs them no allocation.
fn plain(path: &[u8]) -> Option<SitePath<'_>> {
    let name = path.strip_prefix(b"/")?;
    let directory = name.is_empty() || name.ends_with(b"/");
    let name = name.strip_suffix(b"/").unwrap_or(name);
    let mut before = b'/';
    for &byte in name {
        if matches!(byte, b'%' | 0) || (before == b'/' && matches!(byte, b'/' | b'.')) {
            return None;
        }
        before = byte;
    }
    let ends_in_slash = before == b'/' && !name.is_empty();
    let kind = PathKind::asked(directory);
    (!ends_in_slash).then_some(SitePath { bytes: Cow::Borrowed(name), kind })
}

fn normalize(path: &str) -> Result<SitePath<'_>, PathError> {
    let mut bytes = Vec::with_capacity(path.len());
    let mut directory = true;
    for encoded in path.as_bytes().split(|&byte| byte == b'/') {
        let start = bytes.len();
        if start > 0 {
            bytes.push(b'/');
        }
        let name = bytes.len();
        decode(encoded, &mut bytes)?;
        directory = true;
        match bytes.get(name..).unwrap_or_default() {
            b"" | b"." => bytes.truncate(start),
            b".." if start == 0 => return Err(PathError::AboveRoot),
            b".." => {
                let parents = bytes.get(..start).unwrap_or_default();
                let parent = parents.iter().rposition(|&byte| byte == b'/');
                bytes.truncate(parent.unwrap_or(0));
            }
            _ => directory = false,
        }
    }
    if has_hidden_segment(&bytes) {
        return Err(PathError::Hidden);
    }
    Ok(SitePath { bytes: Cow::Owned(bytes), kind: PathKind::asked(directory) })
}

/// Appends the decoded bytes of one segment.
fn decode(encoded: &[u8], out: &mut Vec<u8>) -> Result<(), PathError> {
    let mut after_percent = encoded.split(|&byte| byte == b'%').skip(1);
    let is_octet =
        |text: &[u8]| text.iter().take(2).filter(|byte| byte.is_ascii_hexdigit()).count() == 2;
    if !after_percent.all(is_octet) {
        return Err(PathError::BadEncoding);
    }
    for byte in percent_decode(encoded) {
        match byte {
            0 => return Err(PathError::Nul),
            b'/' => return Err(PathError::BadEncoding),
            _ => out.push(byte),
        }
    }
    Ok(())
}

fn has_hidden_segment(path: &[u8]) -> bool {
    let mut segments = path.split(|&byte| byte == b'/').enumerate();
    segments.any(|(i, name)| name.starts_with(b".") && !(i == 0 && name == WELL_KNOWN))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::PathError::{self, AboveRoot, BadEncoding, Hidden, Nul};
    use super::{PathKind, SitePath, is_name, normalize, plain, reference, resolve};
    use http::StatusCode;

    fn resolved(path: &str) -> Result<(Vec<u8>, bool), PathError> {
        resolve(path).map(|site| (site.as_bytes().to_vec(), site.wants_directory()))
    }

    #[test]
    fn plain_paths() {
        assert_eq!(resolved("/"), Ok((b"".to_vec(), true)));
        assert_eq!(resolved("/a"), Ok((b"a".to_vec(), false)));
        assert_eq!(resolved("/a/b.html"), Ok((b"a/b.html".to_vec(), false)));
        assert_eq!(resolved("//a///b/"), Ok((b"a/b".to_vec(), true)));
        assert_eq!(resolved("/a\\..\\b"), Ok((b"a\\..\\b".to_vec(), false)));
    }

    #[test]
    fn dot_segments_are_removed_encoded_or_not() {
        assert_eq!(resolved("/a/./b/../c"), Ok((b"a/c".to_vec(), false)));
        assert_eq!(resolved("/a/%2e%2E/b/%2e"), Ok((b"b".to_vec(), true)));
        assert_eq!(resolved("/a/b/c/../.."), Ok((b"a".to_vec(), true)));
        assert_eq!(resolved("/a/.."), Ok((b"".to_vec(), true)));
        assert_eq!(resolved("/.."), Err(AboveRoot));
        assert_eq!(resolved("/a/../../b"), Err(AboveRoot));
        assert_eq!(resolved("/a/%2e./.%2e/etc/passwd"), Err(AboveRoot));
    }

    #[test]
    fn names_are_bytes() {
        assert_eq!(resolved("/a%20b%FF%25"), Ok((b"a b\xff%".to_vec(), false)));
        assert_eq!(resolved("/%C3%BC"), resolved("/ü"));
        assert_eq!(resolved("/a%00"), Err(Nul));
        for bad in
            ["/%", "/%1", "/%zz", "/a%2/b", "/%%20", "/a%2fb", "/a%2Fb", "/%2f", "/..%2f..%2fetc"]
        {
            assert_eq!(resolved(bad), Err(BadEncoding), "{bad}");
        }
    }

    #[test]
    fn hidden_names_do_not_exist() {
        for hidden in
            ["/.git", "/a/.git/config", "/%2egit", "/...", "/a/.well-known", "/.well-known2"]
        {
            assert_eq!(resolved(hidden), Err(Hidden), "{hidden}");
        }
        assert_eq!(resolved("/.well-known/acme"), Ok((b".well-known/acme".to_vec(), false)));
        assert_eq!(resolved("/.well-known/.git"), Err(Hidden));
        assert_eq!(resolved("/.git/../a"), Ok((b"a".to_vec(), false)));
        assert_eq!(Hidden.status(), StatusCode::NOT_FOUND);
        assert_eq!(AboveRoot.status(), StatusCode::BAD_REQUEST);
    }

    #[test]
    fn a_file_beside_another_is_not_what_somebody_has_asked_for() {
        let beside = SitePath::beside(b"a/b.css", "br");
        assert_eq!((beside.as_bytes(), beside.kind()), (&b"a/b.css.br"[..], PathKind::Beside));
        assert_eq!(beside, SitePath::exactly(b"a/b.css.br"));
        assert_ne!(Ok(beside), resolve("/a/b.css.br"));
    }

    #[test]
    fn a_path_can_be_taken_for_that_of_a_directory() {
        for path in ["/a/b", "/a/b/"] {
            let path = resolve(path).unwrap();
            assert_eq!(Ok(path.as_directory()), resolve("/a/b/"));
        }
    }

    #[test]
    fn locations_stay_on_this_host() {
        let location = |path, query| resolve(path).map(|site| site.directory_location(query));
        assert_eq!(location("//evil.example/a", None), Ok("/evil.example/a/".to_owned()));
        assert_eq!(location("/a%20%3F%ff", Some("x=1")), Ok("/a%20%3F%FF/?x=1".to_owned()));
        assert_eq!(location("/", None), Ok("/".to_owned()));
        let shorter = |path, cut| resolve(path).map(|site| site.shorter_location(cut, Some("x=1")));
        assert_eq!(
            shorter("//evil.example/a%20b.html", 5),
            Ok("/evil.example/a%20b?x=1".to_owned())
        );
        assert_eq!(shorter("/a/index.html", 10), Ok("/a/?x=1".to_owned()));
        assert_eq!(shorter("/index.html", 10), Ok("/?x=1".to_owned()));
        assert_eq!(
            reference(b"javascript:a/../b?c#d&\"\xff"),
            "javascript%3Aa/../b%3Fc%23d%26%22%FF"
        );
    }

    #[test]
    fn what_lies_below_a_prefix_begins_at_a_segment() {
        let below = |path, prefix: &str| {
            let site = resolve(path).unwrap();
            let rest = site.below(prefix.as_bytes());
            rest.map(|rest| (rest.as_bytes().to_vec(), rest.wants_directory()))
        };
        assert_eq!(below("/docs/a/b", "docs"), Some((b"a/b".to_vec(), false)));
        assert_eq!(below("/d%6fcs/a/", "docs"), Some((b"a".to_vec(), true)));
        assert_eq!(below("/docs/", "docs"), Some((b"".to_vec(), true)));
        assert_eq!(below("/docs", "docs"), Some((b"".to_vec(), false)));
        assert_eq!(below("/a", ""), Some((b"a".to_vec(), false)));
        assert_eq!((below("/docs2/a", "docs"), below("/", "docs")), (None, None));
    }

    #[test]
    fn names_that_paths_can_reach() {
        for name in [&b"a"[..], b"a/b.html", b".well-known/a", b"\xff"] {
            assert!(is_name(name));
        }
        for name in [&b""[..], b"/a", b"a/", b"a//b", b"..", b"a/../b", b".git", b"a/.b", b"a\0"] {
            assert!(!is_name(name));
        }
    }

    proptest! {
        #[test]
        fn the_short_way_says_what_the_long_way_says(path in "/([ab./%]|%2e|%2f|\\.\\.){0,12}") {
            if let Some(short) = plain(path.as_bytes()) {
                prop_assert_eq!(Ok(short), normalize(&path));
            }
        }

        #[test]
        fn ordinary_names_take_the_short_way(path in "(/[a-z][a-z.0-9]{0,5}){0,4}/?") {
            prop_assert_eq!(plain(path.as_bytes()).is_some(), path.starts_with('/'));
        }
    }
}

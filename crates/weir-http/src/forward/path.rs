//! The path a backend is asked for: prefixes taken off or put in place of others. It does not know
//! which paths there are; it keeps what is below a prefix there.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;

/// What becomes of the path of a request on its way. Prefixes are whole segments and begin with a
/// slash; one at their end makes no difference.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum PathChange {
    /// It stays as the client sent it.
    #[default]
    Keep,
    /// It loses this prefix: `/api/a` without `/api` is `/a`.
    Strip(String),
    /// It gets another prefix: `/api/a` with `/v2` for `/api` is `/v2/a`.
    Replace {
        /// What it has to begin with.
        prefix: String,
        /// What stands there afterwards.
        with: String,
    },
    /// It becomes this, encoded already.
    Whole(String),
}

impl PathChange {
    /// The path to ask for, still encoded. `None` if `path` is not below the prefix: see
    /// [`is_below`].
    pub fn apply<'p>(&self, path: &'p str) -> Option<Cow<'p, str>> {
        let (prefix, with) = match self {
            PathChange::Keep => return Some(Cow::Borrowed(path)),
            PathChange::Whole(whole) => return Some(Cow::Owned(whole.clone())),
            PathChange::Strip(prefix) => (prefix, ""),
            PathChange::Replace { prefix, with } => (prefix, with.trim_end_matches('/')),
        };
        let rest = below(path, prefix)?;
        Some(match (with, rest) {
            ("", "") => Cow::Borrowed("/"),
            ("", rest) => Cow::Borrowed(rest),
            (with, rest) => Cow::Owned([with, rest].concat()),
        })
    }
}

/// Whether `path`, as sent, begins with the segments of `prefix` and stays below them.
///
/// Encoded characters are compared decoded, except slashes. A path that climbs out by segments `..`
/// is not below, nor one that would for some backends: those that decode slashes first, take `\` for
/// a slash, merge empty segments, or cut parameters off (`..;a`).
pub fn is_below(path: &str, prefix: &str) -> bool {
    below(path, prefix).is_some()
}

/// What follows the prefix: nothing, or a slash and more.
fn below<'p>(path: &'p str, prefix: &str) -> Option<&'p str> {
    let rest = after(path, prefix.trim_end_matches('/').as_bytes())?;
    ((rest.is_empty() || rest.starts_with('/')) && !climbs(rest)).then_some(rest)
}

fn after<'p>(path: &'p str, prefix: &[u8]) -> Option<&'p str> {
    let bytes = path.as_bytes();
    let mut at = 0;
    for &wanted in prefix {
        let here = *bytes.get(at)?;
        if here == wanted {
            at += 1;
        } else if here == b'%' && wanted != b'/' && octet(bytes.get(at + 1..at + 3)?)? == wanted {
            at += 3;
        } else {
            return None;
        }
    }
    path.get(at..)
}

/// The value of two hexadecimal digits.
fn octet(digits: &[u8]) -> Option<u8> {
    let [high, low] = *digits else { return None };
    let value = (high as char).to_digit(16)? << 4 | (low as char).to_digit(16)?;
    u8::try_from(value).ok()
}

/// Whether some reader would find more segments `..` than segments before them. A reader that divides
/// at fewer characters than others sees fewer segments to take back, so a segment between two slashes
/// counts once however it decodes, and each `..` in it counts.
fn climbs(rest: &str) -> bool {
    let mut depth = 0_usize;
    for segment in rest.split('/') {
        let decoded = Cow::<[u8]>::from(percent_decode_str(segment));
        let (mut names, mut parents) = (false, 0);
        for part in decoded.split(|byte| matches!(byte, b'/' | b'\\')) {
            match part.split(|&byte| byte == b';').next().unwrap_or_default() {
                b"" | b"." => {}
                b".." => parents += 1,
                _ => names = true,
            }
        }
        if parents > depth {
            return true;
        }
        depth = depth - parents + usize::from(names && parents == 0);
    }
    false
}

#[cfg(test)]
mod tests {
    use super::PathChange::{Keep, Replace, Strip};
    use super::is_below;

    #[test]
    fn prefixes_are_whole_segments() {
        for (path, prefix, below) in [
            ("/", "/", true),
            ("/a", "/", true),
            ("/api", "/api", true),
            ("/api/", "/api", true),
            ("/api", "/api/", true),
            ("/api/a", "/api/", true),
            ("/apis", "/api", false),
            ("/ap", "/api", false),
            ("/API", "/api", false),
            ("/%61p%69/a", "/api", true),
            ("/a%70", "/api", false),
            ("/a%2Fb", "/a/b", false),
            ("/a%2", "/ab", false),
            ("/a%zz", "/ab", false),
            ("/%C3%BC/a", "/ü", true),
            ("*", "/", false),
            ("/x/../api/a", "/api", false),
        ] {
            assert_eq!(is_below(path, prefix), below, "{path} {prefix}");
        }
    }

    #[test]
    fn what_climbs_out_is_not_below() {
        for path in [
            "/api/..",
            "/api/../a",
            "/api/a/../../b",
            "/api/%2e%2e/a",
            "/api/.%2E/a",
            "/api/..%2fa",
            "/api/..%5ca",
            "/api/..\\a",
            "/api/a%2f../..",
            "/api/a%2f..",
            "/api/a%2fb/../..",
            "/api/a\\b/../..",
            "/api/..;/a",
            "/api/..;x=y/a",
            "/api//../a",
            "/api/./../a",
            "/api/;/../a",
        ] {
            assert!(!is_below(path, "/api"), "{path}");
        }
        for path in ["/api/a/..", "/api/a/../b", "/api/...", "/api/..a", "/api/a%2fb/..", "/api/;"]
        {
            assert!(is_below(path, "/api"), "{path}");
        }
    }

    #[test]
    fn changes_keep_what_follows() {
        let strip = |path| Strip("/api".into()).apply(path).map(String::from);
        assert_eq!(strip("/api/a%20b//c/").as_deref(), Some("/a%20b//c/"));
        assert_eq!(strip("/api").as_deref(), Some("/"));
        assert_eq!(strip("/api/").as_deref(), Some("/"));
        assert_eq!(strip("/other"), None);
        let replace = |with: &str, path| {
            Replace { prefix: "/api/".into(), with: with.into() }.apply(path).map(String::from)
        };
        assert_eq!(replace("/v2", "/api/a").as_deref(), Some("/v2/a"));
        assert_eq!(replace("/v2/", "/api/a").as_deref(), Some("/v2/a"));
        assert_eq!(replace("/v2/", "/api").as_deref(), Some("/v2"));
        assert_eq!(replace("/", "/api").as_deref(), Some("/"));
        assert_eq!(replace("/v2", "/api/../a"), None);
        assert_eq!(Keep.apply("/a/../b").as_deref(), Some("/a/../b"));
    }
}

//! Whether a path stays below a prefix, however a backend reads it. Used by the proxy of
//! `weir-server` after a path was rewritten.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;

/// Whether `path`, as sent, begins with the segments of `prefix` and stays below them.
///
/// Encoded characters are compared decoded, except slashes. A path that climbs out by segments `..`
/// is not below, nor one that would for some backends: those that decode slashes first, take `\` for
/// a slash, merge empty segments, or cut parameters off (`..;a`).
pub fn is_below(path: &str, prefix: &str) -> bool {
    after(path, prefix.trim_end_matches('/').as_bytes())
        .is_some_and(|rest| (rest.is_empty() || rest.starts_with('/')) && !climbs(rest))
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

/// Whether some backend would find more segments `..` than segments before them. A reader that divides
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
}

//! Replaces the prefix of a path: for a backend, and in the `Location` of a redirect. Used by
//! [`super::request_head`] and [`super::Proxy`].

use std::borrow::Cow;

use percent_encoding::{AsciiSet, CONTROLS, percent_encode, utf8_percent_encode};

use super::normal_path::{InvalidPath, normalise};

/// Stands for what follows the prefix of the route, in the target of a redirect.
const REST: &str = "{rest}";

/// Characters to encode in a text that is percent-encoded already (RFC 3986, appendix A).
const IN_ENCODED: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'<')
    .add(b'>')
    .add(b'[')
    .add(b'\\')
    .add(b']')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');

/// Characters to encode in decoded bytes.
const IN_DECODED: &AsciiSet = &IN_ENCODED.add(b'%').add(b'?').add(b'#');

/// The path for the backend: `path` with `new` in place of `prefix`, the path of its route. What follows the prefix stays as the client wrote it (an encoded slash stays
/// encoded, as names of some applications need it), unless it holds dot segments or empty ones:
/// those are removed. The result begins with a slash if `new` does, and is ASCII.
pub(crate) fn replace_prefix(path: &str, prefix: &str, new: &str) -> Result<String, InvalidPath> {
    Ok(match rest(path, prefix)? {
        Some(rest) => format!("{}/{rest}", new.trim_end_matches('/')),
        None => new.to_owned(),
    })
}

/// The `Location` of a redirect. `{rest}` at the end of `to` stands for what follows `prefix` in
/// `path`, without the slash between them, and the query; without it, `to` is the whole location.
/// The rest never begins with a slash, so the client cannot choose another host.
pub(crate) fn redirect_location(
    to: &str,
    prefix: &str,
    path: &str,
    query: Option<&str>,
) -> Result<String, InvalidPath> {
    let Some(start) = to.strip_suffix(REST) else { return Ok(to.to_owned()) };
    let mut location = start.to_owned();
    location.push_str(&rest(path, prefix)?.unwrap_or_default());
    if let Some(query) = query {
        location.push('?');
        location.extend(utf8_percent_encode(query, IN_ENCODED));
    }
    Ok(location)
}

/// What follows the prefix and a slash, encoded. `None`: the path is the prefix.
fn rest(path: &str, prefix: &str) -> Result<Option<String>, InvalidPath> {
    let prefix = prefix.trim_end_matches('/');
    let normal = normalise(path)?;
    if let Some(tail) = path.strip_prefix(prefix)
        && let Some(rest) = tail.strip_prefix('/')
        && is_in_normal_form(tail)
    {
        return Ok(Some(utf8_percent_encode(rest, IN_ENCODED).to_string()));
    }
    let tail = normal.strip_prefix(prefix.as_bytes()).unwrap_or(&normal);
    Ok(tail.strip_prefix(b"/").map(|rest| percent_encode(rest, IN_DECODED).to_string()))
}

/// Whether a path has dot segments, encoded or not: readers differ in when they resolve them.
pub(super) fn has_dot_segments(path: &str) -> bool {
    let decoded: Cow<'_, [u8]> = percent_encoding::percent_decode_str(path).into();
    decoded.split(|byte| *byte == b'/').any(|segment| matches!(segment, b"." | b".."))
}

/// Whether decoding a path that begins with a slash gives its normal form.
fn is_in_normal_form(path: &str) -> bool {
    let Ok(normal) = normalise(path) else { return false };
    let decoded: Cow<'_, [u8]> = percent_encoding::percent_decode_str(path).into();
    decoded == normal
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_leads_elsewhere_is_seen_however_it_is_written() {
        for path in ["/admin//../x", "/admin%2f..%2Fx", "/a/%2e", "/./a", "/a/%2E."] {
            assert!(has_dot_segments(path), "{path}");
        }
        for path in ["/", "/a//b", "/.well-known/x", "/a..b/...", "*", "/a%252e%252e/"] {
            assert!(!has_dot_segments(path), "{path}");
        }
    }

    #[test]
    fn the_prefix_is_replaced() {
        for (path, prefix, new, expected) in [
            ("/api/x", "/api", "/", "/x"),
            ("/api", "/api", "/", "/"),
            ("/api/", "/api", "/", "/"),
            ("/api/x/", "/api", "/v2", "/v2/x/"),
            ("/api", "/api", "/v2", "/v2"),
            ("/api/", "/api", "/v2", "/v2/"),
            ("/x/y", "/", "/app", "/app/x/y"),
            ("/x", "/", "/app/", "/app/x"),
            ("*", "/", "/app", "/app/"),
            ("/%61pi/x", "/api", "/v2", "/v2/x"),
            ("/z/../api/x", "/api", "/v2", "/v2/x"),
            ("/api/a%2Fb%20c", "/api", "/", "/a%2Fb%20c"),
            ("/%61pi/a%2Fb%20c", "/api", "/", "/a/b%20c"),
            ("/api/a%2F..%2Fb", "/api", "/", "/b"),
            ("/api//evil", "/api", "/", "/evil"),
            ("/api/%2Fevil", "/api", "/", "/evil"),
            ("/api/ü{", "/api", "/", "/%C3%BC%7B"),
            ("/a b/x", "/a b", "/", "/x"),
            ("/%61pi/%25%3f%23", "/api", "/", "/%25%3F%23"),
        ] {
            let got = replace_prefix(path, prefix, new);
            assert_eq!(got.as_deref(), Ok(expected), "{path} below {prefix}");
        }
        assert_eq!(replace_prefix("/api/../..", "/api", "/"), Err(InvalidPath::AboveRoot));
        assert_eq!(replace_prefix("/api/%00", "/api", "/"), Err(InvalidPath::Nul));
    }

    #[test]
    fn redirects_keep_what_they_are_told_to() {
        let at = |to, prefix, path, query| redirect_location(to, prefix, path, query);
        let https = "https://www.example.org/{rest}";
        let all = at(https, "/", "/a/b%2Fc", Some("q=1&r={"));
        assert_eq!(all.as_deref(), Ok("https://www.example.org/a/b%2Fc?q=1&r=%7B"));
        assert_eq!(at(https, "/", "/", None).as_deref(), Ok("https://www.example.org/"));
        let fixed = at("/new?x=1", "/old", "/old/thing", Some("q"));
        assert_eq!(fixed.as_deref(), Ok("/new?x=1"));
        assert_eq!(at("/new/{rest}", "/old", "/old", None).as_deref(), Ok("/new/"));
        // None of these names another host.
        for path in ["//evil.example", "/%2Fevil.example", "/;//evil.example"] {
            let local = at("/{rest}", "/", path, None).unwrap();
            assert!(!local.starts_with("//"), "{path}: {local}");
        }
        for path in ["/%5Cevil.example", "/\\evil.example"] {
            assert_eq!(at("/{rest}", "/", path, None), Err(InvalidPath::Ambiguous), "{path}");
        }
    }

    proptest! {
        /// A backend that normalises as we do finds what follows the prefix, below `new`.
        #[test]
        fn the_rest_means_what_it_meant(
            path in "/api(/([ab./ü?#]|%2e|%2f|%25|%3f|\\.\\.){0,4}){0,4}",
        ) {
            let Ok(normal) = normalise(&path) else { return Ok(()) };
            let Some(tail) = normal.strip_prefix(b"/api") else { return Ok(()) };
            if !matches!(tail.first(), None | Some(b'/')) {
                return Ok(());
            }
            let rewritten = replace_prefix(&path, "/api", "/new").unwrap();
            prop_assert!(rewritten.is_ascii());
            let got = normalise(&rewritten).unwrap();
            prop_assert_eq!(got.as_ref(), [b"/new", tail].concat());
            let stripped = super::replace_prefix(&path, "/api", "/").unwrap();
            prop_assert!(stripped.starts_with('/') && !stripped.starts_with("//"));
        }
    }
}

//! The four forms of a request target (RFC 9112, section 3.2) and the syntax of an authority.
//! Used by [`mod@super::parse`] for the request line and by [`super::fields`] for `Host`.

use super::error::BadRequest;

/// The parts of a request target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Target<'b> {
    /// The authority of the absolute-form or authority-form.
    pub(super) authority: Option<&'b str>,
    pub(super) path: &'b str,
    pub(super) query: Option<&'b str>,
}

/// Splits `target` by the form that `method` allows.
///
/// # Errors
///
/// 400 for a fragment, a target that has no form, or one whose form does not go with the method.
pub(super) fn split<'b>(method: &str, target: &'b str) -> Result<Target<'b>, BadRequest> {
    let form = match (method, target) {
        ("CONNECT", _) => authority_form(target),
        ("OPTIONS", "*") => Some(Target { authority: None, path: target, query: None }),
        _ if target.starts_with('/') => path_and_query(None, target),
        _ => absolute_form(target),
    };
    form.ok_or(BadRequest::syntax("malformed request target"))
}

/// `None`: there is a fragment.
fn path_and_query<'b>(authority: Option<&'b str>, text: &'b str) -> Option<Target<'b>> {
    let mut mark = None;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'#' => return None,
            b'?' if mark.is_none() => mark = Some(at),
            _ => {}
        }
    }
    let (path, query) = match mark.and_then(|at| text.split_at_checked(at)) {
        Some((path, rest)) => (path, rest.strip_prefix('?')),
        None => (text, None),
    };
    Some(Target { authority, path, query })
}

/// An `http` or `https` URI. One with an empty host or with user information is malformed (RFC 9110,
/// sections 4.2.1 and 4.2.4).
fn absolute_form(target: &str) -> Option<Target<'_>> {
    let (scheme, rest) = target.split_once("://")?;
    if !scheme.eq_ignore_ascii_case("http") && !scheme.eq_ignore_ascii_case("https") {
        return None;
    }
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, rest) = rest.split_at_checked(end)?;
    if authority.is_empty() || authority.starts_with(':') || !is_authority(authority) {
        return None;
    }
    let mut parts = path_and_query(Some(authority), rest)?;
    if parts.path.is_empty() {
        parts.path = "/";
    }
    Some(parts)
}

/// Host and port, neither empty (RFC 9112, section 3.2.3).
fn authority_form(target: &str) -> Option<Target<'_>> {
    let complete =
        !target.starts_with(':') && !target.ends_with([':', ']']) && target.contains(':');
    let valid = complete && is_authority(target);
    valid.then_some(Target { authority: Some(target), path: target, query: None })
}

/// Whether `text` is `uri-host [ ":" port ]` (RFC 9110, section 7.2; RFC 3986, section 3.2), with a
/// name that has one spelling only, up to its case and the dot of the root. The host can be empty:
/// that is what a client sends whose URI has none.
pub(super) fn is_authority(text: &str) -> bool {
    let (host_is_valid, rest) = match text.strip_prefix('[').and_then(|text| text.split_once(']')) {
        Some((address, rest)) => (is_ip_literal(address), rest),
        None => {
            let end = text.find(':').unwrap_or(text.len());
            let (name, rest) = text.split_at_checked(end).unwrap_or_default();
            (is_registered_name(name), rest)
        }
    };
    let port_is_valid = match rest.strip_prefix(':') {
        Some(port) => port.bytes().all(|byte| byte.is_ascii_digit()),
        None => rest.is_empty(),
    };
    host_is_valid && port_is_valid
}

/// An IPv6 address, or the `IPvFuture` form, which nobody uses.
fn is_ip_literal(text: &str) -> bool {
    let future = || {
        let (version, address) = text.strip_prefix(['v', 'V'])?.split_once('.')?;
        let hexadecimal =
            !version.is_empty() && version.bytes().all(|byte| byte.is_ascii_hexdigit());
        let plain = |byte: u8| byte == b':' || is_name_byte(byte);
        Some(hexadecimal && !address.is_empty() && address.bytes().all(plain))
    };
    text.parse::<std::net::Ipv6Addr>().is_ok() || future() == Some(true)
}

/// `reg-name`, which includes IPv4 addresses. Can be empty.
///
/// RFC 3986 also allows encoded characters and empty labels, which no name in the DNS has. Readers
/// that decode them or pass over them would take `secret%2eexample` and `secret.example..` for
/// `secret.example`, and others would not.
fn is_registered_name(text: &str) -> bool {
    let mut before = b'.';
    for byte in text.bytes() {
        if !is_name_byte(byte) || (byte == b'.' && before == b'.') {
            return false;
        }
        before = byte;
    }
    true
}

/// `unreserved` or `sub-delims`.
fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::{is_authority, split};

    fn parts(
        method: &str,
        target: &'static str,
    ) -> Option<(Option<&'static str>, &'static str, Option<&'static str>)> {
        split(method, target).ok().map(|parts| (parts.authority, parts.path, parts.query))
    }

    #[test]
    fn each_form_with_its_methods() {
        assert_eq!(parts("GET", "/a?b?c"), Some((None, "/a", Some("b?c"))));
        assert_eq!(parts("GET", "//a"), Some((None, "//a", None)));
        assert_eq!(parts("GET", "http://h:80/a?b"), Some((Some("h:80"), "/a", Some("b"))));
        assert_eq!(parts("GET", "HTTPS://h"), Some((Some("h"), "/", None)));
        assert_eq!(parts("GET", "http://h?q"), Some((Some("h"), "/", Some("q"))));
        assert_eq!(parts("OPTIONS", "*"), Some((None, "*", None)));
        assert_eq!(parts("CONNECT", "h:443"), Some((Some("h:443"), "h:443", None)));
        assert_eq!(parts("CONNECT", "[::1]:443"), Some((Some("[::1]:443"), "[::1]:443", None)));
    }

    #[test]
    fn targets_without_a_form() {
        for target in [
            "*",
            "a",
            "h:80",
            "http:",
            "http:///a",
            "http://:80/",
            "http://u@h/",
            "ftp://h/",
            "/a#b",
            "/a?b#c",
            "http://h/a#b",
            "http://h#b",
        ] {
            assert_eq!(parts("GET", target), None, "{target}");
        }
        for target in ["/", "h", ":80", "h:", "[::1]", "http://h:80/", "h:80/", "h:80#a"] {
            assert_eq!(parts("CONNECT", target), None, "{target}");
        }
    }

    #[test]
    fn authorities() {
        for valid in [
            "",
            "a",
            "a.b:80",
            "a:",
            "127.0.0.1:8080",
            "[::1]",
            "[::1]:80",
            "a_b",
            "a.b.",
            "[v1.a:b]",
        ] {
            assert!(is_authority(valid), "{valid}");
        }
        for bad in [
            "a b", "a/b", "a@b", "a:b", "a:1:2", "::1", "[::1", "[]", "[::g]", "[::1]a", "a%2",
            "ü", "a,b:c", "a%20b", "a%2eb", ".", ".a", "a..", "a..b:80",
        ] {
            assert!(!is_authority(bad), "{bad}");
        }
    }
}

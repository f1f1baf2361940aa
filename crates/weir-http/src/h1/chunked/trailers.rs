//! The trailer section of a chunked body: its syntax, and which fields it may hold. Used by
//! strict decoding and by encoding.

use http::{HeaderMap, HeaderName, HeaderValue};

/// The most fields in one trailer section; more are malformed.
const MAX_FIELDS: usize = 128;

/// Reads the lines of a trailer section, each with its line end, without the empty line at the end.
/// `None`: malformed.
pub(super) fn parse(lines: &[u8]) -> Option<HeaderMap> {
    let mut fields = HeaderMap::new();
    if lines.is_empty() {
        return Some(fields);
    }
    let block = [lines, b"\r\n"].concat();
    let mut space = [httparse::EMPTY_HEADER; MAX_FIELDS];
    let Ok(httparse::Status::Complete((length, read))) =
        httparse::parse_headers(&block, &mut space)
    else {
        return None;
    };
    if length != block.len() {
        return None;
    }
    for field in read {
        let name = HeaderName::from_bytes(field.name.as_bytes()).ok()?;
        let value = HeaderValue::from_bytes(field.value).ok()?;
        if may_be_trailer(&name) {
            fields.try_append(name, value).ok()?;
        }
    }
    Some(fields)
}

/// Whether a field of this name may be passed on in a trailer section. Those that frame or route a
/// message, change how a request is understood, authenticate, or say what the content is may not
/// (RFC 9110, section 6.5.1); nor may what proxies say of the client, which some servers merge into
/// the head.
pub fn may_be_trailer(name: &HeaderName) -> bool {
    let name = name.as_str();
    let forbidden = matches!(
        name,
        "age"
            | "authentication-info"
            | "authorization"
            | "cache-control"
            | "connection"
            | "content-encoding"
            | "content-length"
            | "content-location"
            | "content-range"
            | "content-type"
            | "cookie"
            | "date"
            | "expect"
            | "expires"
            | "forwarded"
            | "host"
            | "http2-settings"
            | "keep-alive"
            | "location"
            | "max-forwards"
            | "pragma"
            | "range"
            | "retry-after"
            | "set-cookie"
            | "te"
            | "trailer"
            | "transfer-encoding"
            | "upgrade"
            | "vary"
            | "via"
            | "warning"
            | "www-authenticate"
            | "x-real-ip"
    );
    let family =
        ["if-", "proxy-", "x-forwarded-"].iter().any(|beginning| name.starts_with(beginning));
    // Servers that hand fields to programs as variables take `_` for `-`.
    !forbidden && !family && !name.contains('_')
}

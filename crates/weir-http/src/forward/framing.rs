//! How long the body of a backend's response is (RFC 9112, section 6.3). Used by [`super::response`] and
//! the proxy of `weir-server`. hyper checks as well; what two readers could understand differently must
//! pass neither check.

use std::fmt;

use crate::message::fields::members;
use http::{HeaderMap, StatusCode, header};

/// The longest body that a response may announce: 2^50 bytes, more than a day at 100 Gbit/s. Sums of
/// the lengths of thousands of responses, and of what they cost on the wire, fit into 64 bits.
const MAX_BYTES: u64 = 1 << 50;

/// The length of the body of a backend's response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResponseLength {
    /// No body, whatever the fields say.
    None,
    /// This many bytes.
    Length(u64),
    /// Nobody knows before its end: it comes in chunks, or until the backend closes.
    Unknown,
}

/// Why a backend's response cannot be passed on; the client gets 502.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InvalidResponse {
    /// What is wrong, for the log.
    pub reason: &'static str,
}

impl InvalidResponse {
    /// The status to answer with.
    pub const STATUS: StatusCode = StatusCode::BAD_GATEWAY;
}

impl fmt::Display for InvalidResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.reason)
    }
}

impl std::error::Error for InvalidResponse {}

/// The length of the body of the response with these fields.
///
/// # Errors
///
/// A `Content-Length` that is no number, above 2^50 or has different values, `Content-Length` together
/// with `Transfer-Encoding`, and, where there is a body, a coding other than chunked alone: weir
/// asks for no other.
pub fn response_length(
    status: StatusCode,
    method_is_head: bool,
    fields: &HeaderMap,
) -> Result<ResponseLength, InvalidResponse> {
    let length = content_length(fields)?;
    let coded = fields.contains_key(header::TRANSFER_ENCODING);
    if length.is_some() && coded {
        return Err(InvalidResponse { reason: "both Content-Length and Transfer-Encoding" });
    }
    let bodiless = status.is_informational()
        || matches!(status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED);
    match length {
        _ if bodiless || method_is_head => Ok(ResponseLength::None),
        Some(length) => Ok(ResponseLength::Length(length)),
        None if !coded || is_chunked_once(fields) => Ok(ResponseLength::Unknown),
        None => Err(InvalidResponse { reason: "a transfer coding other than chunked" }),
    }
}

/// The value of `Content-Length`; the same value may come several times.
pub(super) fn content_length(fields: &HeaderMap) -> Result<Option<u64>, InvalidResponse> {
    let mut found = None;
    for member in
        fields.get_all(header::CONTENT_LENGTH).iter().flat_map(|value| members(value.as_bytes()))
    {
        let length = number(member).ok_or(InvalidResponse { reason: "invalid Content-Length" })?;
        if found.is_some_and(|other| other != length) {
            return Err(InvalidResponse { reason: "different Content-Lengths" });
        }
        if length > MAX_BYTES {
            return Err(InvalidResponse { reason: "a Content-Length above 2^50" });
        }
        found = Some(length);
    }
    Ok(found)
}

/// A decimal number. The parser of the standard library would accept a leading plus sign.
fn number(text: &[u8]) -> Option<u64> {
    let digits = text.iter().all(u8::is_ascii_digit);
    std::str::from_utf8(text).ok().filter(|_| digits)?.parse().ok()
}

fn is_chunked_once(fields: &HeaderMap) -> bool {
    let codings = fields.get_all(header::TRANSFER_ENCODING);
    let mut codings = codings.iter().flat_map(|value| members(value.as_bytes()));
    let first = codings.next().is_some_and(|coding| coding.eq_ignore_ascii_case(b"chunked"));
    first && codings.next().is_none()
}

#[cfg(test)]
mod tests {
    use http::{HeaderName, HeaderValue};

    use super::ResponseLength::{Length, None, Unknown};
    use super::*;

    fn length(code: u16, fields: &[(&'static str, &'static str)]) -> Option<ResponseLength> {
        let mut map = HeaderMap::new();
        for (name, value) in fields {
            map.append(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        response_length(StatusCode::from_u16(code).unwrap(), code == 299, &map).ok()
    }

    const CL: &str = "content-length";
    const TE: &str = "transfer-encoding";

    #[test]
    fn lengths() {
        assert_eq!(length(200, &[]), Some(Unknown));
        assert_eq!(length(200, &[(CL, "0")]), Some(Length(0)));
        assert_eq!(length(404, &[(CL, "1125899906842624")]), Some(Length(1 << 50)));
        assert_eq!(length(200, &[(CL, "5"), (CL, "5, 05")]), Some(Length(5)));
        assert_eq!(length(200, &[(TE, "Chunked")]), Some(Unknown));
        for code in [100, 103, 204, 304, 299] {
            assert_eq!(length(code, &[(CL, "5")]), Some(None), "{code}");
            assert_eq!(length(code, &[(TE, "chunked")]), Some(None), "{code}");
        }
    }

    #[test]
    fn what_can_be_understood_in_two_ways_is_refused() {
        for bad in ["", "x", "+5", "-5", "5 5", "0x5", "5.0", "5,", "5, 6", "18446744073709551616"]
        {
            assert_eq!(length(200, &[(CL, bad)]), Option::None, "{bad}");
            assert_eq!(length(299, &[(CL, bad)]), Option::None, "{bad}");
        }
        assert_eq!(length(200, &[(CL, "5"), (CL, "6")]), Option::None);
        for huge in ["18446744073709551615", "9223372036854775808", "1125899906842625"] {
            assert_eq!(length(200, &[(CL, huge)]), Option::None, "{huge}");
        }
        assert_eq!(length(200, &[(CL, "5"), (TE, "chunked")]), Option::None);
        for bad in ["", "gzip", "identity", "gzip, chunked", "chunked, chunked", "xchunked", ","] {
            assert_eq!(length(200, &[(TE, bad)]), Option::None, "{bad}");
        }
        assert_eq!(length(200, &[(TE, "chunked"), (TE, "chunked")]), Option::None);
    }
}

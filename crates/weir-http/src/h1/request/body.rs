//! How the body of a request is framed (RFC 9112, sections 6 and 7). Used by [`mod@super::parse`].
//! Whatever two readers could understand differently is an error: that is how requests are smuggled.

use super::error::BadRequest;
use super::singleton::Singleton;
use crate::message::RequestBody;
use crate::message::fields::{is_token_byte, members};
use http::{StatusCode, Version};

/// The transfer codings of all `Transfer-Encoding` fields, in their order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum TransferEncoding {
    /// No such field.
    #[default]
    Absent,
    /// Other codings than chunked.
    Unknown,
    /// Chunked alone.
    Chunked,
    /// Other codings, then chunked.
    UnknownChunked,
    /// An empty or malformed list, or one in which something follows chunked.
    Malformed,
}

impl TransferEncoding {
    /// Appends the codings of one more field.
    pub(super) fn add(&mut self, value: &[u8]) {
        for coding in members(value) {
            let chunked = coding.eq_ignore_ascii_case(b"chunked");
            *self = match (*self, chunked) {
                _ if !is_coding(coding) => TransferEncoding::Malformed,
                (TransferEncoding::Absent, true) => TransferEncoding::Chunked,
                (TransferEncoding::Unknown, true) => TransferEncoding::UnknownChunked,
                (TransferEncoding::Absent | TransferEncoding::Unknown, false) => {
                    TransferEncoding::Unknown
                }
                _ => TransferEncoding::Malformed,
            };
        }
    }
}

/// Whether a list member is a token, possibly with parameters, which chunked does not have (RFC 9112,
/// sections 7 and 7.1).
fn is_coding(member: &[u8]) -> bool {
    let mut parts = member.splitn(2, |&byte| byte == b';');
    let name = parts.next().unwrap_or_default().trim_ascii_end();
    let has_parameters = parts.next().is_some();
    let chunked = name.eq_ignore_ascii_case(b"chunked");
    !name.is_empty() && name.iter().all(|&byte| is_token_byte(byte)) && !(chunked && has_parameters)
}

/// The framing of the body (RFC 9112, section 6.3).
///
/// # Errors
///
/// 400 for an invalid or repeated `Content-Length`, even if the values agree; for
/// `Transfer-Encoding` with it, in HTTP/1.0, malformed, or not ending in chunked once;
/// 501 for an unknown coding.
pub(super) fn framing(
    version: Version,
    content_length: Singleton<'_>,
    transfer_encoding: TransferEncoding,
) -> Result<RequestBody, BadRequest> {
    match transfer_encoding {
        TransferEncoding::Absent => length(content_length),
        _ if !content_length.is_absent() => {
            Err(BadRequest::syntax("both Content-Length and Transfer-Encoding"))
        }
        _ if version == Version::HTTP_10 => {
            Err(BadRequest::syntax("Transfer-Encoding in HTTP/1.0"))
        }
        TransferEncoding::Malformed => Err(BadRequest::syntax("malformed Transfer-Encoding")),
        TransferEncoding::Chunked => Ok(RequestBody::Chunked),
        TransferEncoding::Unknown | TransferEncoding::UnknownChunked => {
            Err(BadRequest::new(StatusCode::NOT_IMPLEMENTED, "unknown transfer coding"))
        }
    }
}

/// The body of a request without `Transfer-Encoding`.
fn length(content_length: Singleton<'_>) -> Result<RequestBody, BadRequest> {
    if content_length.is_absent() {
        return Ok(RequestBody::None);
    }
    // The parser of the standard library would accept a leading plus sign.
    let digits =
        content_length.text().filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
    match digits.and_then(|digits| digits.parse().ok()) {
        Some(0) => Ok(RequestBody::None),
        Some(length) => Ok(RequestBody::Length(length)),
        None => Err(BadRequest::syntax("invalid Content-Length")),
    }
}

//! From bytes to a request: limits, the syntax of lines, and the checks over the whole head. Used by
//! the connections of `weir-server`. It keeps no state between calls: a head that comes in pieces is
//! read again from its start.

use std::mem::MaybeUninit;

use super::error::BadRequest;
use super::fields::KnownFields;
use super::{body, target};
use crate::message::{Fields, Request, RequestBody};
use http::{Method, StatusCode, Version};

/// How large a request head may be. The default: 8 KB, 32 KB and 100 fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of the request line before its LF; more are answered with 414.
    pub request_line: usize,
    /// Bytes of the whole head with its empty line; more are answered with 431.
    pub head: usize,
    /// Number of fields, at most 128; more are answered with 431.
    pub headers: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { request_line: 8192, head: 32_768, headers: 100 }
    }
}

/// What a buffer holds so far.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "lives on the stack for one call; a box would be an allocation"
)]
pub enum Parsed<'s, 'b> {
    /// The beginning of a head that may still become valid. The buffer is then shorter than
    /// [`Limits::head`].
    Partial,
    /// A valid head.
    Complete {
        /// The request.
        request: Request<'b>,
        /// All its fields, for whoever passes them on.
        fields: FieldLines<'s, 'b>,
        /// Bytes of the buffer the head takes: a body or the next request starts there.
        head_len: usize,
    },
}

/// No limit admits more fields than this: the space for them is on the caller's stack.
const MAX_HEADERS: usize = 128;

/// Space for the fields of one head while it is parsed.
#[derive(Debug)]
pub struct FieldSpace<'b>([MaybeUninit<httparse::Header<'b>>; MAX_HEADERS]);

impl FieldSpace<'_> {
    /// Empty space.
    #[expect(clippy::new_without_default, reason = "it is 4 KB: nobody should make it unawares")]
    pub fn new() -> Self {
        FieldSpace([const { MaybeUninit::uninit() }; MAX_HEADERS])
    }
}

/// The fields of a head as they were read, in their order.
#[derive(Debug, Clone, Copy)]
pub struct FieldLines<'s, 'b>(&'s [httparse::Header<'b>]);

impl<'b> FieldLines<'_, 'b> {
    /// The fields, to keep for longer than the space.
    pub fn to_fields(self) -> Fields<'b> {
        self.0.iter().map(|line| (line.name, line.value)).collect()
    }
}

/// Parses the request head at the start of `buf`, which may hold more behind it. `space`: where its
/// fields are put.
///
/// Call it again with the longer buffer while it returns [`Parsed::Partial`]. The result of a longer
/// buffer never contradicts that of a shorter one: a valid head stays the same, an error stays an
/// error. Lines end in CRLF. A recipient may take LF alone for it (RFC 9112, section 2.2), but a proxy
/// in front that takes it for part of a line sees another request, so it is refused. Up to two empty
/// lines before the request line are skipped and count as part of the head.
///
/// # Errors
///
/// [`BadRequest`] as soon as no continuation of `buf` can be a valid head within `limits`, though
/// some faults show only when their line or the head is complete.
pub fn parse<'s, 'b>(
    buf: &'b [u8],
    limits: &Limits,
    space: &'s mut FieldSpace<'b>,
) -> Result<Parsed<'s, 'b>, BadRequest> {
    let window = buf.get(..limits.head).unwrap_or(buf);
    match parse_within(window, limits, space)? {
        Parsed::Partial if buf.len() >= limits.head => {
            Err(BadRequest::new(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, "head too long"))
        }
        parsed => Ok(parsed),
    }
}

/// [`parse`] for whoever needs no other fields: the request and the bytes that its head takes, or `None`
/// while the head may still become valid.
///
/// # Errors
///
/// As [`parse`].
pub fn parse_request<'b>(
    buf: &'b [u8],
    limits: &Limits,
) -> Result<Option<(Request<'b>, usize)>, BadRequest> {
    match parse(buf, limits, &mut FieldSpace::new())? {
        Parsed::Complete { request, head_len, .. } => Ok(Some((request, head_len))),
        Parsed::Partial => Ok(None),
    }
}

/// Parses a buffer that is not longer than a head may be.
fn parse_within<'s, 'b>(
    buf: &'b [u8],
    limits: &Limits,
    space: &'s mut FieldSpace<'b>,
) -> Result<Parsed<'s, 'b>, BadRequest> {
    let skipped = empty_lines(buf)?;
    let message = buf.get(skipped..).unwrap_or_default();
    let most = limits.request_line.saturating_add(1);
    let line_end = message.iter().take(most).position(|&byte| byte == b'\n');
    let overlong = line_end.is_none() && message.len() >= most;
    // Bytes beyond the limit must not decide between 400 and 414: the next call may see more of them.
    let message = if overlong { message.get(..most).unwrap_or(message) } else { message };

    let space = space.0.get_mut(..limits.headers.min(MAX_HEADERS)).unwrap_or_default();
    let mut head = httparse::Request::new(&mut []);
    match (head.parse_with_uninit_headers(message, space), line_end) {
        (Ok(httparse::Status::Complete(length)), _) => {
            if !has_only_crlf(message.get(..length).unwrap_or_default(), head.headers) {
                return Err(BadRequest::syntax("a line that ends in LF alone"));
            }
            let request = check(&head)?;
            let fields = FieldLines(head.headers);
            Ok(Parsed::Complete { request, fields, head_len: skipped + length })
        }
        (Err(httparse::Error::Version), Some(end)) => {
            Err(bad_version(message.get(..end).unwrap_or_default()))
        }
        (Err(error), _) if error != httparse::Error::Version => Err(bad_syntax(error)),
        _ if overlong => Err(BadRequest::new(StatusCode::URI_TOO_LONG, "request line too long")),
        // An incomplete line, perhaps with a version only its end can tell from a malformed one.
        _ => Ok(Parsed::Partial),
    }
}

/// Whether every line of a whole head ends in CRLF. The lines are found by the names of the fields
/// that were read from it: looking at each byte again would cost more.
fn has_only_crlf(head: &[u8], fields: &[httparse::Header<'_>]) -> bool {
    let begin = head.as_ptr().addr();
    let follows_crlf = |field: &httparse::Header<'_>| {
        let at = field.name.as_ptr().addr().wrapping_sub(begin);
        head.get(..at).is_some_and(|before| before.ends_with(b"\r\n"))
    };
    fields.iter().all(follows_crlf) && head.ends_with(b"\r\n\r\n")
}

/// Length of the empty lines to skip before the request line (RFC 9112, section 2.2).
fn empty_lines(buf: &[u8]) -> Result<usize, BadRequest> {
    let mut rest = buf;
    for _ in 0..2 {
        rest = rest.strip_prefix(b"\r\n").unwrap_or(rest);
    }
    let skipped = buf.len() - rest.len();
    match rest {
        // Half a line end: no byte of a request line, and what follows decides.
        b"\r" => Ok(buf.len()),
        [b'\r' | b'\n', ..] => Err(BadRequest::syntax("no request line")),
        _ => Ok(skipped),
    }
}

/// Tells a well-formed line with an unknown version from a malformed line.
fn bad_version(line: &[u8]) -> BadRequest {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let version = line.split(|&byte| byte == b' ').nth(2);
    let digits = version.and_then(|version| version.strip_prefix(b"HTTP/"));
    match digits {
        Some([major, b'.', minor]) if major.is_ascii_digit() && minor.is_ascii_digit() => {
            BadRequest::new(StatusCode::HTTP_VERSION_NOT_SUPPORTED, "neither HTTP/1.0 nor HTTP/1.1")
        }
        _ => BadRequest::syntax("malformed version"),
    }
}

fn bad_syntax(error: httparse::Error) -> BadRequest {
    BadRequest::syntax(match error {
        httparse::Error::TooManyHeaders => {
            return BadRequest::new(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, "too many fields");
        }
        httparse::Error::HeaderName => "malformed field name",
        httparse::Error::HeaderValue => "malformed field value",
        httparse::Error::NewLine => "malformed line end",
        httparse::Error::Version => "malformed version",
        httparse::Error::Token | httparse::Error::Status => "malformed request line",
    })
}

/// Checks what the syntax of single lines does not show, and gathers the request.
fn check<'b>(head: &httparse::Request<'_, 'b>) -> Result<Request<'b>, BadRequest> {
    let (Some(method_text), Some(target)) = (head.method, head.path) else {
        return Err(BadRequest::syntax("malformed request line"));
    };
    let version = if head.version == Some(0) { Version::HTTP_10 } else { Version::HTTP_11 };
    let method = Method::from_bytes(method_text.as_bytes())
        .map_err(|_| BadRequest::syntax("malformed method"))?;
    let parts = target::split(method_text, target)?;
    let fields = KnownFields::collect(head.headers);
    let host = fields.host(version)?;
    let body = body::framing(version, fields.content_length, fields.transfer_encoding)?;
    let persistent = fields.connection.is_persistent(version);
    let expect = fields.expect(version);

    Ok(Request {
        method,
        target,
        path: parts.path,
        query: parts.query,
        version,
        keep_alive: persistent && body == RequestBody::None,
        persistent,
        body,
        upgrade: fields.upgrade(version),
        expects_continue: expect.expects_continue && body != RequestBody::None,
        unknown_expectation: expect.unknown,
        host: parts.authority.or(host),
        if_match: fields.if_match(head.headers),
        if_unmodified_since: fields.if_unmodified_since(),
        if_none_match: fields.if_none_match(head.headers),
        if_modified_since: fields
            .if_modified_since
            .text()
            .filter(|_| fields.if_none_match.is_absent()),
        range: fields.range.text().filter(|_| !fields.if_range.is_unusable()),
        if_range: fields.if_range.text(),
        accept_encoding: fields.accept_encoding.text(),
        user_agent: fields.user_agent.text(),
        referer: fields.referer.text(),
    })
}

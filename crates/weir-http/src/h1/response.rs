//! The head of a response that weir makes itself, written straight into the output buffer (RFC 9112,
//! section 4). Used for files, redirects and errors; heads of backends are written by
//! [`crate::forward`].

use std::fmt;
use std::io::Write;

use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};

use crate::message::conditions::Validators;
use crate::message::range::ContentRange;
use crate::message::{Status, Version, date};

/// Characters that no URI contains (RFC 3986, appendix A); characters beyond ASCII are always encoded.
const NOT_IN_URI: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'<')
    .add(b'>')
    .add(b'\\')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');

/// The interim response that asks for the body (RFC 9110, section 15.2.1). Not for HTTP/1.0.
pub const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

/// The interim response that says the request is being worked on (RFC 2518, section 10.1). Not for
/// HTTP/1.0.
pub const PROCESSING: &[u8] = b"HTTP/1.1 102 Processing\r\n\r\n";

/// What to send to a client that closed its side while its response is made ready: an interim
/// response, which a client that has gone answers with a reset. Empty for HTTP/1.0, which has no
/// interim responses (RFC 9110, section 15.2).
pub fn disconnect_probe(version: Version) -> &'static [u8] {
    match version {
        Version::Http11 => PROCESSING,
        Version::Http10 => b"",
    }
}

/// A response head. Fields that are `None` or false are not sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResponseHead<'a> {
    /// The status.
    pub status: Status,
    /// `Date`, from [`date::format`].
    pub date: [u8; 29],
    /// `Content-Length` in bytes; for HEAD that of the GET. Not sent with 304.
    pub length: Option<u64>,
    /// `Content-Type`. Not sent with 304, nor if it contains a control character.
    pub content_type: Option<&'a str>,
    /// `ETag` and `Last-Modified`; with 304 the tag alone (RFC 9110, section 15.4.5).
    pub validators: Option<&'a Validators>,
    /// `Content-Range`, for 206 and 416.
    pub content_range: Option<ContentRange>,
    /// `Accept-Ranges: bytes`. Not sent with 304.
    pub accept_ranges: bool,
    /// `Location`, a URI reference; characters no URI has are percent-encoded.
    pub location: Option<&'a str>,
    /// `Allow: GET, HEAD`, for 405.
    pub allow: bool,
    /// `Connection`.
    pub connection: Connection,
    /// `Retry-After` in seconds, for 429 and 503.
    pub retry_after: Option<u32>,
}

/// What a response says about its connection (RFC 9112, section 9.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Connection {
    /// Nothing: the default of the version of the request holds.
    #[default]
    Default,
    /// `close`: it ends with this response.
    Close,
    /// `keep-alive`: it persists, for a client of HTTP/1.0 that asked.
    KeepAlive,
}

impl Connection {
    /// The line of the head that says so; empty if none is needed.
    pub fn line(self) -> &'static str {
        match self {
            Connection::Default => "",
            Connection::Close => "Connection: close\r\n",
            Connection::KeepAlive => "Connection: keep-alive\r\n",
        }
    }
}

impl ResponseHead<'_> {
    /// A head with only the status and the date.
    pub fn new(status: Status, date: [u8; 29]) -> ResponseHead<'static> {
        ResponseHead {
            status,
            date,
            length: None,
            content_type: None,
            validators: None,
            content_range: None,
            accept_ranges: false,
            location: None,
            allow: false,
            connection: Connection::Default,
            retry_after: None,
        }
    }

    /// Appends the head, with its empty line, to `out`. Allocates only if `out` has to grow.
    pub fn write(&self, out: &mut Vec<u8>) {
        write_status_and_date(self.status, &self.date, out);
        self.write_fields(out);
    }

    /// Appends the head without its status line and `Date`, which [`write_status_and_date`] writes:
    /// the rest is the same for every response with the same content, so it can be kept.
    pub fn write_fields(&self, out: &mut Vec<u8>) {
        if self.status != Status::NotModified {
            self.write_content(out);
        }
        if let Some(validators) = self.validators {
            field(out, "ETag: ", validators.etag.as_str().as_bytes());
        }
        if let Some(location) = self.location {
            out.extend_from_slice(b"Location: ");
            out.extend(utf8_percent_encode(location, NOT_IN_URI).flat_map(str::bytes));
            out.extend_from_slice(b"\r\n");
        }
        if self.allow {
            out.extend_from_slice(b"Allow: GET, HEAD\r\n");
        }
        if let Some(seconds) = self.retry_after {
            number_field(out, "Retry-After: ", seconds);
        }
        out.extend_from_slice(self.connection.line().as_bytes());
        out.extend_from_slice(b"\r\n");
    }

    /// The fields a 304 leaves out: the client has them.
    fn write_content(&self, out: &mut Vec<u8>) {
        if let Some(length) = self.length {
            number_field(out, "Content-Length: ", length);
        }
        if let Some(media_type) = self.content_type.filter(|text| !text.contains(char::is_control))
        {
            field(out, "Content-Type: ", media_type.as_bytes());
        }
        if let Some(range) = self.content_range {
            number_field(out, "Content-Range: ", range);
        }
        if self.accept_ranges {
            out.extend_from_slice(b"Accept-Ranges: bytes\r\n");
        }
        if let Some(seconds) = self.validators.and_then(|validators| validators.modified) {
            field(out, "Last-Modified: ", &date::format(seconds));
        }
    }
}

/// Appends the status line and the `Date` field.
pub fn write_status_and_date(status: Status, date: &[u8; 29], out: &mut Vec<u8>) {
    out.extend_from_slice(status.line().as_bytes());
    field(out, "Date: ", date);
}

fn field(out: &mut Vec<u8>, name_and_colon: &str, value: &[u8]) {
    out.extend_from_slice(name_and_colon.as_bytes());
    out.extend_from_slice(value);
    out.extend_from_slice(b"\r\n");
}

fn number_field(out: &mut Vec<u8>, name_and_colon: &str, value: impl fmt::Display) {
    // Writing to a vector does not fail.
    let _ = write!(out, "{name_and_colon}{value}\r\n");
}

#[cfg(test)]
mod tests;

//! Heads of responses, written straight into the output buffer (RFC 9112, section 4): those that weir
//! makes itself, and the two interim ones. Heads of backends are written by [`super::relayed`].

use http::{StatusCode, Version};

use crate::message::status::reason;
use crate::message::{FieldSink, ResponseFields};

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
        Version::HTTP_10 => b"",
        _ => PROCESSING,
    }
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

/// Appends the head of a response that weir makes itself, with its empty line. `date`: from
/// [`crate::message::date::format`].
pub fn write_head(
    out: &mut Vec<u8>,
    status: StatusCode,
    date: &[u8; 29],
    fields: &ResponseFields<'_>,
    connection: Connection,
) {
    write_status_and_date(out, status, date);
    out.extend_from_slice(connection.line().as_bytes());
    write_fields(out, status, fields);
}

/// Appends the fields of a head, with its empty line: what is the same for every response with the same
/// content, so that it can be kept.
pub fn write_fields(out: &mut Vec<u8>, status: StatusCode, fields: &ResponseFields<'_>) {
    fields.write_to(status, &mut Lines(out));
    out.extend_from_slice(b"\r\n");
}

/// Appends the status line and the `Date` field.
pub fn write_status_and_date(out: &mut Vec<u8>, status: StatusCode, date: &[u8; 29]) {
    write_status_line(out, status);
    out.extend_from_slice(b"Date: ");
    out.extend_from_slice(date);
    out.extend_from_slice(b"\r\n");
}

/// Appends the status line, with no phrase for codes that have none (RFC 9112, section 4).
pub(super) fn write_status_line(out: &mut Vec<u8>, status: StatusCode) {
    if status == StatusCode::OK {
        return out.extend_from_slice(b"HTTP/1.1 200 OK\r\n");
    }
    out.extend_from_slice(b"HTTP/1.1 ");
    out.extend_from_slice(status.as_str().as_bytes());
    out.push(b' ');
    out.extend_from_slice(reason(status).as_bytes());
    out.extend_from_slice(b"\r\n");
}

/// Writes fields as lines.
pub(super) struct Lines<'o>(pub(super) &'o mut Vec<u8>);

impl FieldSink for Lines<'_> {
    fn field(&mut self, name: &str, value: &[u8]) {
        self.0.extend_from_slice(name.as_bytes());
        self.0.extend_from_slice(b": ");
        self.0.extend_from_slice(value);
        self.0.extend_from_slice(b"\r\n");
    }
}

#[cfg(test)]
mod tests;

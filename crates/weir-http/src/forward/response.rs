//! The head of a response for a client, made from that of a backend. Used by the proxy of
//! `weir-server` for final, interim (1xx) and protocol-switching (101) responses.

use std::collections::HashSet;
use std::io::Write;

use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};

use super::edits::FieldEdits;
use super::framing::{BodyFraming, content_length};
use super::hop_by_hop;
use crate::h1::response::Connection;

/// How to pass a response on.
#[derive(Debug, Clone, Copy)]
pub struct ResponseOptions<'a> {
    /// The framing of the body.
    pub framing: BodyFraming,
    /// What to say about the connection; with [`BodyFraming::UntilClose`] always `close`.
    pub connection: Connection,
    /// `Date`, from [`crate::message::date::format`], if the backend sends none.
    pub date: [u8; 29],
    /// Fields to set and remove, after everything else.
    pub edits: &'a FieldEdits,
}

/// Appends the head of a response with its empty line: the status, the backend's fields that concern
/// more than its connection, and the framing, written anew: never both `Content-Length` and
/// `Transfer-Encoding`. With [`BodyFraming::None`] the backend's `Content-Length` is passed on where it
/// tells the length of another response (HEAD, 304), and left out with 1xx and 204 (RFC 9110, section
/// 8.6).
pub fn response_head(
    out: &mut Vec<u8>,
    status: StatusCode,
    fields: &HeaderMap,
    how: &ResponseOptions<'_>,
) {
    status_line(out, status);
    if !fields.contains_key(header::DATE) {
        line(out, b"date", &how.date);
    }
    let chunked = how.framing == BodyFraming::Chunked;
    copy_fields(out, fields, |name| {
        how.edits.changes(name) || (*name == header::TRAILER && !chunked)
    });
    write_set_fields(out, how.edits);
    match how.framing {
        BodyFraming::Length(length) => number_line(out, length),
        BodyFraming::Chunked => line(out, b"transfer-encoding", b"chunked"),
        BodyFraming::UntilClose => {}
        BodyFraming::None => {
            let informs = !status.is_informational() && status != StatusCode::NO_CONTENT;
            if let (true, Ok(Some(length))) = (informs, content_length(fields)) {
                number_line(out, length);
            }
        }
    }
    match how.connection {
        _ if how.framing == BodyFraming::UntilClose => line(out, b"connection", b"close"),
        Connection::Default => {}
        Connection::Close => line(out, b"connection", b"close"),
        Connection::KeepAlive => line(out, b"connection", b"keep-alive"),
    }
    out.extend_from_slice(b"\r\n");
}

/// Appends an interim response, such as 100 or 103, for a client of HTTP/1.1. Appends nothing for
/// other statuses, nor for 101, after which there is no more HTTP. Fields that `edits` set or remove
/// are left out: they are set in the final response alone.
pub fn interim_head(out: &mut Vec<u8>, status: StatusCode, fields: &HeaderMap, edits: &FieldEdits) {
    if !status.is_informational() || status == StatusCode::SWITCHING_PROTOCOLS {
        return;
    }
    status_line(out, status);
    copy_fields(out, fields, |name| edits.changes(name) || *name == header::TRAILER);
    out.extend_from_slice(b"\r\n");
}

/// Appends the head of a 101: after it the connection is a tunnel.
pub fn switching_protocols_head(out: &mut Vec<u8>, fields: &HeaderMap, edits: &FieldEdits) {
    status_line(out, StatusCode::SWITCHING_PROTOCOLS);
    copy_fields(out, fields, |name| edits.changes(name) || *name == header::TRAILER);
    write_set_fields(out, edits);
    line(out, b"connection", b"upgrade");
    for value in fields.get_all(header::UPGRADE) {
        field(out, &header::UPGRADE, value);
    }
    out.extend_from_slice(b"\r\n");
}

/// The status line, with no phrase for codes that have none (RFC 9112, section 4).
fn status_line(out: &mut Vec<u8>, status: StatusCode) {
    out.extend_from_slice(b"HTTP/1.1 ");
    out.extend_from_slice(status.as_str().as_bytes());
    out.push(b' ');
    out.extend_from_slice(status.canonical_reason().unwrap_or_default().as_bytes());
    out.extend_from_slice(b"\r\n");
}

/// Copies the fields that concern more than the backend's connection and are not `left_out`.
fn copy_fields(out: &mut Vec<u8>, fields: &HeaderMap, left_out: impl Fn(&HeaderName) -> bool) {
    let named: HashSet<HeaderName> = hop_by_hop::named_in_connection(fields);
    for (name, value) in fields {
        if !hop_by_hop::is_hop_by_hop(name.as_str()) && !named.contains(name) && !left_out(name) {
            field(out, name, value);
        }
    }
}

fn write_set_fields(out: &mut Vec<u8>, edits: &FieldEdits) {
    for (name, value) in edits.fields_to_set() {
        field(out, name, value);
    }
}

/// A value that could end its line cannot be made without unsafe code; it would be left out.
fn field(out: &mut Vec<u8>, name: &HeaderName, value: &HeaderValue) {
    if !value.as_bytes().iter().any(|byte| matches!(byte, b'\r' | b'\n' | 0)) {
        line(out, name.as_str().as_bytes(), value.as_bytes());
    }
}

fn line(out: &mut Vec<u8>, name: &[u8], value: &[u8]) {
    out.extend_from_slice(name);
    out.extend_from_slice(b": ");
    out.extend_from_slice(value);
    out.extend_from_slice(b"\r\n");
}

fn number_line(out: &mut Vec<u8>, length: u64) {
    // Writing to a vector does not fail.
    let _ = write!(out, "content-length: {length}\r\n");
}

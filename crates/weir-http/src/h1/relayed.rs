//! The head of a backend's response as the client gets it. Used by the HTTP/1 connections of
//! `weir-server` for final, interim (1xx) and protocol-switching (101) responses.

use http::StatusCode;

use super::body_framing::BodyFraming;
use super::response::{Connection, Lines, write_status_line};
use crate::forward::RelayedFields;
use crate::message::FieldSink;

/// How to write a head.
#[derive(Debug, Clone, Copy)]
pub struct ResponseOptions {
    /// The framing of the body.
    pub framing: BodyFraming,
    /// What to say about the connection; with [`BodyFraming::UntilClose`] always `close`.
    pub connection: Connection,
    /// `Date`, from [`crate::message::date::format`], if the backend sends none.
    pub date: [u8; 29],
}

/// Appends the head of a response with its empty line: the status, the fields, and the framing, written
/// anew: never both `Content-Length` and `Transfer-Encoding`.
pub fn response_head(
    out: &mut Vec<u8>,
    status: StatusCode,
    fields: &RelayedFields<'_>,
    how: &ResponseOptions,
) {
    write_status_line(out, status);
    let mut lines = Lines(out);
    if !fields.is_dated() {
        lines.field("date", &how.date);
    }
    fields.write_to(how.framing == BodyFraming::Chunked, &mut lines);
    match how.framing {
        BodyFraming::Length(length) => length_line(&mut lines, length),
        BodyFraming::Chunked => lines.field("transfer-encoding", b"chunked"),
        BodyFraming::UntilClose => {}
        BodyFraming::None => {
            if let Some(length) = fields.length_told(status) {
                length_line(&mut lines, length);
            }
        }
    }
    match how.connection {
        _ if how.framing == BodyFraming::UntilClose => lines.field("connection", b"close"),
        Connection::Default => {}
        Connection::Close => lines.field("connection", b"close"),
        Connection::KeepAlive => lines.field("connection", b"keep-alive"),
    }
    out.extend_from_slice(b"\r\n");
}

/// Appends an interim response, such as 100 or 103, for a client of HTTP/1.1. Appends nothing for
/// other statuses, nor for 101, after which there is no more HTTP.
pub fn interim_head(out: &mut Vec<u8>, status: StatusCode, fields: &RelayedFields<'_>) {
    if !status.is_informational() || status == StatusCode::SWITCHING_PROTOCOLS {
        return;
    }
    write_status_line(out, status);
    fields.write_interim_to(&mut Lines(out));
    out.extend_from_slice(b"\r\n");
}

/// Appends the head of a 101: after it the connection is a tunnel.
pub fn switching_protocols_head(out: &mut Vec<u8>, fields: &RelayedFields<'_>) {
    write_status_line(out, StatusCode::SWITCHING_PROTOCOLS);
    let mut lines = Lines(out);
    fields.write_to(false, &mut lines);
    lines.field("connection", b"upgrade");
    fields.write_upgrade_to(&mut lines);
    out.extend_from_slice(b"\r\n");
}

fn length_line(lines: &mut Lines<'_>, length: u64) {
    lines.field("content-length", itoa::Buffer::new().format(length).as_bytes());
}

#[cfg(test)]
mod tests;

//! Heads of backends as clients get them.

use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};

use super::{ResponseOptions, interim_head, response_head, switching_protocols_head};
use crate::forward::{FieldEdits, RelayedFields};
use crate::h1::body_framing::BodyFraming;
use crate::h1::response::Connection;
use crate::message::date;

fn map(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
    let mut fields = HeaderMap::new();
    for (name, value) in pairs {
        fields.append(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    fields
}

fn written(
    code: u16,
    fields: &[(&'static str, &'static str)],
    framing: BodyFraming,
    connection: Connection,
) -> String {
    let edits = FieldEdits::default();
    let how = ResponseOptions { framing, connection, date: date::format(0) };
    let mut out = Vec::new();
    let fields = RelayedFields { received: &map(fields), edits: &edits };
    response_head(&mut out, StatusCode::from_u16(code).unwrap(), &fields, &how);
    String::from_utf8(out).unwrap()
}

#[test]
fn a_whole_response() {
    let fields = [
        ("server", "app"),
        ("date", "Sun, 06 Nov 1994 08:49:37 GMT"),
        ("content-length", "5"),
        ("set-cookie", "a=b"),
        ("set-cookie", "c=d"),
        ("connection", "close, x-a"),
        ("x-a", "1"),
        ("keep-alive", "timeout=5"),
        ("proxy-authenticate", "Basic"),
        ("upgrade", "h2c"),
    ];
    let expected = "HTTP/1.1 200 OK\r\nserver: app\r\ndate: Sun, 06 Nov 1994 08:49:37 GMT\r\n\
                    set-cookie: a=b\r\nset-cookie: c=d\r\ncontent-length: 5\r\n\r\n";
    assert_eq!(written(200, &fields, BodyFraming::Length(5), Connection::Default), expected);
}

#[test]
fn each_framing_excludes_the_others() {
    let fields = [("content-length", "9"), ("transfer-encoding", "chunked"), ("trailer", "x")];
    let start = "HTTP/1.1 200 OK\r\ndate: Thu, 01 Jan 1970 00:00:00 GMT\r\n";
    let text = |framing, connection| {
        let text = written(200, &fields, framing, connection);
        text.strip_prefix(start).map(str::to_owned).unwrap()
    };
    let (stay, keep) = (Connection::Default, Connection::KeepAlive);
    assert_eq!(text(BodyFraming::Length(5), stay), "content-length: 5\r\n\r\n");
    assert_eq!(
        text(BodyFraming::Chunked, Connection::Close),
        "trailer: x\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n"
    );
    assert_eq!(text(BodyFraming::UntilClose, keep), "connection: close\r\n\r\n");
    assert_eq!(
        text(BodyFraming::None, keep),
        "content-length: 9\r\nconnection: keep-alive\r\n\r\n"
    );
}

#[test]
fn a_length_without_a_body_informs_only_where_it_may() {
    let has_length = |code, length| {
        written(code, &[("content-length", length)], BodyFraming::None, Connection::Default)
            .contains("content-length")
    };
    assert!(has_length(304, "5") && has_length(200, "5"));
    assert!(!has_length(204, "5") && !has_length(100, "5"));
    assert!(!has_length(200, "x") && !has_length(200, "5, 6"));
}

#[test]
fn phrases_are_the_known_ones_or_empty() {
    let line = |code| {
        let text = written(code, &[], BodyFraming::Length(0), Connection::Default);
        text.lines().next().map(str::to_owned).unwrap()
    };
    assert_eq!(line(404), "HTTP/1.1 404 Not Found");
    assert_eq!(line(799), "HTTP/1.1 799 ");
}

#[test]
fn edits_come_last() {
    let name = HeaderName::from_static;
    let edits = FieldEdits {
        set: vec![
            (name("server"), HeaderValue::from_static("weir")),
            (name("content-length"), HeaderValue::from_static("1")),
        ],
        remove: vec![name("x-a"), name("date")],
    };
    let how = ResponseOptions {
        framing: BodyFraming::Length(5),
        connection: Connection::Default,
        date: date::format(0),
    };
    let mut out = Vec::new();
    let fields = map(&[("x-a", "1"), ("x-b", "2"), ("server", "app"), ("date", "x")]);
    let fields = RelayedFields { received: &fields, edits: &edits };
    response_head(&mut out, StatusCode::OK, &fields, &how);
    let expected = "HTTP/1.1 200 OK\r\nx-b: 2\r\nserver: weir\r\ncontent-length: 5\r\n\r\n";
    assert_eq!(String::from_utf8(out).unwrap(), expected);
}

#[test]
fn interim_responses() {
    let text = |code, fields: &[_]| {
        let mut out = Vec::new();
        let edits = FieldEdits {
            set: vec![(HeaderName::from_static("x-a"), HeaderValue::from_static("1"))],
            remove: vec![HeaderName::from_static("x-b")],
        };
        let fields = RelayedFields { received: &map(fields), edits: &edits };
        interim_head(&mut out, StatusCode::from_u16(code).unwrap(), &fields);
        String::from_utf8(out).unwrap()
    };
    let hints = [("link", "</a>"), ("content-length", "5"), ("connection", "close")];
    assert_eq!(text(103, &hints), "HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n");
    let edited = [("link", "</a>"), ("x-a", "2"), ("x-b", "3")];
    assert_eq!(text(103, &edited), text(103, &hints));
    assert_eq!(text(100, &[]), "HTTP/1.1 100 Continue\r\n\r\n");
    assert_eq!(text(101, &hints) + &text(200, &hints), "");
}

#[test]
fn switching_keeps_the_protocol() {
    let fields = map(&[
        ("connection", "Upgrade, x-a"),
        ("upgrade", "websocket"),
        ("sec-websocket-accept", "x"),
        ("x-a", "1"),
        ("transfer-encoding", "chunked"),
    ]);
    let mut out = Vec::new();
    let fields = RelayedFields { received: &fields, edits: &FieldEdits::default() };
    switching_protocols_head(&mut out, &fields);
    let expected = "HTTP/1.1 101 Switching Protocols\r\nsec-websocket-accept: x\r\n\
                    connection: upgrade\r\nupgrade: websocket\r\n\r\n";
    assert_eq!(String::from_utf8(out).unwrap(), expected);
}

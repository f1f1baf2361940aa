//! Worked cases of response heads.

use super::{CONTINUE, Connection, PROCESSING, write_head};
use crate::message::conditions::{ETag, Validators};
use crate::message::range::ContentRange;
use crate::message::status::page;
use crate::message::{ResponseFields, date};
use http::StatusCode;

fn written(status: StatusCode, fields: ResponseFields<'_>) -> String {
    written_with(status, fields, Connection::Default)
}

fn written_with(status: StatusCode, fields: ResponseFields<'_>, connection: Connection) -> String {
    let mut out = Vec::new();
    write_head(&mut out, status, &date::format(0), &fields, connection);
    String::from_utf8(out).unwrap()
}

fn validators() -> Validators {
    Validators { etag: ETag::new(0, 0, 0), modified: Some(784_111_777) }
}

fn full(validators: &Validators) -> ResponseFields<'_> {
    ResponseFields {
        length: Some(10),
        content_type: Some("text/css"),
        validators: Some(validators),
        accept_ranges: true,
        ..ResponseFields::default()
    }
}

#[test]
fn a_whole_representation() {
    let expected = "HTTP/1.1 200 OK\r\nDate: Thu, 01 Jan 1970 00:00:00 GMT\r\nContent-Length: 10\r\n\
                    Content-Type: text/css\r\nAccept-Ranges: bytes\r\n\
                    Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT\r\nETag: \"0.0\"\r\n\r\n";
    assert_eq!(written(StatusCode::OK, full(&validators())), expected);
}

#[test]
fn not_modified_carries_the_tag_alone() {
    let expected =
        "HTTP/1.1 304 Not Modified\r\nDate: Thu, 01 Jan 1970 00:00:00 GMT\r\nETag: \"0.0\"\r\n\r\n";
    assert_eq!(written(StatusCode::NOT_MODIFIED, full(&validators())), expected);
}

#[test]
fn parts() {
    let part = ContentRange::Part { first: 1, last: 2, total: 10 };
    let text = written(
        StatusCode::PARTIAL_CONTENT,
        ResponseFields { content_range: Some(part), ..ResponseFields::default() },
    );
    assert!(text.contains("\r\nContent-Range: bytes 1-2/10\r\n"));
    let none = ContentRange::Unsatisfied { total: 10 };
    let text = written(
        StatusCode::RANGE_NOT_SATISFIABLE,
        ResponseFields { content_range: Some(none), ..ResponseFields::default() },
    );
    assert!(text.contains("\r\nContent-Range: bytes */10\r\n"));
}

#[test]
fn a_location_cannot_end_its_line() {
    let text = written(
        StatusCode::MOVED_PERMANENTLY,
        ResponseFields { location: Some("/ü\r\nA: b%20[?#&\"|"), ..ResponseFields::default() },
    );
    assert!(text.ends_with("\r\nLocation: /%C3%BC%0D%0AA:%20b%20[?#&%22%7C\r\n\r\n"), "{text}");
    let text = written(
        StatusCode::OK,
        ResponseFields { content_type: Some("a/b\r\nA: b"), ..ResponseFields::default() },
    );
    assert!(!text.contains("Content-Type"));
}

#[test]
fn fields_of_refusals() {
    let fields = ResponseFields { retry_after: Some(2), ..ResponseFields::default() };
    assert!(
        written_with(StatusCode::SERVICE_UNAVAILABLE, fields, Connection::Close)
            .ends_with("\r\nConnection: close\r\nRetry-After: 2\r\n\r\n")
    );
    let fields = ResponseFields { allow: true, ..ResponseFields::default() };
    assert!(
        written_with(StatusCode::METHOD_NOT_ALLOWED, fields, Connection::KeepAlive)
            .ends_with("\r\nConnection: keep-alive\r\nAllow: GET, HEAD, OPTIONS\r\n\r\n")
    );
    let asking = |challenge| {
        let fields = ResponseFields { authenticate: Some(challenge), ..ResponseFields::default() };
        written(StatusCode::UNAUTHORIZED, fields)
    };
    let basic = asking("Basic realm=\"a\"");
    assert!(basic.ends_with("\r\nWWW-Authenticate: Basic realm=\"a\"\r\n\r\n"), "{basic}");
    assert!(!asking("Basic\r\nA: b").contains("Authenticate"));
    assert_eq!(page(StatusCode::NOT_FOUND), "404 Not Found\n");
}

#[test]
fn no_content_has_neither_length_nor_type() {
    let fields = ResponseFields {
        length: Some(0),
        content_type: Some("text/plain"),
        allow: true,
        ..ResponseFields::default()
    };
    let expected = "HTTP/1.1 204 No Content\r\nDate: Thu, 01 Jan 1970 00:00:00 GMT\r\n\
                    Allow: GET, HEAD, OPTIONS\r\n\r\n";
    assert_eq!(written(StatusCode::NO_CONTENT, fields), expected);
}

#[test]
fn redirects_carry_their_location() {
    for status in [
        StatusCode::MOVED_PERMANENTLY,
        StatusCode::FOUND,
        StatusCode::TEMPORARY_REDIRECT,
        StatusCode::PERMANENT_REDIRECT,
    ] {
        let text = written(
            status,
            ResponseFields { location: Some("https://a/b?c"), ..ResponseFields::default() },
        );
        assert!(text.starts_with(&format!("HTTP/1.1 {} ", status.as_u16())));
        assert!(text.contains("\r\nLocation: https://a/b?c\r\n"), "{text}");
    }
}

#[test]
fn interim_responses_are_whole_heads() {
    for text in [CONTINUE, PROCESSING] {
        let mut response = httparse::Response::new(&mut []);
        assert_eq!(response.parse(text), Ok(httparse::Status::Complete(text.len())));
        assert!(response.code.is_some_and(|code| code < 200));
    }
}

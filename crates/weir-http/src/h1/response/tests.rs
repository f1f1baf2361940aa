//! Worked cases of response heads.

use super::{CONTINUE, Connection, PROCESSING, ResponseHead};
use crate::message::conditions::{ETag, Validators};
use crate::message::range::ContentRange;
use crate::message::{Status, date};

fn written(head: ResponseHead<'_>) -> String {
    let mut out = Vec::new();
    head.write(&mut out);
    String::from_utf8(out).unwrap()
}

fn head(status: Status) -> ResponseHead<'static> {
    ResponseHead::new(status, date::format(0))
}

fn validators() -> Validators {
    Validators { etag: ETag::new(0, 0, 0), modified: Some(784_111_777) }
}

fn full(status: Status, validators: &Validators) -> ResponseHead<'_> {
    ResponseHead {
        length: Some(10),
        content_type: Some("text/css"),
        validators: Some(validators),
        accept_ranges: true,
        ..head(status)
    }
}

#[test]
fn a_whole_representation() {
    let expected = "HTTP/1.1 200 OK\r\nDate: Thu, 01 Jan 1970 00:00:00 GMT\r\nContent-Length: 10\r\n\
                    Content-Type: text/css\r\nAccept-Ranges: bytes\r\n\
                    Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT\r\nETag: \"0.0\"\r\n\r\n";
    assert_eq!(written(full(Status::Ok, &validators())), expected);
}

#[test]
fn not_modified_carries_the_tag_alone() {
    let expected =
        "HTTP/1.1 304 Not Modified\r\nDate: Thu, 01 Jan 1970 00:00:00 GMT\r\nETag: \"0.0\"\r\n\r\n";
    assert_eq!(written(full(Status::NotModified, &validators())), expected);
}

#[test]
fn parts() {
    let part = ContentRange::Part { first: 1, last: 2, total: 10 };
    let text = written(ResponseHead { content_range: Some(part), ..head(Status::PartialContent) });
    assert!(text.contains("\r\nContent-Range: bytes 1-2/10\r\n"));
    let none = ContentRange::Unsatisfied { total: 10 };
    let text =
        written(ResponseHead { content_range: Some(none), ..head(Status::RangeNotSatisfiable) });
    assert!(text.contains("\r\nContent-Range: bytes */10\r\n"));
}

#[test]
fn a_location_cannot_end_its_line() {
    let text = written(ResponseHead {
        location: Some("/ü\r\nA: b%20[?#&\"|"),
        ..head(Status::MovedPermanently)
    });
    assert!(text.ends_with("\r\nLocation: /%C3%BC%0D%0AA:%20b%20[?#&%22%7C\r\n\r\n"), "{text}");
    let text = written(ResponseHead { content_type: Some("a/b\r\nA: b"), ..head(Status::Ok) });
    assert!(!text.contains("Content-Type"));
}

#[test]
fn fields_of_refusals() {
    let refusal = ResponseHead {
        retry_after: Some(2),
        connection: Connection::Close,
        ..head(Status::ServiceUnavailable)
    };
    assert!(written(refusal).ends_with("\r\nRetry-After: 2\r\nConnection: close\r\n\r\n"));
    let refusal = ResponseHead {
        allow: true,
        connection: Connection::KeepAlive,
        ..head(Status::MethodNotAllowed)
    };
    assert!(written(refusal).ends_with("\r\nAllow: GET, HEAD\r\nConnection: keep-alive\r\n\r\n"));
    assert_eq!(Status::NotFound.page(), "404 Not Found\n");
}

#[test]
fn redirects_carry_their_location() {
    for status in [
        Status::MovedPermanently,
        Status::Found,
        Status::TemporaryRedirect,
        Status::PermanentRedirect,
    ] {
        let text = written(ResponseHead { location: Some("https://a/b?c"), ..head(status) });
        assert!(text.starts_with(&format!("HTTP/1.1 {} ", status.code())));
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

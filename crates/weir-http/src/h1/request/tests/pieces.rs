//! Worked cases of incomplete heads, limits and early refusal.

use super::{parse_all, status};
use crate::h1::request::{Limits, parse_request};
use http::StatusCode;

fn is_partial(text: &[u8], limits: &Limits) -> bool {
    parse_request(text, limits) == Ok(None)
}

#[test]
fn empty_lines_come_at_most_twice() {
    let limits = Limits::default();
    let ok = "GET / HTTP/1.0\r\n\r\n";
    for before in ["", "\r\n", "\r\n\r\n"] {
        assert!(parse_all(&format!("{before}{ok}")).is_ok(), "{before:?}");
        assert!(is_partial(before.as_bytes(), &limits), "{before:?}");
    }
    for before in ["\r\n\r\n\r\n", "\n", "\r\n\n", "\r\r\n", "\r", " \r\n", "\r\n\r\n\r", "\n\r"] {
        assert_eq!(status(&format!("{before}{ok}")), Some(StatusCode::BAD_REQUEST), "{before:?}");
    }
    assert!(is_partial(b"\r", &limits) && is_partial(b"\r\n\r", &limits));
}

#[test]
fn bad_first_bytes_show_at_once() {
    let limits = Limits::default();
    let client_hello: &[u8] = b"\x16\x03\x01\x02";
    for bad in
        [client_hello, b"\0", b"\xff", b" ", b"(", b"GET \x01", b"GET / HTTP/1.1\r\n ", b"\rG"]
    {
        let refused = parse_request(bad, &limits).map_err(|error| error.status);
        assert_eq!(refused, Err(StatusCode::BAD_REQUEST), "{bad:?}");
    }
    assert!(is_partial(b"GET / HTTP/2.0\r", &limits));
}

#[test]
fn the_request_line_has_a_limit() {
    let limits = Limits { request_line: 15, ..Limits::default() };
    let exact = b"GET / HTTP/1.0\r\n\r\n";
    assert!(matches!(parse_request(exact, &limits), Ok(Some(_))));
    assert!(is_partial(&exact[..15], &limits));
    assert_eq!(
        parse_request(b"GET /a HTTP/1.0\r\n\r\n", &limits).map_err(|error| error.status),
        Err(StatusCode::URI_TOO_LONG)
    );
    assert_eq!(
        parse_request(b"GET /a HTTP/1.0\r", &limits).map_err(|error| error.status),
        Err(StatusCode::URI_TOO_LONG)
    );
    assert!(is_partial(b"GET /a HTTP/1.0", &limits));
}

#[test]
fn half_an_empty_line_is_no_request_line() {
    let limits = Limits { request_line: 0, ..Limits::default() };
    assert!(is_partial(b"\r", &limits) && is_partial(b"\r\n\r", &limits));
    assert_eq!(
        parse_request(b"\r\nG", &limits).map_err(|error| error.status),
        Err(StatusCode::URI_TOO_LONG)
    );
}

#[test]
fn the_head_has_a_limit() {
    let text = b"\r\nGET / HTTP/1.0\r\nA: b\r\n\r\nmore";
    let limit = |head| Limits { head, ..Limits::default() };
    let refusal = |text, head| parse_request(text, &limit(head)).err().map(|error| error.status);
    assert!(matches!(parse_request(text, &limit(26)), Ok(Some((_, 26)))));
    assert_eq!(refusal(text, 25), Some(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE));
    assert_eq!(refusal(&text[..25], 25), Some(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE));
    assert_eq!(refusal(&text[..24], 25), None);
    assert_eq!(refusal(b"", 0), Some(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE));
}

#[test]
fn the_fields_have_a_limit() {
    let text = |count| format!("GET / HTTP/1.0\r\n{}\r\n", "A: b\r\n".repeat(count));
    assert!(parse_all(&text(100)).is_ok());
    assert_eq!(status(&text(101)), Some(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE));
    let most = Limits { headers: usize::MAX, ..Limits::default() };
    assert!(matches!(parse_request(text(128).as_bytes(), &most), Ok(Some(_))));
    assert_eq!(
        parse_request(text(129).as_bytes(), &most).map_err(|e| e.status),
        Err(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE)
    );
}

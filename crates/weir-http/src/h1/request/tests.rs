//! Worked cases of whole heads.

mod framing;
mod pieces;
mod smuggling;

use std::borrow::Cow;

use super::{BadRequest, Limits, parse_request};
use crate::message::{Request, RequestBody};
use http::{Method, StatusCode, Version};

fn parse_all(text: &str) -> Result<Request<'_>, StatusCode> {
    match parse_request(text.as_bytes(), &Limits::default()) {
        Ok(Some((request, head_len))) if head_len == text.len() => Ok(request),
        Err(BadRequest { status, .. }) => Err(status),
        other => panic!("{text:?}: {other:?}"),
    }
}

/// The request with these fields besides `Host`.
fn with(fields: &str) -> Result<RequestBody, StatusCode> {
    let text = format!("POST / HTTP/1.1\r\nHost: a\r\n{fields}\r\n");
    parse_all(&text).map(|request| request.body)
}

fn status(text: &str) -> Option<StatusCode> {
    parse_all(text).err()
}

#[test]
fn a_request_of_a_browser() {
    let text = "GET /a%20b?c=d HTTP/1.1\r\nHost: www.example:8080\r\nuser-agent: Browser/1.0\r\n\
                Accept: */*\r\nREFERER: http://x/\r\nIf-None-Match: \"a\"\r\nIf-Range: \"b\"\r\n\
                accept-encoding: gzip, br\r\nRange:\tbytes=0-1 \r\n\r\n";
    let request = parse_all(text).unwrap();
    let expected = Request {
        method: Method::GET,
        target: "/a%20b?c=d",
        path: "/a%20b",
        query: Some("c=d"),
        version: Version::HTTP_11,
        keep_alive: true,
        persistent: true,
        body: RequestBody::None,
        upgrade: None,
        expects_continue: false,
        unknown_expectation: false,
        host: Some("www.example:8080"),
        if_match: None,
        if_unmodified_since: None,
        if_none_match: Some(Cow::Borrowed("\"a\"")),
        if_modified_since: None,
        range: Some("bytes=0-1"),
        if_range: Some("\"b\""),
        accept_encoding: Some("gzip, br"),
        user_agent: Some("Browser/1.0"),
        referer: Some("http://x/"),
    };
    assert_eq!(request, expected);
}

#[test]
fn a_pipelined_request_is_left_alone() {
    let two = b"HEAD / HTTP/1.0\r\n\r\nGET / HTTP/1.1\r\n";
    let Ok(Some((request, 19))) = parse_request(two, &Limits::default()) else { panic!() };
    assert_eq!((request.method, request.version), (Method::HEAD, Version::HTTP_10));
    assert_eq!((request.host, request.keep_alive), (None, false));
}

#[test]
fn methods_are_case_sensitive_tokens() {
    let method = |text| parse_all(text).map(|request| request.method);
    assert_eq!(method("get / HTTP/1.0\r\n\r\n"), Ok(Method::from_bytes(b"get").unwrap()));
    assert_eq!(method("GETS / HTTP/1.0\r\n\r\n"), Ok(Method::from_bytes(b"GETS").unwrap()));
    assert_eq!(method("OPTIONS * HTTP/1.0\r\n\r\n"), Ok(Method::OPTIONS));
    assert_eq!(method("G(T / HTTP/1.0\r\n\r\n"), Err(StatusCode::BAD_REQUEST));
}

#[test]
fn request_lines() {
    for bad in [
        "GET /\r\n\r\n",
        "GET  / HTTP/1.1\r\n\r\n",
        "GET /  HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1 \r\n\r\n",
        "GET\t/ HTTP/1.1\r\n\r\n",
        " GET / HTTP/1.1\r\n\r\n",
        "GET / http/1.1\r\n\r\n",
        "GET / HTTP/11\r\n\r\n",
        "GET / HTTP/1.\r\n\r\n",
        "GET / HTTP/1.11\r\n\r\n",
        "GET / X HTTP/2.0\r\n\r\n",
        "GET / HTTP/2\r\n\r\n",
        "GET /\0 HTTP/1.1\r\n\r\n",
        "GET /\x7f HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\r\n\r\n",
    ] {
        assert_eq!(status(bad), Some(StatusCode::BAD_REQUEST), "{bad:?}");
    }
    for version in ["0.9", "1.2", "2.0", "3.0", "9.9"] {
        let text = format!("GET / HTTP/{version}\r\n\r\n");
        assert_eq!(status(&text), Some(StatusCode::HTTP_VERSION_NOT_SUPPORTED), "{version}");
    }
    assert_eq!(
        status("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
        Some(StatusCode::HTTP_VERSION_NOT_SUPPORTED)
    );
}

#[test]
fn field_lines() {
    for bad in [
        "A : b\r\n",
        "A\t: b\r\n",
        " A: b\r\n",
        "A: b\r\n c\r\n",
        "A: b\r\n\tc\r\n",
        "A:\r\n b\r\n",
        "A: b\rc\r\n",
        "A: b\0\r\n",
        "A: \x01\r\n",
        "A: \x7f\r\n",
        ": b\r\n",
        "A\r\n",
        "A(: b\r\n",
        "Ä: b\r\n",
        "A: b\r\r\n",
    ] {
        assert_eq!(with(bad), Err(StatusCode::BAD_REQUEST), "{bad:?}");
    }
    assert_eq!(with("A:\r\nB:c\r\nC: ü\t \r\n"), Ok(RequestBody::None));
}

#[test]
fn host_is_required_once_and_valid() {
    let host = |text| parse_all(text).map(|request| request.host);
    assert_eq!(host("GET / HTTP/1.1\r\n\r\n"), Err(StatusCode::BAD_REQUEST));
    assert_eq!(host("GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n"), Err(StatusCode::BAD_REQUEST));
    assert_eq!(host("GET / HTTP/1.0\r\nHost: a\r\nhost: b\r\n\r\n"), Err(StatusCode::BAD_REQUEST));
    assert_eq!(host("GET / HTTP/1.0\r\nHost: a b\r\n\r\n"), Err(StatusCode::BAD_REQUEST));
    assert_eq!(host("GET / HTTP/1.1\r\nHost: a, b\r\n\r\n"), Err(StatusCode::BAD_REQUEST));
    assert_eq!(host("GET / HTTP/1.1\r\nHost:\r\n\r\n"), Ok(Some("")));
    assert_eq!(host("GET / HTTP/1.0\r\n\r\n"), Ok(None));
    assert_eq!(host("GET http://b/ HTTP/1.1\r\nHost: a\r\n\r\n"), Ok(Some("b")));
    assert_eq!(host("GET http://b/ HTTP/1.1\r\n\r\n"), Err(StatusCode::BAD_REQUEST));
}

#[test]
fn repeated_conditions_are_ignored_unless_they_are_lists() {
    let date = "If-Modified-Since: x\r\n";
    let twice = |field: &str| format!("GET / HTTP/1.1\r\nHost: a\r\n{field}{field}{date}\r\n");
    let text = twice("Range: bytes=0-1\r\n");
    assert_eq!(parse_all(&text).map(|r| (r.range, r.if_modified_since)), Ok((None, Some("x"))));
    let text = twice("If-None-Match: *\r\n");
    let both = Some(Cow::Borrowed("*,*"));
    assert_eq!(parse_all(&text).map(|r| (r.if_none_match, r.if_modified_since)), Ok((both, None)));
    let text = twice("Range: bytes=0-1\r\nIf-Range: \"a\"\r\n");
    assert_eq!(parse_all(&text).map(|r| (r.range, r.if_range)), Ok((None, None)));
    let text = format!(
        "GET / HTTP/1.1\r\nHost: a\r\n{}Range: bytes=0-1\r\n\r\n",
        "If-Range: \"a\"\r\n".repeat(2)
    );
    assert_eq!(parse_all(&text).map(|r| (r.range, r.if_range)), Ok((None, None)));
}

#[test]
fn a_condition_that_cannot_be_read_holds_for_nothing() {
    let read = |fields: &str| {
        let text = format!("GET / HTTP/1.1\r\nHost: a\r\n{fields}\r\n");
        parse_all(&text)
            .map(|r| (r.if_match.map(Cow::into_owned), r.if_unmodified_since.map(str::to_owned)))
    };
    let some = |text: &str| Some(text.to_owned());
    let (tag, date) = ("If-Match: \"a\"\r\n", "if-unmodified-since: x\r\n");
    assert_eq!(read(""), Ok((None, None)));
    assert_eq!(read(tag), Ok((some("\"a\""), None)));
    assert_eq!(read(date), Ok((None, some("x"))));
    assert_eq!(read(&format!("{tag}{date}")), Ok((some("\"a\""), None)));
    let lines = format!("if-match: W/\"b\" ,\r\n{date}{tag}");
    assert_eq!(read(&lines), Ok((some("W/\"b\" ,,\"a\""), None)));
    assert_eq!(read("If-Match:\r\n"), Ok((some(""), None)));
    // A date is no list.
    assert_eq!(read(&format!("{date}{date}")), Ok((None, None)));
}

#[test]
fn errors_say_what_is_wrong() {
    let error = parse_request(b"GET / HTTP/1.1\r\n\r\n", &Limits::default()).unwrap_err();
    assert_eq!(error.to_string(), "400 Bad Request: no Host field");
}

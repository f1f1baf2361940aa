//! Worked cases of bodies and of persistent connections.

use super::{parse_all, status, with};
use crate::message::RequestBody;
use http::StatusCode;

#[test]
fn bodies() {
    assert_eq!(with(""), Ok(RequestBody::None));
    assert_eq!(with("Content-Length: 0\r\n"), Ok(RequestBody::None));
    assert_eq!(with("Content-Length: 5\r\n"), Ok(RequestBody::Length(5)));
    assert_eq!(with("Transfer-Encoding: Chunked\r\n"), Ok(RequestBody::Chunked));
    for bad in ["", "-1", "+1", "1 2", "5, 5", "5,", "0x5", "1.0", "18446744073709551616", "٣"] {
        assert_eq!(
            with(&format!("Content-Length: {bad}\r\n")),
            Err(StatusCode::BAD_REQUEST),
            "{bad}"
        );
    }
    assert_eq!(with("Content-Length: 5\r\nContent-Length: 5\r\n"), Err(StatusCode::BAD_REQUEST));
    assert_eq!(
        with("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"),
        Err(StatusCode::BAD_REQUEST)
    );
    assert_eq!(
        with("Transfer-Encoding: gzip\r\nContent-Length: 5\r\n"),
        Err(StatusCode::BAD_REQUEST)
    );
    for bad in [
        "",
        ",chunked",
        "chunked,",
        "chunked, chunked",
        "chunked, gzip",
        "chunked;a=b",
        "chunked x",
        "\x0b",
    ] {
        assert_eq!(
            with(&format!("Transfer-Encoding: {bad}\r\n")),
            Err(StatusCode::BAD_REQUEST),
            "{bad}"
        );
    }
    assert_eq!(
        with("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"),
        Err(StatusCode::BAD_REQUEST)
    );
    for unknown in ["gzip", "gzip, chunked", "identity", "xchunked", "a;b=c, chunked"] {
        assert_eq!(
            with(&format!("Transfer-Encoding: {unknown}\r\n")),
            Err(StatusCode::NOT_IMPLEMENTED),
            "{unknown}"
        );
    }
    assert_eq!(
        status("GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"),
        Some(StatusCode::BAD_REQUEST)
    );
}

#[test]
fn persistence() {
    let keep_alive = |version: &str, fields: &str| {
        let text = format!("GET / HTTP/{version}\r\nHost: a\r\n{fields}\r\n");
        parse_all(&text).map(|request| request.keep_alive)
    };
    assert_eq!(keep_alive("1.1", ""), Ok(true));
    assert_eq!(keep_alive("1.1", "Connection: close\r\n"), Ok(false));
    assert_eq!(keep_alive("1.1", "Connection: x, CLOSE\r\n"), Ok(false));
    assert_eq!(keep_alive("1.1", "Connection: keep-alive\r\nConnection: close\r\n"), Ok(false));
    assert_eq!(keep_alive("1.1", "Connection: closed\r\n"), Ok(true));
    assert_eq!(keep_alive("1.0", ""), Ok(false));
    assert_eq!(keep_alive("1.0", "Connection: Keep-Alive\r\n"), Ok(true));
    assert_eq!(keep_alive("1.1", "Content-Length: 0\r\n"), Ok(true));
    assert_eq!(keep_alive("1.1", "Content-Length: 1\r\n"), Ok(false));
    assert_eq!(keep_alive("1.1", "Transfer-Encoding: chunked\r\n"), Ok(false));
}

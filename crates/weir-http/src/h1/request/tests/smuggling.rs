//! Every known shape of a request that two readers could end at different bytes, and what a client
//! says of the connection and of its body.

use super::{parse_all, status, with};
use crate::h1::request::{FieldSpace, Limits, Parsed, parse};
use crate::message::RequestBody;
use http::StatusCode;

#[test]
fn no_request_has_two_lengths() {
    for bad in [
        // CL.TE and TE.CL
        "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
        "Content-Length: 0\r\nTransfer-Encoding: chunked\r\n",
        "Content-Length: 5\r\nTransfer-Encoding: identity\r\n",
        "Content-Length: 5\r\nTransfer-Encoding:\r\n",
        "Content-Length: x\r\nTransfer-Encoding: chunked\r\n",
        // TE.TE
        "Transfer-Encoding : chunked\r\n",
        "Transfer-Encoding\t: chunked\r\n",
        "Transfer-Encoding\x0b: chunked\r\n",
        " Transfer-Encoding: chunked\r\n",
        "Transfer-Encoding: \x0bchunked\r\n",
        "Transfer-Encoding: chunked\x0b\r\n",
        "Transfer-Encoding: \x0cchunked\r\n",
        "Transfer-Encoding: \"chunked\"\r\n",
        "Transfer-Encoding: chunked, identity\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n",
        "Transfer-Encoding: chunked\r\ntransfer-encoding: chunked\r\n",
        "Transfer-Encoding: chunked,\r\n",
        "Transfer-Encoding: chunked;\r\n",
        "Transfer-Encoding: chunked chunked\r\n",
        "Transfer-Encoding: chu\rnked\r\n",
        "Transfer-Encoding:\r\n chunked\r\n",
        "X: y\r\n Transfer-Encoding: chunked\r\n",
        "X: y\rTransfer-Encoding: chunked\r\n",
        "X: y\r\rTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\0\r\n",
        "Transfer\0-Encoding: chunked\r\n",
        // CL.CL
        "Content-Length: 5\r\nContent-Length: 6\r\n",
        "Content-Length: 5\r\nContent-Length: 5\r\n",
        "Content-Length: 5\r\nContent-Length: 0\r\n",
        "Content-Length: 5\r\nContent-Length:\r\n",
        "Content-Length: 5, 5\r\n",
        "Content-Length: 5, 6\r\n",
        "Content-Length: +5\r\n",
        "Content-Length: -0\r\n",
        "Content-Length: 0x5\r\n",
        "Content-Length: 5_0\r\n",
        "Content-Length: 5 0\r\n",
        "Content-Length: 5;\r\n",
        "Content-Length: \"5\"\r\n",
        "Content-Length: 1e1\r\n",
        "Content-Length:\r\n",
        "Content-Length:\r\n 5\r\n",
        "Content-Length : 5\r\n",
        "Content-Length: 18446744073709551621\r\n",
        "Content-Length: \u{665}\r\n",
    ] {
        assert_eq!(with(bad), Err(StatusCode::BAD_REQUEST), "{bad:?}");
    }
    let line = "\r\nTransfer-Encoding: chunked";
    for unknown in ["xchunked", "identity", "x, chunked", "chunked'", &format!("identity{line}")] {
        let fields = format!("Transfer-Encoding: {unknown}\r\n");
        assert_eq!(with(&fields), Err(StatusCode::NOT_IMPLEMENTED), "{unknown:?}");
    }
}

#[test]
fn http_1_0_has_no_chunked_bodies() {
    let text = |fields: &str| format!("POST / HTTP/1.0\r\nHost: a\r\n{fields}\r\n");
    assert_eq!(status(&text("Transfer-Encoding: chunked\r\n")), Some(StatusCode::BAD_REQUEST));
    assert_eq!(status(&text("Transfer-Encoding: x\r\n")), Some(StatusCode::BAD_REQUEST));
    assert_eq!(
        status(&text("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n")),
        Some(StatusCode::BAD_REQUEST)
    );
}

#[test]
fn white_space_around_values_is_not_part_of_them() {
    assert_eq!(with("Content-Length: \t5\t \r\n"), Ok(RequestBody::Length(5)));
    assert_eq!(with("Transfer-Encoding:\tchunked \r\n"), Ok(RequestBody::Chunked));
}

#[test]
fn a_line_that_ends_in_lf_alone_is_refused_wherever_it_stands() {
    let head = "GET / HTTP/1.1\r\nHost: a\r\nX: y \r\nY:\r\nZ: z\r\n\r\n";
    assert_eq!(status(head), None);
    for (at, _) in head.match_indices("\r\n") {
        let bare = [&head[..at], &head[at + 1..]].concat();
        assert_eq!(status(&bare), Some(StatusCode::BAD_REQUEST), "{bare:?}");
    }
    for bad in [
        "GET / HTTP/1.0\n\n",
        "GET / HTTP/1.0\r\n\n",
        "GET / HTTP/1.0\n\r\n",
        "\nGET / HTTP/1.0\r\n\r\n",
    ] {
        assert_eq!(status(bad), Some(StatusCode::BAD_REQUEST), "{bad:?}");
    }
    assert_eq!(with("X: y\nContent-Length: 5\r\n"), Err(StatusCode::BAD_REQUEST));
}

#[test]
fn the_target_decides_the_host() {
    let text = "GET http://b/x HTTP/1.1\r\nHost: a\r\n\r\n";
    assert_eq!(parse_all(text).map(|request| (request.host, request.path)), Ok((Some("b"), "/x")));
    for bad in [
        "GET http://b/ HTTP/1.1\r\n\r\n",
        "GET http://b/ HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        "GET http://b@a/ HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET http://a b/ HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\n b\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a, b\r\n\r\n",
        "GET / HTTP/1.1\r\nHost : a\r\n\r\n",
    ] {
        assert_eq!(status(bad), Some(StatusCode::BAD_REQUEST), "{bad:?}");
    }
}

#[test]
fn what_the_client_lets_the_connection_do() {
    let persistent = |text: &str| parse_all(text).map(|r| (r.persistent, r.keep_alive));
    let body = "Content-Length: 1\r\n";
    let ask =
        |version: &str, fields: &str| format!("POST / HTTP/{version}\r\nHost: a\r\n{fields}\r\n");
    assert_eq!(persistent(&ask("1.1", "")), Ok((true, true)));
    assert_eq!(persistent(&ask("1.1", body)), Ok((true, false)));
    assert_eq!(persistent(&ask("1.1", "Transfer-Encoding: chunked\r\n")), Ok((true, false)));
    assert_eq!(
        persistent(&ask("1.1", "Connection: close\r\nContent-Length: 1\r\n")),
        Ok((false, false))
    );
    assert_eq!(persistent(&ask("1.0", body)), Ok((false, false)));
    assert_eq!(
        persistent(&ask("1.0", "Connection: keep-alive\r\nContent-Length: 1\r\n")),
        Ok((true, false))
    );
}

#[test]
fn upgrades_are_announced_once_and_in_connection() {
    let upgrade = |version: &str, fields: &str| {
        let text = format!("GET / HTTP/{version}\r\nHost: a\r\n{fields}\r\n");
        parse_all(&text).map(|request| request.upgrade.map(String::from))
    };
    let both = "Connection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n";
    assert_eq!(upgrade("1.1", both), Ok(Some("websocket".into())));
    assert_eq!(upgrade("1.0", both), Ok(None));
    assert_eq!(upgrade("1.1", "Upgrade: websocket\r\n"), Ok(None));
    assert_eq!(upgrade("1.1", "Connection: upgrade\r\n"), Ok(None));
    assert_eq!(upgrade("1.1", "Connection: upgrade\r\nUpgrade:\r\n"), Ok(None));
    assert_eq!(upgrade("1.1", "Connection: upgrade\r\nUpgrade: a\r\nUpgrade: b\r\n"), Ok(None));
}

#[test]
fn expectations() {
    let expect = |version: &str, fields: &str| {
        let text = format!("PUT / HTTP/{version}\r\nHost: a\r\n{fields}\r\n");
        parse_all(&text).map(|request| (request.expects_continue, request.unknown_expectation))
    };
    let body = |text: &str| format!("{text}Content-Length: 1\r\n");
    assert_eq!(expect("1.1", &body("Expect: 100-Continue\r\n")), Ok((true, false)));
    assert_eq!(expect("1.1", "Expect: 100-continue\r\n"), Ok((false, false)));
    assert_eq!(expect("1.0", &body("Expect: 100-continue\r\n")), Ok((false, false)));
    assert_eq!(expect("1.0", &body("Expect: x\r\n")), Ok((false, false)));
    assert_eq!(expect("1.1", &body("Expect: x\r\n")), Ok((false, true)));
    assert_eq!(expect("1.1", &body("Expect: 100-continue, x\r\n")), Ok((true, true)));
    assert_eq!(expect("1.1", &body("Expect: 100-continue\r\nExpect: x\r\n")), Ok((true, true)));
    assert_eq!(expect("1.1", &body("Expect: 100-continue=1\r\n")), Ok((false, true)));
    assert_eq!(expect("1.1", &body("Expect:\r\n")), Ok((false, false)));
}

#[test]
fn every_field_is_read_in_its_order() {
    let read = |head: &str| {
        let mut space = FieldSpace::new();
        let limits = Limits { headers: 128, ..Limits::default() };
        let Ok(Parsed::Complete { fields, .. }) = parse(head.as_bytes(), &limits, &mut space)
        else {
            return None;
        };
        let owned = |(name, value): (&str, &[u8])| {
            (name.to_owned(), String::from_utf8_lossy(value).into_owned())
        };
        Some(fields.to_fields().iter().map(owned).collect::<Vec<_>>())
    };
    let pairs = |pairs: &[(&str, &str)]| {
        Some(pairs.iter().map(|(a, b)| (String::from(*a), String::from(*b))).collect::<Vec<_>>())
    };
    let head = "\r\nGET / HTTP/1.1\r\nHost: a\r\nX:\r\nx: \tb c \r\n\r\nY: z\r\n\r\n";
    assert_eq!(read(head), pairs(&[("Host", "a"), ("X", ""), ("x", "b c")]));
    let most = format!("GET / HTTP/1.1\r\nHost: a\r\n{}\r\n", "A: b\r\n".repeat(127));
    assert_eq!(read(&most).map(|fields| fields.len()), Some(128));
    for none in ["", "\r\n", "GET / HTTP/1.1\r\nHost: a\r\n", "GET / HTTP/1.1\r\nA : b\r\n\r\n"] {
        assert_eq!(read(none), None, "{none:?}");
    }
}

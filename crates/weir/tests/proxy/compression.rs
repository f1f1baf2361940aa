//! Shows that answers of backends are compressed where the route says so, whole and as they come, and
//! that those stay as they are which must.

use std::io::Read;

use crate::coding::{CODINGS, ask, compressed, content, text};
use crate::support::{Backend, Barrier, Server, Then, eventually};

const COMPRESS: &str = "compress = true\n";

/// Answers with `length` bytes of text and these lines of the head.
fn of_text(length: usize, fields: &'static str) -> Backend {
    Backend::new(move |call| call.ok_with(fields, text(length)))
}

#[test]
fn answers_are_compressed_for_who_accepts_that() {
    let fields = "Content-Type: text/html; charset=utf-8\r\nETag: \"a\"\r\nAccept-Ranges: bytes\r\n\
                  Vary: Cookie\r\nX-Other: 1\r\n";
    // One that comes whole, and one that comes in pieces.
    for length in [10_000, 3_000_000] {
        let backend = of_text(length, fields);
        let server = Server::routed(&[&backend.url], COMPRESS);
        let mut client = server.connect();
        for coding in CODINGS {
            let answer = compressed(&mut client, "/", coding);
            assert!(content(&answer) == text(length), "{coding} of {length}");
            assert!(answer.body.len() < length / 2, "{coding}: {}", answer.body.len());
            assert_eq!(answer.field("ETag"), Some("W/\"a\""), "the backend has tagged other bytes");
            assert_eq!((answer.field("Accept-Ranges"), answer.field("X-Other")), (None, Some("1")));
            assert!(answer.head.to_ascii_lowercase().contains("vary: accept-encoding\r\n"));
        }
        eventually("of those that the client likes equally, Zstandard comes first", || {
            let answer = ask(&mut client, "/", "gzip, br, zstd");
            answer.field("Content-Encoding") == Some("zstd")
        });
        let plain = client.get("/");
        assert!(plain.body == text(length) && plain.field("ETag") == Some("\"a\""));
        assert!(plain.head.to_ascii_lowercase().contains("vary: accept-encoding\r\n"));
        // The backend is told what the client accepts, and may compress by itself.
        assert_eq!(backend.requests()[0].fields("Accept-Encoding"), ["zstd"]);
        let answers = server.metrics().sum("weir_compressed_answers_total");
        assert!(answers >= 4.0, "{length}: {answers}");
    }
}

#[test]
fn what_must_stay_as_it_is_stays() {
    let html = "Content-Type: text/html\r\n";
    for (length, fields) in [
        (1000, html.to_owned()),
        (10_000, String::new()),
        (10_000, "Content-Type: image/png\r\n".to_owned()),
        (10_000, format!("{html}Content-Encoding: deflate\r\n")),
        (10_000, format!("{html}Cache-Control: public, no-transform\r\n")),
        (10_000, format!("{html}Content-Digest: sha-256=:AAAA:\r\n")),
    ] {
        let answered = fields.clone();
        let backend = Backend::new(move |call| call.ok_with(&answered, text(length)));
        let server = Server::routed(&[&backend.url], COMPRESS);
        let answer = ask(&mut server.connect(), "/", "gzip, br, zstd");
        assert!(answer.body == text(length), "{fields}");
        assert_ne!(answer.field("Content-Encoding"), Some("zstd"), "{fields}");
    }
    let part = Backend::new(|call| {
        call.send(
            "HTTP/1.1 206 Partial Content\r\nContent-Type: text/html\r\nContent-Length: 5000\r\n\
             Content-Range: bytes 0-4999/10000\r\n\r\n",
        );
        call.send(text(5000));
        Then::Keep
    });
    let server = Server::routed(&[&part.url], COMPRESS);
    let answer = ask(&mut server.connect(), "/", "gzip");
    assert!(answer.status == 206 && answer.body == text(5000));
    // Without the key nothing is compressed.
    let backend = of_text(10_000, "Content-Type: text/html\r\n");
    let server = Server::routed(&[&backend.url], "");
    let answer = ask(&mut server.connect(), "/", "gzip");
    assert!(answer.body == text(10_000) && answer.field("Vary").is_none());
}

#[test]
fn what_stands_for_a_compressed_answer_says_so() {
    let backend = Backend::new(|call| {
        let fields = "ETag: \"a\"\r\n";
        if call.asked.head.contains("W/\"a\"") {
            call.send(format!("HTTP/1.1 304 Not Modified\r\n{fields}\r\n"));
        } else {
            call.send(format!(
                "HTTP/1.1 206 Partial Content\r\nContent-Type: text/html\r\n{fields}\
                 Content-Range: bytes 0-4/10000\r\nContent-Length: 5\r\n\r\nweir\n"
            ));
        }
        Then::Keep
    });
    let server = Server::routed(&[&backend.url], COMPRESS);
    let mut client = server.connect();
    for (fields, status, tag) in [
        ("If-None-Match: W/\"a\"\r\nAccept-Encoding: br\r\n", 304, "W/\"a\""),
        ("If-None-Match: W/\"a\"\r\n", 304, "\"a\""),
        ("Range: bytes=0-4\r\nAccept-Encoding: br\r\n", 206, "\"a\""),
    ] {
        client.ask_with("/", fields);
        let answer = client.response();
        assert_eq!((answer.status, answer.field("ETag")), (status, Some(tag)), "{fields}");
        assert_eq!(answer.field("Vary"), Some("accept-encoding"), "{fields}");
    }
}

#[test]
fn a_route_that_changes_vary_has_nothing_compressed() {
    let backend = of_text(10_000, "Content-Type: text/html\r\n");
    let keys = format!("{COMPRESS}response_headers = {{ set = {{ Vary = \"Cookie\" }} }}\n");
    let server = Server::routed(&[&backend.url], &keys);
    let answer = ask(&mut server.connect(), "/", "gzip, br, zstd");
    assert!(answer.body == text(10_000) && answer.field("Content-Encoding").is_none());
    assert_eq!(answer.field("Vary"), Some("Cookie"));
}

#[test]
fn head_says_what_get_would_say() {
    let backend = Backend::new(|call| {
        call.send("HTTP/1.1 200 OK\r\nContent-Type: text/css\r\nContent-Length: 9000\r\n\r\n");
        if call.asked.head.starts_with("GET ") {
            call.send(text(9000));
        }
        Then::Keep
    });
    let server = Server::routed(&[&backend.url], COMPRESS);
    let mut client = server.connect();
    client.send("HEAD / HTTP/1.1\r\nHost: weir\r\nAccept-Encoding: br\r\n\r\n");
    let head = client.head();
    assert_eq!((head.status, head.field("Content-Encoding")), (200, Some("br")));
    assert_eq!(head.field("Content-Length"), None, "{}", head.head);
    assert!(content(&ask(&mut client, "/", "br")) == text(9000));
}

#[test]
fn events_are_not_held_back() {
    let held = Barrier::default();
    let passes = held.clone();
    let backend = Backend::new(move |call| {
        call.send(
            "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\
             \r\n10\r\ndata: the first\n\r\n",
        );
        passes.pass();
        call.send("11\r\ndata: the second\n\r\n0\r\n\r\n");
        Then::Keep
    });
    let server = Server::routed(&[&backend.url], COMPRESS);
    let mut client = server.connect();
    // In HTTP/1.0 the body is what comes until the end.
    client.send("GET / HTTP/1.0\r\nAccept-Encoding: gzip\r\n\r\n");
    assert_eq!(client.head().field("Content-Encoding"), Some("gzip"));
    let so_far = |bytes: &[u8]| {
        let mut text = Vec::new();
        // What follows is missing.
        let _ = flate2::read::GzDecoder::new(bytes).read_to_end(&mut text);
        String::from_utf8(text).expect("text")
    };
    let mut bytes = Vec::new();
    while so_far(&bytes) != "data: the first\n" {
        bytes.extend(client.read(1));
    }
    held.open(1);
    bytes.extend(client.rest());
    assert_eq!(so_far(&bytes), "data: the first\ndata: the second\n");
}

#[test]
fn an_answer_that_breaks_off_does_so_compressed_as_well() {
    let backend = Backend::new(|call| {
        call.send("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 1000000\r\n\r\n");
        call.send(text(500_000));
        Then::Cut
    });
    let server = Server::routed(&[&backend.url], COMPRESS);
    for coding in CODINGS {
        let mut client = server.connect();
        client.ask_with("/", &format!("Accept-Encoding: {coding}\r\n"));
        assert!(client.try_response().is_err(), "{coding}: it looks whole");
    }
}

#[test]
fn a_backend_whose_client_has_left_is_told() {
    let backend = Backend::new(|call| {
        call.send(
            "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n",
        );
        let piece = text(100_000);
        let chunk = [format!("{:x}\r\n", piece.len()).as_bytes(), &piece, b"\r\n"].concat();
        while call.send(&chunk) {}
        Then::Cut
    });
    let keys = format!("{COMPRESS}cancels_on_disconnect = true\n");
    let server = Server::routed(&[&backend.url], &keys);
    let mut client = server.connect();
    client.ask_with("/", "Accept-Encoding: gzip\r\n");
    assert_eq!(client.head().status, 200);
    client.read(1000);
    client.reset();
    // Its connection is closed, so it cannot send any more.
    server.wait_for_metric("weir_backend_under_way", 0.0);
    server.wait_for_metric("weir_proxy_memory_bytes", 0.0);
}

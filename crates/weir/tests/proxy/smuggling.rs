//! Shows that no request hides in another one on its way to a backend, in any of the shapes that are
//! known (Linhart et al. 2005; Kettle 2019 to 2025, "HTTP desync attacks" and what followed): each
//! is refused, or is one request for everybody.

use crate::support::{Backend, Server, route};

/// What an attacker would have the backend take for a request.
const HIDDEN: &str = "GET /hidden HTTP/1.1\r\nHost: weir\r\n\r\n";

/// What may become of a shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// 400 or 501, and the backend hears nothing.
    Refused,
    /// One request, whose body is this.
    Clean(&'static str),
    /// Either.
    Any,
}

use Fate::{Any, Clean, Refused};

/// Sends `bytes` and looks at what comes of it on both sides.
#[track_caller]
fn attack(server: &Server, backend: &Backend, name: &str, bytes: impl AsRef<[u8]>, fate: Fate) {
    let before = backend.requests().len();
    let mut client = server.connect();
    // It may close before it has read all.
    let _ = client.try_send(bytes);
    let answer = client.try_response().expect(name);
    let clean = answer.status == 200;
    if clean {
        assert_ne!(fate, Refused, "{name}");
        assert_eq!(client.get("/after").text(), "/after", "{name}: the connection is in step");
    } else {
        assert!(matches!(answer.status, 400 | 413 | 431 | 501), "{name}: {}", answer.status);
        assert!(!matches!(fate, Clean(_)), "{name}: {}", answer.status);
        assert!(client.rest().is_empty(), "{name}: one answer and no other");
    }
    let requests = backend.requests().split_off(before);
    let targets: Vec<_> = requests.iter().map(|asked| asked.target()).collect();
    let expected: &[&str] = if clean { &["/", "/after"] } else { &[] };
    assert_eq!(targets, expected, "{name}: {requests:#?}");
    if let Some(asked) = requests.first() {
        let body = asked.body.as_deref().expect(name);
        if let Clean(expected) = fate {
            assert_eq!(String::from_utf8_lossy(body), expected, "{name}");
        }
        let framings =
            asked.fields("Content-Length").len() + asked.fields("Transfer-Encoding").len();
        assert!(framings <= 1, "{name}: {}", asked.head);
    }
}

fn post(fields: &str, body: &str) -> String {
    format!("POST / HTTP/1.1\r\nHost: weir\r\n{fields}\r\n{body}")
}

#[test]
fn heads_with_two_lengths_or_unclear_ones_are_refused() {
    let backend = Backend::echoing_targets();
    let mut server = Server::before(&backend, &[]);
    let hidden_in_chunks = format!("0\r\n\r\n{HIDDEN}");
    let in_length = format!("{:x}\r\n{HIDDEN}\r\n0\r\n\r\n", HIDDEN.len());
    for (name, fields, body) in [
        ("CL.TE", "Content-Length: 46\r\nTransfer-Encoding: chunked\r\n", &hidden_in_chunks),
        ("TE.CL", "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n", &in_length),
        ("CL.0 with chunks", "Content-Length: 0\r\nTransfer-Encoding: chunked\r\n", &in_length),
        ("two equal lengths", "Content-Length: 5\r\nContent-Length: 5\r\n", &hidden_in_chunks),
        ("two lengths", "Content-Length: 5\r\nContent-Length: 46\r\n", &hidden_in_chunks),
        ("a list of lengths", "Content-Length: 5, 46\r\n", &hidden_in_chunks),
        ("a list of equal lengths", "Content-Length: 5, 5\r\n", &hidden_in_chunks),
        ("a sign", "Content-Length: +5\r\n", &hidden_in_chunks),
        ("a minus", "Content-Length: -5\r\n", &hidden_in_chunks),
        ("hexadecimal", "Content-Length: 0x5\r\n", &hidden_in_chunks),
        ("an underscore", "Content-Length: 1_0\r\n", &hidden_in_chunks),
        ("two words", "Content-Length: 5 46\r\n", &hidden_in_chunks),
        ("no number", "Content-Length: \r\n", &hidden_in_chunks),
        ("a point", "Content-Length: 5.0\r\n", &hidden_in_chunks),
        ("65 bits", "Content-Length: 18446744073709551621\r\n", &hidden_in_chunks),
        ("a space before the colon", "Content-Length : 5\r\n", &hidden_in_chunks),
        ("a tab before the colon", "Content-Length\t: 5\r\n", &hidden_in_chunks),
        ("a folded length", "Content-Length:\r\n 5\r\n", &hidden_in_chunks),
        ("a folded coding", "Transfer-Encoding:\r\n chunked\r\n", &hidden_in_chunks),
        ("a folded list", "Transfer-Encoding: x\r\n , chunked\r\n", &hidden_in_chunks),
        ("a field that begins with a space", " Transfer-Encoding: chunked\r\n", &hidden_in_chunks),
        ("a space before this colon", "Transfer-Encoding : chunked\r\n", &hidden_in_chunks),
        ("another coding", "Transfer-Encoding: xchunked\r\n", &hidden_in_chunks),
        ("a coding before", "Transfer-Encoding: gzip, chunked\r\n", &hidden_in_chunks),
        ("a coding after", "Transfer-Encoding: chunked, identity\r\n", &hidden_in_chunks),
        ("identity", "Transfer-Encoding: identity\r\nContent-Length: 46\r\n", &hidden_in_chunks),
        ("chunked twice", "Transfer-Encoding: chunked, chunked\r\n", &hidden_in_chunks),
        (
            "two fields of codings",
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n",
            &hidden_in_chunks,
        ),
        ("two fields", "Transfer-Encoding: x\r\nTransfer-Encoding: chunked\r\n", &hidden_in_chunks),
        ("quotes", "Transfer-Encoding: \"chunked\"\r\n", &hidden_in_chunks),
        ("a parameter", "Transfer-Encoding: chunked;q=1\r\n", &hidden_in_chunks),
        ("a vertical tab", "Transfer-Encoding: \x0bchunked\r\n", &hidden_in_chunks),
        ("a carriage return", "Transfer-Encoding: chunked\rX: y\r\n", &hidden_in_chunks),
        ("a NUL", "Transfer-Encoding: chunked\0\r\n", &hidden_in_chunks),
        ("no coding", "Transfer-Encoding:\r\nContent-Length: 46\r\n", &hidden_in_chunks),
        ("a bare line end in a value", "X: y\r\rContent-Length: 46\r\n", &hidden_in_chunks),
        ("a line without a colon", "Content-Length\r\n", &hidden_in_chunks),
        ("no name", ": 5\r\n", &hidden_in_chunks),
        ("lines that end in LF", "Transfer-Encoding: chunked\n", &hidden_in_chunks),
        ("a line that ends in LF", "X: y\nContent-Length: 46\r\n", &hidden_in_chunks),
        ("a head that ends in LF", "Content-Length: 46\r\n\n", &hidden_in_chunks),
        ("another host", "Host: elsewhere\r\nContent-Length: 46\r\n", &hidden_in_chunks),
    ] {
        attack(&server, &backend, name, post(fields, body), Refused);
    }
    for (name, request) in [
        ("no host", "GET / HTTP/1.1\r\n\r\n".to_owned()),
        (
            "chunks in HTTP/1.0",
            format!(
                "POST / HTTP/1.0\r\nHost: weir\r\nTransfer-Encoding: chunked\r\n\r\n{hidden_in_chunks}"
            ),
        ),
        ("a fragment", format!("GET /#a HTTP/1.1\r\nHost: weir\r\n\r\n{HIDDEN}")),
        ("a target in two lines", format!("GET /\r\n HTTP/1.1\r\nHost: weir\r\n\r\n{HIDDEN}")),
        (
            "a carriage return in the line",
            format!("GET /\rx HTTP/1.1\r\nHost: weir\r\n\r\n{HIDDEN}"),
        ),
        ("two spaces", format!("GET / HTTP/1.1 HTTP/1.1\r\nHost: weir\r\n\r\n{HIDDEN}")),
        ("a space in the target", format!("GET / x HTTP/1.1\r\nHost: weir\r\n\r\n{HIDDEN}")),
        ("user information", format!("GET http://a@b/ HTTP/1.1\r\nHost: b\r\n\r\n{HIDDEN}")),
        ("a host of two lines", format!("GET / HTTP/1.1\r\nHost: weir\r\n x\r\n\r\n{HIDDEN}")),
        ("a host with a path", format!("GET / HTTP/1.1\r\nHost: weir/x\r\n\r\n{HIDDEN}")),
    ] {
        attack(&server, &backend, name, request, Refused);
    }
    server.assert_alive();
}

#[test]
fn chunks_that_two_readers_could_take_differently_are_refused() {
    let backend = Backend::echoing_targets();
    let mut server = Server::before(&backend, &[]);
    for (name, body) in [
        ("a bare LF after a size", "5\nhello\r\n0\r\n\r\n"),
        ("a bare LF after data", "5\r\nhello\n0\r\n\r\n"),
        ("a bare CR after a size", "5\rhello\r\n0\r\n\r\n"),
        ("a bare LF in the end", "5\r\nhello\r\n0\n\n"),
        ("an extension that ends in LF", "5;a\nhello\r\n0\r\n\r\n"),
        ("nothing but LF as extension", "5;\nhello\r\n0\r\n\r\n"),
        ("LF in an extension", "2;\nxx\r\n22\r\nab\r\n0\r\n\r\n"),
        ("CR in an extension", "5;a\rb\r\nhello\r\n0\r\n\r\n"),
        ("LF in quotes", "5;a=\"\n\"\r\nhello\r\n0\r\n\r\n"),
        ("a space after the size", "5 \r\nhello\r\n0\r\n\r\n"),
        ("a space before the size", " 5\r\nhello\r\n0\r\n\r\n"),
        ("a sign", "+5\r\nhello\r\n0\r\n\r\n"),
        ("a minus", "-5\r\nhello\r\n0\r\n\r\n"),
        ("hexadecimal written out", "0x5\r\nhello\r\n0\r\n\r\n"),
        ("an underscore", "1_0\r\nhello\r\n0\r\n\r\n"),
        ("no size", "\r\nhello\r\n0\r\n\r\n"),
        ("no size but an extension", ";a\r\nhello\r\n0\r\n\r\n"),
        ("17 digits", "10000000000000005\r\nhello\r\n0\r\n\r\n"),
        ("20 digits with zeros", "00000000000000000005\r\nhello\r\n0\r\n\r\n"),
        ("data longer than the size", "5\r\nhello!!\r\n0\r\n\r\n"),
        ("two bytes that are no line end", "5\r\nhelloXX0\r\n\r\n"),
        ("a folded trailer", "0\r\nX: a\r\n b\r\n\r\n"),
        ("a trailer without a colon", "0\r\nX\r\n\r\n"),
        ("a space before a colon", "0\r\nX : a\r\n\r\n"),
        ("a bare CR in a trailer", "0\r\nX: a\rb\r\n\r\n"),
    ] {
        let body = format!("{body}{HIDDEN}");
        attack(&server, &backend, name, post("Transfer-Encoding: chunked\r\n", &body), Refused);
    }
    // So many digits that none could mean them, and extensions without end.
    let endless = [format!("5;{}", "a".repeat(100_000)), "0".repeat(100_000), "f".repeat(16)];
    for body in endless {
        let body = format!("{body}\r\nhello\r\n0\r\n\r\n{HIDDEN}");
        let mut client = server.connect();
        let _ = client.try_send(post("Transfer-Encoding: chunked\r\n", &body));
        // A chunk that says it is huge waits for the rest; it stays a body in any case.
        client.half_close();
        let answer = client.rest();
        let refused = [&b"HTTP/1.1 400"[..], b"HTTP/1.1 413"];
        let ok = answer.is_empty() || refused.iter().any(|status| answer.starts_with(status));
        assert!(ok, "{}", String::from_utf8_lossy(&answer));
    }
    let whole = backend.requests().into_iter().filter(|asked| asked.target() != "/");
    assert_eq!(whole.count(), 0, "{:?}", backend.targets());
    server.assert_alive();
}

#[test]
fn what_is_odd_but_clear_is_one_request() {
    let backend = Backend::echoing_targets();
    let mut server = Server::before(&backend, &[]);
    let chunks = "5\r\nhello\r\n0\r\n\r\n";
    for (name, fields, body, fate) in [
        ("plain chunks", "Transfer-Encoding: chunked\r\n", chunks, Clean("hello")),
        ("capitals", "TRANSFER-ENCODING: CHUNKED\r\n", chunks, Clean("hello")),
        ("a tab", "Transfer-Encoding:\tchunked\t\r\n", chunks, Clean("hello")),
        ("no space", "Transfer-Encoding:chunked\r\n", chunks, Clean("hello")),
        (
            "a name in two parts",
            "Transfer_Encoding: chunked\r\nContent-Length: 5\r\n",
            "0\r\n\r\n",
            Clean("0\r\n\r\n"),
        ),
        (
            "this name, too",
            "Content_Length: 0\r\nTransfer-Encoding: chunked\r\n",
            chunks,
            Clean("hello"),
        ),
        (
            "a name with an end",
            "X-Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
            "hello",
            Clean("hello"),
        ),
        ("zeros", "Content-Length: 0005\r\n", "hello", Any),
        (
            "a size with zeros",
            "Transfer-Encoding: chunked\r\n",
            "0005\r\nhello\r\n000\r\n\r\n",
            Any,
        ),
        (
            "extensions",
            "Transfer-Encoding: chunked\r\n",
            "5;a=b;c=\"d;e\"\r\nhello\r\n0;x\r\n\r\n",
            Any,
        ),
        (
            "a size in capitals",
            "Transfer-Encoding: chunked\r\n",
            "A\r\n0123456789\r\n0\r\n\r\n",
            Clean("0123456789"),
        ),
        ("an empty member", "Transfer-Encoding: , chunked\r\n", chunks, Any),
        (
            "trailers that frame",
            "Transfer-Encoding: chunked\r\n",
            "5\r\nhello\r\n0\r\nContent-Length: 9\r\nTransfer-Encoding: x\r\nHost: evil\r\n\r\n",
            Any,
        ),
        (
            "nobody's method",
            "Content-Length: 5\r\nX-HTTP-Method-Override: GET\r\n",
            "hello",
            Clean("hello"),
        ),
        (
            "an upgrade",
            "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\nContent-Length: 5\r\n",
            "hello",
            Clean("hello"),
        ),
    ] {
        attack(&server, &backend, name, post(fields, body), fate);
    }
    let requests = backend.requests();
    for asked in &requests {
        assert_eq!(asked.trailers, "", "no framing behind the body");
        for name in ["Transfer_Encoding", "Content_Length", "Upgrade", "HTTP2-Settings"] {
            assert_eq!(asked.fields(name), [""; 0], "{}", asked.head);
        }
    }
    // A body of a method that usually has none is a body all the same (CL.0).
    for method in ["GET", "HEAD", "DELETE", "OPTIONS"] {
        let length = HIDDEN.len();
        let mut client = server.connect();
        client.send(format!(
            "{method} / HTTP/1.1\r\nHost: weir\r\nContent-Length: {length}\r\n\r\n{HIDDEN}"
        ));
        assert_eq!(client.head().status, 200, "{method}");
        if method != "HEAD" {
            assert_eq!(client.read(1), b"/");
        }
        assert_eq!(client.get("/after").text(), "/after");
    }
    assert!(!backend.targets().contains(&"/hidden".to_owned()), "{:?}", backend.targets());
    server.assert_alive();
}

#[test]
fn a_request_whose_answer_comes_early_hides_nothing_either() {
    // Files and refusals answer without the body, which is read and forgotten: it is never a request.
    let backend = Backend::echoing_targets();
    let server = Server::builtin(&["--proxy", &format!("/app={}", backend.url)]);
    let hidden = HIDDEN.replace("/hidden", "/app/hidden");
    let length = hidden.len();
    for line in ["POST /missing HTTP/1.1", "GET /missing HTTP/1.1", "POST /app/%00 HTTP/1.1"] {
        let mut client = server.connect();
        client.send(format!("{line}\r\nHost: weir\r\nContent-Length: {length}\r\n\r\n{hidden}"));
        let status = client.response().status;
        assert!(matches!(status, 400 | 404 | 405), "{line}: {status}");
        assert_eq!(client.get("/app/after").text(), "/app/after", "{line}: it is in step");
        // One that is too long for that ends the connection.
        let long = format!("{hidden}{}{hidden}", "x".repeat(100_000));
        let length = long.len();
        client.send(format!("{line}\r\nHost: weir\r\nContent-Length: {length}\r\n\r\n{long}"));
        assert_eq!(client.response().field("Connection"), Some("close"), "{line}");
        assert!(client.rest().is_empty(), "{line}");
    }
    assert_eq!(backend.targets(), ["/app/after"; 3]);
}

#[test]
fn a_body_that_turns_out_malformed_late_is_cut_and_not_ended() {
    let backend = Backend::echoing_targets();
    let server = Server::routed(&[&backend.url], "buffer = \"1kb\"\noverflow = \"push-back\"\n");
    let mut client = server.connect();
    client.send(post("Transfer-Encoding: chunked\r\n", ""));
    let chunk = format!("2710\r\n{}\r\n", "x".repeat(10_000));
    for _ in 0..20 {
        client.send(&chunk);
    }
    // The backend is reading by now.
    client.send(format!("0x0\r\n\r\n{HIDDEN}"));
    assert_eq!(client.response().status, 400);
    assert!(client.rest().is_empty());
    assert_eq!(backend.wait_for_requests(1)[0].body, None, "the backend sees that it broke off");
    assert_eq!(server.get("/after").text(), "/after");
}

#[test]
fn a_pause_within_a_body_does_not_make_its_rest_a_request() {
    let backend = Backend::echoing_targets();
    for keys in ["", "buffer = \"1kb\"\noverflow = \"push-back\"\n"] {
        let route = route("/", &[&backend.url]);
        let text = format!("send_timeout = \"300ms\"\n{route}backend_limit = 1\n{keys}");
        let server = Server::configured(&text, &[]);
        let mut client = server.connect();
        client.send(post("Content-Length: 40000\r\n", &"x".repeat(20_000)));
        let answer = client.response();
        assert_eq!((answer.status, answer.field("Connection")), (408, Some("close")), "{keys}");
        let _ = client.try_send(HIDDEN);
        client.assert_closed();
        server.wait_for_metric("weir_backend_under_way", 0.0);
    }
    assert!(!backend.targets().contains(&"/hidden".to_owned()), "{:?}", backend.targets());
}

//! Shows what becomes of the body of a request that nobody wants, such as one of a GET for a file: a short
//! one is read and forgotten, a long one ends the connection, and none is ever taken for a request.

use std::fs;

use crate::support::{Client, Server, output_of, tool};

/// What must not be taken for a request.
const HIDDEN: &str = "GET /files/10kb.bin HTTP/1.1\r\nHost: weir\r\n\r\n";

/// Methods, and how they are answered with a body.
const METHODS: [(&str, u16); 4] = [("GET", 200), ("POST", 405), ("OPTIONS", 204), ("BREW", 501)];

fn head(method: &str, fields: &str) -> String {
    format!("{method} /files/1kb.bin HTTP/1.1\r\nHost: weir\r\n{fields}\r\n")
}

fn chunk(data: &str) -> String {
    format!("{:x}\r\n{data}\r\n", data.len())
}

/// [`HIDDEN`] as a body in either framing: the field and the bytes.
fn bodies() -> [(String, String); 2] {
    [
        (format!("Content-Length: {}\r\n", HIDDEN.len()), HIDDEN.to_owned()),
        (
            "Transfer-Encoding: chunked\r\n".to_owned(),
            format!("{}{}0\r\nX: y\r\n\r\n", chunk(HIDDEN), chunk("more")),
        ),
    ]
}

/// Fails unless the next request is the next request, and the client has been answered often enough.
#[track_caller]
fn assert_in_step(client: &mut Client) {
    assert_eq!(client.get("/files/1kb.bin").body.len(), 1000);
    client.half_close();
    client.assert_closed();
}

#[test]
fn a_short_body_is_read_and_the_connection_goes_on() {
    for flags in [&[][..], &["--uplink", "1gbit"]] {
        let mut server = Server::builtin(flags);
        let mut client = server.connect();
        for ((method, status), (field, body)) in
            METHODS.iter().flat_map(|method| bodies().map(|body| (method, body)))
        {
            // Together with the head, behind it in pieces, and after the answer.
            client.send(head(method, &field) + &body);
            let answer = client.response();
            assert_eq!((answer.status, answer.field("Connection")), (*status, None), "{method}");
            client.send(head(method, &field) + &body[..1]);
            assert_eq!(client.response().status, *status, "{method}");
            body.as_bytes()[1..].chunks(20).for_each(|piece| client.send(piece));
            // With the next request in the same piece.
            client.send(head(method, &field) + &body + &head("HEAD", ""));
            assert_eq!(client.response().status, *status, "{method}");
            assert_eq!(client.head().status, 200);
        }
        assert_in_step(&mut client);
        server.assert_alive();
    }
    // As long as it may be.
    let server = Server::builtin(&[]);
    let mut client = server.connect();
    client.send(head("POST", "Content-Length: 65536\r\n"));
    assert_eq!(client.response().field("Connection"), None);
    client.send(vec![b'x'; 65_536]);
    assert_in_step(&mut client);
}

#[test]
fn a_long_body_is_not_read_and_the_connection_ends() {
    let server = Server::builtin(&[]);
    for method in ["GET", "POST"] {
        let mut client = server.connect();
        client.send(head(method, "Content-Length: 65537\r\n"));
        assert_eq!(client.response().field("Connection"), Some("close"), "{method}");
        let _ = client.try_send([&vec![b'x'; 65_537][..], HIDDEN.as_bytes()].concat());
        client.assert_closed();
        // One in chunks shows its length when it comes.
        let mut client = server.connect();
        client.send(head(method, "Transfer-Encoding: chunked\r\n"));
        assert_eq!(client.response().field("Connection"), None, "{method}");
        let long = chunk(&"x".repeat(70_000)) + "0\r\n\r\n" + HIDDEN;
        let _ = client.try_send(long);
        client.assert_closed();
        // Framing counts: it need not be data.
        let mut client = server.connect();
        client.send(head(method, "Transfer-Encoding: chunked\r\n"));
        client.response();
        let _ = client.try_send(chunk("x").repeat(12_000) + "0\r\n\r\n" + HIDDEN);
        client.assert_closed();
    }
    assert_eq!(server.metrics().sum("weir_responses_total"), 6.0, "nothing else was answered");
}

#[test]
fn who_waits_to_be_asked_for_a_body_is_told_the_answer_instead() {
    let server = Server::builtin(&[]);
    for ((method, status), (field, body)) in
        METHODS.iter().flat_map(|method| bodies().map(|body| (method, body)))
    {
        let mut client = server.connect();
        client.send(head(method, &format!("Expect: 100-continue\r\n{field}")));
        // Not 100, which would ask for it.
        let answer = client.response();
        assert_eq!((answer.status, answer.field("Connection")), (*status, Some("close")));
        let _ = client.try_send(body);
        client.assert_closed();
    }
    // Without a body there is nothing to wait for.
    let mut client = server.connect();
    client.send(head("GET", "Expect: 100-continue\r\n"));
    assert_eq!(client.response().field("Connection"), None);
    assert_in_step(&mut client);
}

#[test]
fn a_body_that_is_malformed_or_never_comes_ends_the_connection() {
    let server = Server::builtin(&["--send-timeout", "300ms"]);
    for body in ["nonsense\r\n", "5\r\nhello!\r\n0\r\n\r\n", "5 \r\nhello\r\n0\r\n\r\n"] {
        let mut client = server.connect();
        client.send(head("GET", "Transfer-Encoding: chunked\r\n") + body + HIDDEN);
        assert_eq!(client.response().status, 200, "{body:?}");
        client.assert_closed();
    }
    for (field, _) in bodies() {
        let mut client = server.connect();
        client.send(head("POST", &field) + "2");
        // It need not wait for the body to hear that nobody wants it.
        assert_eq!(client.response().status, 405, "{field}");
        client.assert_closed();
    }
    let slow = Server::builtin(&["--min-rate", "10", "--min-rate-period", "1s"]);
    let mut client = slow.connect();
    client.send(head("POST", "Content-Length: 100\r\n") + "x");
    assert_eq!(client.response().status, 405);
    client.assert_closed();
    // A client that is done before its body is has ended the connection itself.
    let mut client = server.connect();
    client.send(head("POST", "Content-Length: 100\r\n") + "x");
    client.half_close();
    assert_eq!(client.response().status, 405);
    client.assert_closed();
}

#[test]
fn a_body_that_trickles_holds_its_connection_for_seconds_whatever_the_least_rate_is() {
    let flags = ["--send-timeout", "1h", "--min-rate", "0", "--idle-timeout", "1h"];
    let server = Server::builtin(&flags);
    let clients = bodies().map(|(field, body)| {
        let mut client = server.connect();
        client.send(head("POST", &field) + &body[..1]);
        assert_eq!(client.response().status, 405, "{field}");
        client
    });
    clients.into_iter().for_each(|mut client| client.assert_closed());
}

#[test]
fn http_1_0_and_close_end_the_connection_as_without_a_body() {
    let server = Server::builtin(&[]);
    let body = format!("Content-Length: {}\r\n\r\n{HIDDEN}", HIDDEN.len());
    for request in [
        format!("GET / HTTP/1.0\r\n{body}"),
        format!("POST / HTTP/1.1\r\nHost: weir\r\nConnection: close\r\n{body}"),
    ] {
        let mut client = server.connect();
        client.send(&request);
        assert_eq!(client.response().field("Connection"), Some("close"), "{request}");
        client.assert_closed();
    }
    let mut client = server.connect();
    client.send(format!("GET / HTTP/1.0\r\nConnection: keep-alive\r\n{body}"));
    assert_eq!(client.response().field("Connection"), Some("keep-alive"));
    assert_in_step(&mut client);
}

#[test]
fn curl_uploads_what_nobody_wants_and_asks_again_on_the_same_connection() {
    let site = tempfile::tempdir().unwrap();
    fs::write(site.path().join("page"), "page").unwrap();
    let server = Server::of(site.path(), &[]);
    for (size, connections) in [(1000, "1 0"), (3_000_000, "1 1")] {
        let upload = site.path().join("upload");
        fs::write(&upload, vec![b'x'; size]).unwrap();
        let mut command = tool("curl", "curl");
        let url = format!("http://{}/page", server.address());
        let told = ["-q", "--noproxy", "*", "-sS", "--max-time", "60", "-o", "/dev/null"];
        let each = ["-w", "%{http_code} %{num_connects}\n"];
        let data = format!("@{}", upload.display());
        command.args(told).args(each).args(["--data-binary", &data, &url]).arg("--next");
        command.args(told).args(each).arg(&url);
        let said = output_of(command);
        let counts: Vec<&str> = connections.split(' ').collect();
        assert_eq!(said, format!("405 {}\n200 {}\n", counts[0], counts[1]), "{size} bytes");
    }
}

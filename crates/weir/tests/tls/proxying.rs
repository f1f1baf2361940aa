//! Bodies of requests and switched protocols come to backends through TLS as they do in clear text.

use std::io::{Read, Write};
use std::sync::Arc;

use crate::authority::{Authority, Kind};
use crate::secure_client::{SecureClient, config};
use crate::support::{Backend, Barrier, Server, Then, noise};

fn before(authority: &Authority, backend: &Backend, flags: &[&str]) -> (Server, SecureClient) {
    let files = authority.files(Kind::P256, &["a.test"]);
    let server = Server::before(backend, &[&files.flags()[..], flags].concat());
    let config = Arc::new(config(authority, None));
    let client = SecureClient::connect(&config, server.address(), "a.test").expect("a session");
    (server, client)
}

#[test]
fn a_body_is_passed_on_whole_and_asked_for_if_the_client_waits() {
    let authority = Authority::new();
    let backend = Backend::new(|call| {
        let length = call.asked.body.as_ref().map_or(0, Vec::len);
        call.ok(length.to_string())
    });
    for flags in [&[][..], &["--uplink", "1gbit"]] {
        let (_server, mut client) = before(&authority, &backend, flags);
        for size in [10, 100_000, 3_000_000] {
            let head = format!("POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: {size}\r\n");
            client
                .stream
                .write_all(format!("{head}Expect: 100-continue\r\n\r\n").as_bytes())
                .unwrap();
            let mut interim = [0; b"HTTP/1.1 100 Continue\r\n\r\n".len()];
            client.stream.read_exact(&mut interim).unwrap();
            assert_eq!(&interim, b"HTTP/1.1 100 Continue\r\n\r\n");
            client.stream.write_all(&noise(size as u64, size)).unwrap();
            let (head, body) = client.ask("").unwrap();
            assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
            assert_eq!(String::from_utf8(body).unwrap(), size.to_string());
            let asked = backend.requests().pop().unwrap();
            assert!(asked.body == Some(noise(size as u64, size)), "{size}");
        }
    }
}

/// A record whose end waited for the next piece could not be read before that came.
#[test]
fn a_piece_comes_whole_before_the_backend_sends_another() {
    const LAST: u8 = 1;
    let authority = Authority::new();
    // Longer than what the kernel takes at first: some end in the middle of a record.
    for length in (20_000..400_000).step_by(10_000) {
        let got = Barrier::default();
        let has_got = got.clone();
        let backend = Backend::new(move |call| {
            call.send("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n");
            call.send([vec![0; length], vec![LAST]].concat());
            has_got.pass();
            call.send("more");
            Then::Close
        });
        let (_server, mut client) = before(&authority, &backend, &[]);
        client.stream.write_all(b"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n").unwrap();
        let mut room = vec![0; 65_536];
        loop {
            let count = client.stream.read(&mut room).unwrap();
            assert!(count > 0, "the end of {length} bytes is missing");
            if room[..count].contains(&LAST) {
                break;
            }
        }
        got.open(1);
        assert!(client.stream.read(&mut room).unwrap() > 0);
    }
}

#[test]
fn a_switched_protocol_carries_bytes_both_ways_until_an_end_closes() {
    let authority = Authority::new();
    let backend = Backend::new(|call| {
        call.send(
            "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
        );
        while let Some(bytes) = call.some_bytes() {
            call.send(bytes);
        }
        call.send("heard");
        Then::Close
    });
    let (_server, mut client) = before(&authority, &backend, &[]);
    let offer =
        "GET /ws HTTP/1.1\r\nHost: a.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";
    let (head, _) = client.ask(offer).unwrap();
    assert!(head.starts_with("HTTP/1.1 101 "), "{head}");
    for size in [1, 1000, 200_000] {
        let sent = noise(size as u64, size);
        client.stream.write_all(&sent).unwrap();
        let mut back = vec![0; size];
        client.stream.read_exact(&mut back).unwrap();
        assert!(back == sent, "{size}");
    }
    // Its side alone, together with its last bytes: what follows still comes, and then the end is told.
    client.stream.conn.writer().write_all(b"last ").unwrap();
    client.stream.conn.send_close_notify();
    client.stream.flush().unwrap();
    let mut rest = Vec::new();
    client.stream.read_to_end(&mut rest).unwrap();
    assert_eq!(rest, b"last heard");
}

//! Shows that over TLS a backend gets and gives what it does in clear text: kept connections, bodies,
//! interim answers, switched protocols, and departures of clients.

use std::time::Duration;

use crate::authority::Authority;
use crate::certificates::ADDRESS;
use crate::support::{Barrier, Then, eventually, noise};
use crate::tls_backend::{backend, behind_weir, config, with_flags};

/// The ways a server sends: at once, and over the uplink's gate.
const WAYS: [&[&str]; 2] = [&[], &["--uplink", "1gbit"]];

#[test]
fn a_connection_is_kept_for_the_next_request() {
    let authority = Authority::new();
    let config = config(&authority.issue(&[ADDRESS]), None);
    let (backend, handshakes) = backend(&config, |call| call.ok(call.asked.target()));
    let server = with_flags(&backend, &authority, &["--workers", "1"]);
    for path in ["/a", "/b", "/c"] {
        assert_eq!(server.get(path).text(), path);
    }
    assert_eq!((backend.connections(), handshakes.all().len()), (1, 1));
}

#[test]
fn an_idle_connection_is_closed_as_tls_closes_it() {
    let closed = Barrier::default();
    let tell = closed.clone();
    let (_backend, server) = behind_weir("keep_alive = \"50ms\"\n", move |call| {
        call.ok("");
        if call.ends_well() {
            tell.open(1);
        }
        Then::Close
    });
    assert_eq!(server.get("/").status, 200);
    closed.pass();
}

#[test]
fn bodies_of_any_size_go_both_ways() {
    let (backend, server) = behind_weir("", |call| {
        let body = call.asked.body.clone().unwrap_or_default();
        if call.asked.target() == "/length" {
            return call.ok(body);
        }
        call.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
        for piece in body.chunks(50_000) {
            call.send(format!("{:x}\r\n", piece.len()));
            call.send(piece);
            call.send("\r\n");
        }
        call.send("0\r\nX-Sum: 42\r\n\r\n");
        Then::Keep
    });
    let mut client = server.connect();
    for size in [0, 1, 16_384, 16_385, 5_000_000] {
        let body = noise(size as u64, size);
        for path in ["/length", "/chunks"] {
            client.send(format!(
                "POST {path} HTTP/1.1\r\nHost: weir\r\nContent-Length: {size}\r\n\r\n"
            ));
            let mut sending = client.stream.try_clone().expect("a descriptor");
            let whole = body.clone();
            let sent = std::thread::spawn(move || std::io::Write::write_all(&mut sending, &whole));
            let answer = client.response();
            sent.join().expect("it does not panic").expect("the body is sent");
            assert!(answer.status == 200 && answer.body == body, "{size} bytes to {path}");
        }
    }
    assert!(backend.requests().iter().all(|asked| asked.body.is_some()));
}

#[test]
fn who_waits_to_be_asked_is_asked_and_hints_are_passed_on() {
    let (backend, server) = behind_weir("", |call| {
        call.send("HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n");
        call.ok("thanks")
    });
    let mut client = server.connect();
    client
        .send("POST / HTTP/1.1\r\nHost: weir\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n");
    assert_eq!(client.head().status, 100);
    client.send("hello");
    let early = client.head();
    assert_eq!((early.status, early.field("Link")), (103, Some("</a.css>; rel=preload")));
    assert_eq!(client.response().text(), "thanks");
    assert_eq!(backend.only().body.as_deref(), Some(&b"hello"[..]));
}

const OFFER: &str = "Connection: Upgrade\r\nUpgrade: websocket\r\n";

const SWITCH: &str = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n\
                      Upgrade: websocket\r\n\r\n";

/// What waited in memory for the next message would not come before it.
#[test]
fn a_message_comes_whole_before_the_client_sends_another() {
    let (_backend, server) = behind_weir("", |call| {
        let length: usize = call.asked.target()[1..].parse().expect("a length");
        call.send(SWITCH);
        // Its buffers are full before it reads.
        std::thread::sleep(Duration::from_millis(50));
        let mut left = length;
        while left > 0 {
            let Some(bytes) = call.some_bytes() else { return Then::Close };
            left -= bytes.len().min(left);
        }
        call.send("heard");
        Then::Close
    });
    // Longer than what the kernel takes at first: some end in the middle of a record.
    for length in (50_000..1_500_000).step_by(50_000) {
        let mut client = server.connect();
        client.send(format!("GET /{length} HTTP/1.1\r\nHost: weir\r\n{OFFER}\r\n"));
        assert_eq!(client.head().status, 101);
        client.send(noise(8, length));
        assert_eq!(client.read(5), b"heard", "{length}");
    }
}

#[test]
fn a_switched_protocol_carries_bytes_both_ways_until_either_end_closes() {
    let closed = Barrier::default();
    let tell = closed.clone();
    let authority = Authority::new();
    let (backend, _) = backend(&config(&authority.issue(&[ADDRESS]), None), move |call| {
        call.send([SWITCH.as_bytes(), b"at once "].concat());
        if call.asked.target() == "/ends" {
            return Then::Close;
        }
        while let Some(bytes) = call.some_bytes() {
            call.send(bytes);
        }
        tell.open(1);
        call.send("heard");
        Then::Close
    });
    for flags in WAYS {
        let server = with_flags(&backend, &authority, flags);
        let switch = |path: &str| {
            let mut client = server.connect();
            client.send(format!("GET {path} HTTP/1.1\r\nHost: weir\r\n{OFFER}\r\n"));
            assert_eq!(client.head().status, 101);
            assert_eq!(client.read(8), b"at once ");
            client
        };
        let mut client = switch("/ws");
        for size in [1, 1000, 300_000] {
            client.send(noise(size as u64, size));
            assert!(client.read(size) == noise(size as u64, size), "{size}");
        }
        // One side only.
        client.half_close();
        closed.pass();
        assert_eq!(client.rest(), b"heard");
        assert_eq!(switch("/ends").rest(), b"");
        drop(switch("/leaves"));
        closed.pass();
        eventually("all are gone", || server.metrics().sum("weir_connections") == 0.0);
    }
}

#[test]
fn a_client_that_leaves_ends_the_call_of_a_backend_that_cancels() {
    let told = Barrier::default();
    let tell = told.clone();
    let keys = "cancels_on_disconnect = true\nbackend_limit = 1\n";
    let (backend, server) = behind_weir(keys, move |call| {
        if call.asked.target() == "/next" {
            return call.ok("next");
        }
        // The end of weir's side is one of TLS, too.
        if call.ends_well() {
            tell.open(1);
        }
        Then::Close
    });
    let mut leaving = server.connect();
    leaving.ask("/first");
    backend.wait_for_requests(1);
    drop(leaving);
    told.pass();
    assert_eq!(server.get("/next").text(), "next");
    server.wait_for_metric("weir_backend_under_way", 0.0);
}

#[test]
fn health_is_checked_over_tls() {
    let keys = "[route.health]\npath = \"/check\"\ninterval = \"20ms\"\nhealthy = 1\n";
    let (backend, server) = behind_weir(keys, |call| call.ok(call.asked.target()));
    let checks = backend.wait_for_requests(2);
    assert!(checks.iter().all(|asked| asked.target() == "/check"), "{checks:?}");
    assert_eq!(server.metrics().sum("weir_backend_up"), 1.0);
    assert!(backend.url.ends_with(checks[0].fields("Host")[0]), "{checks:?}");
}

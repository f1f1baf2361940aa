//! Shows that a connection whose protocol is switched carries bytes both ways until either end
//! closes, and that nothing else becomes such a connection.

use crate::support::{Backend, Barrier, Server, Then, eventually, noise};

const OFFER: &str = "Connection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n";

const SWITCH: &str = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n\
                      Upgrade: websocket\r\nX-Accept: yes\r\n\r\n";

/// The ways a server sends: at once, and over the uplink's gate.
const WAYS: [&[&str]; 2] = [&[], &["--uplink", "1gbit"]];

#[test]
fn bytes_go_both_ways_those_with_the_heads_too() {
    let backend = Backend::new(|call| {
        call.send([SWITCH.as_bytes(), b"at once "].concat());
        while let Some(bytes) = call.some_bytes() {
            call.send(bytes);
        }
        Then::Close
    });
    for flags in WAYS {
        let server = Server::before(&backend, flags);
        let mut client = server.connect();
        client.send(format!("GET /ws HTTP/1.1\r\nHost: weir\r\n{OFFER}\r\nwith the head"));
        let switched = client.head();
        assert_eq!((switched.status, switched.field("X-Accept")), (101, Some("yes")));
        assert_eq!(switched.field("Upgrade"), Some("websocket"));
        assert_eq!(client.read(21), b"at once with the head");
        for size in [1, 1000, 300_000] {
            client.send(noise(size as u64, size));
            assert!(client.read(size) == noise(size as u64, size), "{size}");
        }
        // What looks like a request is not one.
        client.send("GET /x HTTP/1.1\r\nHost: weir\r\n\r\n");
        assert_eq!(client.read(31), b"GET /x HTTP/1.1\r\nHost: weir\r\n\r\n");
    }
    let asked = backend.requests();
    assert_eq!(asked.len(), WAYS.len());
    assert_eq!(asked[0].fields("Upgrade"), ["websocket"]);
    let connection = asked[0].fields("Connection").join(", ").to_ascii_lowercase();
    assert_eq!(connection, "upgrade", "and nothing of the client's own connection");
}

#[test]
fn either_end_hears_that_the_other_has_closed() {
    let closed = Barrier::default();
    let tell = closed.clone();
    let backend = Backend::new(move |call| {
        call.send(SWITCH);
        if call.asked.target() == "/ends" {
            call.send("the end");
            return Then::Close;
        }
        call.until_closed();
        tell.open(1);
        call.send("heard");
        Then::Close
    });
    for flags in WAYS {
        let server = Server::before(&backend, flags);
        let switch = |path: &str| {
            let mut client = server.connect();
            client.ask_with(path, OFFER);
            assert_eq!(client.head().status, 101);
            client
        };
        assert_eq!(switch("/ends").rest(), b"the end");
        drop(switch("/leaves"));
        closed.pass();
        switch("/breaks").reset();
        closed.pass();
        // One side only.
        let mut half = switch("/half");
        half.half_close();
        closed.pass();
        assert_eq!(half.rest(), b"heard");
        drop(half);
        eventually("all are gone", || server.metrics().sum("weir_connections") == 0.0);
    }
}

#[test]
fn an_open_one_holds_no_slot_and_is_not_waited_for() {
    let backend = Backend::new(|call| match call.asked.target() {
        "/ws" => {
            call.send(SWITCH);
            call.until_closed();
            Then::Close
        }
        _ => call.ok("free"),
    });
    let server = Server::before(&backend, &["--backend-limit", "1", "--stop-timeout", "100ms"]);
    let mut open: Vec<_> = (0..3).map(|_| server.connect()).collect();
    for client in &mut open {
        client.ask_with("/ws", OFFER);
        assert_eq!(client.head().status, 101);
    }
    assert_eq!(server.get("/").text(), "free");
    server.wait_for_metric("weir_backend_under_way", 0.0);
    assert!(server.stop().success());
}

#[test]
fn a_backend_that_does_not_switch_answers_as_ever() {
    let backend = Backend::new(|call| {
        call.send("HTTP/1.1 426 No\r\nUpgrade: other\r\nConnection: Upgrade\r\nContent-Length: 3\r\n\r\nno!");
        Then::Keep
    });
    let server = Server::before(&backend, &[]);
    let mut client = server.connect();
    for _ in 0..2 {
        let answer = client.get_with("/ws", OFFER);
        assert_eq!((answer.status, answer.text().as_str()), (426, "no!"));
    }
}

#[test]
fn nothing_is_switched_that_was_not_offered() {
    let backend = Backend::new(|call| {
        call.send(SWITCH);
        call.until_closed();
        Then::Close
    });
    let server = Server::before(&backend, &[]);
    for (what, request) in [
        ("nothing offered", "GET / HTTP/1.1\r\nHost: weir\r\n\r\n"),
        ("not named in Connection", "GET / HTTP/1.1\r\nHost: weir\r\nUpgrade: websocket\r\n\r\n"),
        (
            "another protocol",
            "GET / HTTP/1.1\r\nHost: weir\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n",
        ),
        (
            "HTTP/2, which hides requests",
            "GET / HTTP/1.1\r\nHost: weir\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n",
        ),
    ] {
        let mut client = server.connect();
        client.send(request);
        assert_eq!(client.response().status, 502, "{what}");
    }
    server.wait_for_metric("weir_backend_under_way", 0.0);
    let offers =
        backend.requests().iter().filter(|asked| !asked.fields("Upgrade").is_empty()).count();
    assert_eq!(offers, 1, "only x was passed on");
}

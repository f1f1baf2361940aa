//! Shows that what goes wrong over TLS is a clear answer for the client and a clear line in the log, and
//! holds up nobody else.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;

use crate::authority::{Authority, Kind};
use crate::certificates::ADDRESS;
use crate::support::{Backend, Barrier, Server, Then, eventually, route};
use crate::tls_backend::{backend, backend_after, behind_weir, config, with_flags};

/// Waits until the log says `words` of `backend`.
#[track_caller]
fn wait_for_words(server: &Server, backend: &str, words: &str) {
    eventually(&format!("{words:?} in the log"), || {
        server.log().iter().any(|line| line.contains(backend) && line.contains(words))
    });
}

/// A port at which `answer` deals with each connection, and its URL.
fn port(answer: impl Fn(std::net::TcpStream) + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("https://{}", listener.local_addr().expect("its address"));
    thread::spawn(move || listener.incoming().flatten().for_each(answer));
    url
}

#[test]
fn the_end_of_an_answer_without_a_length_must_be_one_of_tls() {
    for (then, whole) in [(Then::Close, true), (Then::Cut, false), (Then::Reset, false)] {
        let barrier = Barrier::default();
        let passed_on = barrier.clone();
        let (_backend, server) = behind_weir("", move |call| {
            call.send("HTTP/1.1 200 OK\r\n\r\nbegun");
            passed_on.pass();
            then
        });
        let mut client = server.connect();
        client.ask_with("/", "Connection: close\r\n");
        assert_eq!(client.head().status, 200);
        barrier.open(1);
        let rest = String::from_utf8(client.rest()).expect("text");
        assert_eq!(
            rest.contains("begun") && rest.ends_with("0\r\n\r\n"),
            whole,
            "{then:?}: {rest}"
        );
        // One whose client would take the end of the connection for that of the body.
        let mut old = server.connect();
        old.send("GET / HTTP/1.0\r\n\r\n");
        assert_eq!(old.head().status, 200);
        barrier.open(1);
        match whole {
            true => assert_eq!(old.rest(), b"begun"),
            false => old.assert_reset(),
        }
    }
}

#[test]
fn an_answer_with_a_length_is_whole_however_the_connection_ends() {
    let (_backend, server) = behind_weir("", |call| {
        call.ok("whole");
        Then::Cut
    });
    for _ in 0..3 {
        assert_eq!(server.get("/").text(), "whole");
    }
}

#[test]
fn a_switched_protocol_that_is_cut_is_a_reset_for_its_client() {
    let (_backend, server) = behind_weir("", |call| {
        call.send("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n");
        call.some_bytes();
        Then::Cut
    });
    let mut client = server.connect();
    client.ask_with("/", "Connection: Upgrade\r\nUpgrade: x\r\n");
    assert_eq!(client.head().status, 101);
    client.send("go");
    client.assert_reset();
}

#[test]
fn a_slow_handshake_delays_its_own_request_alone() {
    let authority = Authority::new();
    let config = config(&authority.issue(&[ADDRESS]), None);
    let barrier = Barrier::default();
    let pass = barrier.clone();
    let (slow, _) =
        backend_after(&config, move || pass.pass(), |call| call.ok(call.asked.target()));
    let (quick, _) = backend(&config, |call| call.ok(call.asked.target()));
    let ca = authority.as_ca();
    let to = |path: &str, backend: &Backend| format!("{}{ca}", route(path, &[&backend.url]));
    let text = format!("{}{}", to("/slow", &slow), to("/", &quick));
    let server = Server::configured(&text, &["--workers", "1"]);
    let mut waiting = server.connect();
    waiting.ask("/slow");
    server.wait_for_metric("weir_backend_under_way", 1.0);
    for _ in 0..3 {
        assert_eq!(server.get("/quick").text(), "/quick");
    }
    assert!(!waiting.has_answer());
    barrier.open(1);
    assert_eq!(waiting.response().text(), "/slow");
}

#[test]
fn a_handshake_that_never_ends_takes_no_longer_than_connecting_may() {
    // The kernel accepts, and nobody reads.
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("https://{}", silent.local_addr().expect("its address"));
    let authority = Authority::new();
    let keys = format!("{}connect_timeout = \"100ms\"\nretries = 0\n", authority.as_ca());
    let server = Server::routed(&[&url], &keys);
    let status = server.get("/").status;
    assert!(matches!(status, 502 | 504), "{status}");
    wait_for_words(&server, &url, "cannot be reached: timed out");
    server.wait_for_metric("weir_backend_under_way", 0.0);
}

#[test]
fn a_client_that_leaves_within_the_handshake_gives_its_slot_back() {
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("https://{}", silent.local_addr().expect("its address"));
    let authority = Authority::new();
    let server = Server::routed(&[&url], &authority.as_ca());
    let mut leaving = server.connect();
    leaving.ask("/");
    server.wait_for_metric("weir_backend_under_way", 1.0);
    drop(leaving);
    server.wait_for_metric("weir_backend_under_way", 0.0);
}

#[test]
fn what_does_not_speak_tls_is_said_not_to() {
    let authority = Authority::new();
    let (clear, closing) = (
        port(|mut stream| {
            let _ = stream.read(&mut [0; 1024]);
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
            // It closes once weir has: with something unread the answer could be lost.
            let _ = stream.read_to_end(&mut Vec::new());
        }),
        port(|mut stream| {
            let _ = stream.read(&mut [0; 1024]);
            let _ = stream.shutdown(std::net::Shutdown::Write);
            let _ = stream.read_to_end(&mut Vec::new());
        }),
    );
    for (url, words) in [
        (clear, "it does not speak TLS on this port"),
        (closing, "it closed the connection within the handshake of TLS"),
    ] {
        let mut server = Server::routed(&[&url], &authority.as_ca());
        let mut client = server.connect();
        for _ in 0..2 {
            assert_eq!(client.get("/").status, 502, "and the connection goes on");
        }
        wait_for_words(&server, &url, words);
        server.wait_for_metric("weir_backend_under_way", 0.0);
        server.assert_alive();
    }
}

#[test]
fn a_request_that_one_backend_must_not_see_goes_to_another() {
    let authority = Authority::new();
    let expired = config(&authority.issue_kind(Kind::Expired, &[ADDRESS]), None);
    let (bad, _) = backend(&expired, |call| call.ok("bad"));
    let (good, _) = backend(&config(&authority.issue(&[ADDRESS]), None), |call| call.ok("good"));
    let keys = format!("{}max_fails = 3\n", authority.as_ca());
    let server = Server::routed(&[&bad.url, &good.url], &keys);
    for _ in 0..10 {
        let mut client = server.connect();
        client.send("POST / HTTP/1.1\r\nHost: weir\r\nContent-Length: 2\r\n\r\nab");
        assert_eq!(client.response().text(), "good");
    }
    assert!(bad.requests().is_empty());
    wait_for_words(&server, &bad.url, "marked unhealthy: calls fail, the last: cannot be reached");
    server.wait_for_metric("weir_backend_up", 1.0);
}

#[test]
fn a_check_says_what_is_wrong_with_a_certificate() {
    let authority = Authority::new();
    let expired = config(&authority.issue_kind(Kind::Expired, &[ADDRESS]), None);
    let (bad, _) = backend(&expired, |call| call.ok("bad"));
    let keys = format!("{}[route.health]\ninterval = \"20ms\"\n", authority.as_ca());
    let server = Server::routed(&[&bad.url], &keys);
    wait_for_words(&server, &bad.url, "its certificate expired on Thu, 02 Jan 2020");
    server.wait_for_metric("weir_backend_up", 0.0);
}

#[test]
fn a_kept_connection_that_was_cut_is_replaced() {
    let cut = Barrier::default();
    let may_cut = cut.clone();
    let authority = Authority::new();
    let config = config(&authority.issue(&[ADDRESS]), None);
    let (backend, _) = backend(&config, move |call| {
        call.ok(call.asked.target());
        if call.asked.connection > 0 {
            return Then::Keep;
        }
        may_cut.pass();
        Then::Cut
    });
    let server = with_flags(&backend, &authority, &["--workers", "1"]);
    assert_eq!(server.get("/first").text(), "/first");
    cut.open(1);
    for _ in 0..5 {
        assert_eq!(server.get("/next").text(), "/next");
    }
    assert_eq!(backend.connections(), 2);
}

//! Shows that clients that take too long are let go: in a head, between requests, while reading.

use std::io::ErrorKind;
use std::time::Duration;

use crate::support::{Client, Server, eventually};

#[test]
fn half_a_head_is_answered_with_408() {
    let mut server = Server::builtin(&["--header-timeout", "300ms"]);
    let mut client = server.connect();
    client.send("GET / HTTP/1.1\r\nHost: we");
    let answer = client.response();
    assert_eq!((answer.status, answer.field("Connection")), (408, Some("close")));
    client.assert_closed();
    // The second request of a connection is no different.
    let mut client = server.connect();
    assert_eq!(client.get("/").status, 200);
    client.send("GET");
    assert_eq!(client.response().status, 408);
    server.assert_alive();
}

#[test]
fn a_head_that_trickles_is_cut_however_steadily_it_comes() {
    let server = Server::builtin(&["--header-timeout", "300ms"]);
    let mut client = server.connect();
    client.stream.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
    client.send("GET / HTTP/1.1\r\nHost: weir\r\nX: ");
    let mut bytes = 0;
    let answer = loop {
        // After the end of the head's time the server closes, whatever still comes.
        let _ = client.try_send("x");
        bytes += 1;
        match client.try_response() {
            Ok(answer) => break answer,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            Err(error) => panic!("after {bytes} bytes: {error}"),
        }
        assert!(bytes < 1500, "a trickle is let go on");
    };
    assert_eq!(answer.status, 408);
}

#[test]
fn idle_connections_are_closed_without_a_word() {
    let server = Server::builtin(&["--idle-timeout", "300ms"]);
    let mut new = server.connect();
    let mut used = server.connect();
    assert_eq!(used.get("/").status, 200);
    new.assert_closed();
    used.assert_closed();
}

#[test]
fn a_client_that_takes_nothing_is_let_go() {
    for flags in [&["--send-timeout", "1s"][..], &["--send-timeout", "1s", "--uplink", "1gbit"]] {
        let mut server = Server::builtin(flags);
        let mut client = Client::with_small_buffer(server.address());
        client.ask("/files/1gb.bin");
        server.wait_for_metric("weir_incomplete_responses_total", 1.0);
        eventually("the connection is gone", || server.metrics().sum("weir_connections") == 0.0);
        assert!(client.rest().len() < 1_000_000_000);
        server.assert_alive();
    }
}

//! Shows how the server ends: responses under way go on, everything else is closed.

mod support;

use std::io::ErrorKind;
use std::net::TcpStream;
use std::time::Duration;

use rustix::process::Signal;
use support::{Client, Server, eventually};

fn wait_until_stopping(server: &Server) {
    eventually("the server has heard of it", || {
        server.log().iter().any(|line| line.contains("stopping"))
    });
}

#[test]
fn both_signals_end_it_with_success() {
    for signal in [Signal::TERM, Signal::INT] {
        for flags in [&[][..], &["--uplink", "10mbit", "--workers", "3"]] {
            let mut server = Server::builtin(flags);
            assert_eq!(server.get("/").status, 200);
            server.signal(signal);
            assert_eq!(server.wait().code(), Some(0), "{signal:?}");
        }
    }
}

#[test]
fn idle_connections_are_closed_and_responses_under_way_are_sent() {
    for flags in [&["--workers", "2"][..], &["--uplink", "50mbit"]] {
        let mut server = Server::builtin(flags);
        let mut unused = server.connect();
        let mut used = server.connect();
        assert_eq!(used.get("/").status, 200);
        let mut busy = Client::with_small_buffer(server.address());
        busy.ask("/files/10mb.bin");
        assert_eq!(busy.head().status, 200);
        // A request that has begun is answered as well, and is the last of its connection.
        let mut asking = server.connect();
        asking.send("GET / HTTP/1.1\r\nHo");
        server.wait_for_metric("weir_connections", 5.0);
        server.signal(Signal::TERM);
        unused.assert_closed();
        used.assert_closed();
        drop((unused, used));
        asking.send("st: weir\r\n\r\n");
        let answer = asking.response();
        assert_eq!((answer.status, answer.field("Connection")), (200, Some("close")));
        asking.assert_closed();
        drop(asking);
        assert_eq!(busy.read(10_000_000).len(), 10_000_000);
        busy.assert_closed();
        drop(busy);
        assert_eq!(server.wait().code(), Some(0));
    }
}

/// A client that comes while the server stops must not wait for an answer that never comes.
#[test]
fn new_connections_are_refused_while_it_stops() {
    for workers in ["1", "2"] {
        let mut server = Server::builtin(&["--workers", workers, "--stop-timeout", "1h"]);
        let mut busy = Client::with_small_buffer(server.address());
        busy.ask("/files/10mb.bin");
        assert_eq!(busy.head().status, 200);
        server.signal(Signal::TERM);
        wait_until_stopping(&server);
        eventually("connections are refused", || {
            let refused = TcpStream::connect_timeout(&server.address(), Duration::from_secs(1));
            refused.is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused)
        });
        assert_eq!(busy.read(10_000_000).len(), 10_000_000);
        drop(busy);
        assert_eq!(server.wait().code(), Some(0));
    }
}

#[test]
fn a_client_that_never_reads_delays_the_end_no_longer_than_the_time_out() {
    for flags in
        [&["--stop-timeout", "300ms"][..], &["--stop-timeout", "300ms", "--uplink", "1gbit"]]
    {
        let mut server = Server::builtin(flags);
        let mut stuck = Client::with_small_buffer(server.address());
        stuck.ask("/files/1gb.bin");
        assert_eq!(stuck.head().status, 200);
        server.signal(Signal::TERM);
        assert_eq!(server.wait().code(), Some(0));
        assert!(stuck.rest().len() < 1_000_000_000);
    }
}

#[test]
fn a_second_signal_ends_it_at_once() {
    // A day is longer than this test waits.
    let mut server = Server::builtin(&["--stop-timeout", "1d", "--send-timeout", "1d"]);
    let mut stuck = Client::with_small_buffer(server.address());
    stuck.ask("/files/1gb.bin");
    assert_eq!(stuck.head().status, 200);
    server.signal(Signal::TERM);
    wait_until_stopping(&server);
    server.signal(Signal::TERM);
    assert_eq!(server.wait().code(), Some(0));
    assert!(stuck.rest().len() < 1_000_000_000);
}

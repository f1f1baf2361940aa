//! Shows how the server ends: responses under way go on, everything else is closed.

use std::fs;
use std::io::ErrorKind;
use std::net::TcpStream;
use std::time::Duration;

use crate::support::{Backend, Client, Server, Then, eventually};
use rustix::process::Signal;

fn wait_until_stopping(server: &Server) {
    eventually("the server has heard of it", || {
        server.log().iter().any(|line| line.contains("stopping"))
    });
}

/// Longer than any test waits.
const NEVER: &str = "1d";

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
        server.wait_for_metric("weir_connections", 4.0);
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

/// Clients keep connections for their next request: the server does not wait for them to close, and
/// has not cut anything by closing.
#[test]
fn connections_that_are_owed_nothing_are_not_waited_for() {
    for flags in [&["--workers", "2"][..], &["--uplink", "50mbit"]] {
        let mut server = Server::builtin(&[flags, &["--stop-timeout", NEVER]].concat());
        let mut kept: Vec<Client> = (0..6).map(|_| server.connect()).collect();
        for client in &mut kept[1..3] {
            assert_eq!(client.get("/files/1kb.bin").status, 200);
        }
        kept[3].send("nonsense\r\n\r\n");
        assert_eq!(kept[3].response().status, 400);
        kept[4].send("POST / HTTP/1.1\r\nHost: weir\r\nContent-Length: 9\r\n\r\na");
        assert_eq!(kept[4].response().status, 405);
        let last = "GET /files/1kb.bin HTTP/1.1\r\nHost: weir\r\nConnection: close\r\n\r\n";
        kept[5].send(last);
        assert_eq!(kept[5].response().status, 200);
        server.signal(Signal::TERM);
        assert_eq!(server.wait().code(), Some(0));
        assert!(!server.log().iter().any(|line| line.contains("cut")), "{:#?}", server.log());
    }
}

/// Those whom the kernel has let in, and the server has not, would get a reset.
#[test]
fn connections_that_wait_to_be_accepted_are_served() {
    let mut server = Server::builtin(&["--workers", "1", "--stop-timeout", NEVER]);
    server.signal(Signal::STOP);
    let mut clients: Vec<Client> = (0..300).map(|_| server.connect()).collect();
    for client in &mut clients {
        client.ask("/files/1kb.bin");
    }
    server.signal(Signal::TERM);
    server.signal(Signal::CONT);
    for client in &mut clients {
        assert_eq!(client.response().status, 200);
    }
    assert_eq!(server.wait().code(), Some(0));
}

/// Balancers hear that the server is about to stop while it still serves everybody.
#[test]
fn readiness_goes_before_listening() {
    let mut server = Server::builtin(&["--stop-delay", NEVER]);
    let mut kept = server.connect();
    assert_eq!(kept.get("/").status, 200);
    let ready = |server: &Server| Client::connect(server.admin()).get("/readyz").status;
    assert_eq!(ready(&server), 200);
    server.signal(Signal::TERM);
    eventually("it is not ready", || ready(&server) == 503);
    let answer = kept.get("/");
    assert_eq!((answer.status, answer.field("Connection")), (200, None));
    assert_eq!(server.get("/").status, 200);
    // Who does not want to wait says so again.
    server.signal(Signal::TERM);
    kept.assert_closed();
    assert_eq!(server.wait().code(), Some(0));
}

/// The kernel keeps connections back until their requests come, but not when it would soon reset them.
#[test]
fn who_connects_before_the_listener_closes_may_still_ask() {
    let mut server = Server::builtin(&["--workers", "2", "--stop-delay", NEVER]);
    server.signal(Signal::TERM);
    let ready = |server: &Server| Client::connect(server.admin()).get("/readyz").status;
    eventually("it is not ready", || ready(&server) == 503);
    let mut late = server.connect();
    server.signal(Signal::TERM);
    eventually("connections are refused", || TcpStream::connect(server.address()).is_err());
    late.ask("/");
    assert_eq!(late.response().status, 200);
    assert_eq!(server.wait().code(), Some(0));
}

#[test]
fn a_successor_listens_beside_and_takes_over() {
    let shared = ["--reuse-port", "--workers", "1", "--stop-timeout", NEVER];
    let mut old = Server::builtin(&shared);
    let (address, admin) = (old.address(), old.admin());
    let mut busy = Client::with_small_buffer(address);
    busy.ask("/files/10mb.bin");
    assert_eq!(busy.head().status, 200);
    let at = [address.to_string(), admin.to_string()];
    let successor =
        Server::builtin(&[&shared[..], &["--listen", &at[0], "--admin", &at[1]]].concat());
    assert_eq!((successor.address(), successor.admin()), (address, admin));
    old.signal(Signal::TERM);
    wait_until_stopping(&old);
    eventually("only the successor is asked", || {
        (0..50).all(|_| Client::connect(admin).get("/readyz").status == 200)
    });
    for _ in 0..50 {
        let answer = Client::connect(address).get("/");
        assert_eq!((answer.status, answer.field("Connection")), (200, None));
    }
    assert_eq!(busy.read(10_000_000).len(), 10_000_000);
    assert_eq!(old.wait().code(), Some(0));
    assert_eq!(successor.stop().code(), Some(0));
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

#[test]
fn what_is_cut_is_in_the_access_log() {
    let backend = Backend::new(|call| {
        call.until_closed();
        Then::Close
    });
    let proxy = format!("/app={}", backend.url);
    for signals in [1, 2] {
        let directory = tempfile::tempdir().unwrap();
        let log = directory.path().join("access.log");
        let timeout = if signals == 1 { "300ms" } else { NEVER };
        let flags = ["--access-log", log.to_str().unwrap(), "--stop-timeout", timeout];
        let mut server = Server::of(directory.path(), &[&flags[..], &["--proxy", &proxy]].concat());
        fs::write(directory.path().join("large"), vec![0; 20_000_000]).unwrap();
        let mut stuck = Client::with_small_buffer(server.address());
        stuck.ask("/large");
        assert_eq!(stuck.head().status, 200);
        let mut waiting = server.connect();
        waiting.ask("/app");
        server.wait_for_metric("weir_backend_under_way", 1.0);
        server.signal(Signal::TERM);
        wait_until_stopping(&server);
        if signals == 2 {
            server.signal(Signal::TERM);
        }
        assert_eq!(server.wait().code(), Some(0));
        let log = fs::read_to_string(log).unwrap();
        let line = |part| log.lines().find(|line| line.contains(part)).unwrap_or(&log);
        let download = line("\"GET /large HTTP/1.1\" 200 ");
        let sent = download.split(' ').nth(9).and_then(|sent| sent.parse::<u64>().ok());
        assert!(sent.is_some_and(|sent| (1..20_000_000).contains(&sent)), "{download}");
        assert!(download.ends_with(" cut"), "{download}");
        let unanswered = line("\"GET /app HTTP/1.1\" 503 0 ");
        assert!(unanswered.ends_with(" cut"), "{unanswered}");
        let said = server.log().join("\n");
        assert!(said.contains("2 connections were cut"), "{said}");
    }
}

//! Shows that the uplink is never exceeded, who uses it, and what becomes of clients that leave.

use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::support::{Client, Server, eventually};

/// A client whose download is under way.
fn download(mut client: Client, path: &str) -> Client {
    client.ask(path);
    assert_eq!(client.head().status, 200);
    client
}

#[test]
fn a_client_that_leaves_while_it_waits_is_dropped_at_once() {
    // First come, first served: all others wait for the download of a quarter of an hour.
    let server = Server::builtin(&["--uplink", "1mbit", "--policy", "fifo"]);
    let mut large = download(server.connect(), "/files/100mb.bin");
    let mut waiting: Vec<Client> = (0..4).map(|_| server.connect()).collect();
    for client in &mut waiting {
        client.ask("/files/100kb.bin");
    }
    server.wait_for_metric("weir_uplink_waiting_jobs", 5.0);
    assert_eq!(server.metrics().sum("weir_uplink_dead_jobs_total"), 0.0);
    drop(waiting.pop());
    server.wait_for_metric("weir_uplink_dead_jobs_total", 1.0);
    waiting.pop().unwrap().reset();
    server.wait_for_metric("weir_uplink_dead_jobs_total", 2.0);
    // One more that has pipelined: its bytes are unread, its end is seen all the same.
    let mut pipelined = waiting.pop().unwrap();
    pipelined.ask("/files/1kb.bin");
    drop(pipelined);
    server.wait_for_metric("weir_uplink_dead_jobs_total", 3.0);
    server.wait_for_metric("weir_uplink_waiting_jobs", 2.0);
    large.read(50_000);
    assert_eq!(server.metrics().sum("weir_uplink_waiting_jobs"), 2.0);
    drop((large, waiting));
    server.wait_for_metric("weir_uplink_waiting_jobs", 0.0);
    eventually("all connections are gone", || server.metrics().sum("weir_connections") == 0.0);
}

#[test]
fn a_client_that_has_only_finished_sending_gets_its_whole_response() {
    let server = Server::builtin(&["--uplink", "2mbit", "--policy", "fair"]);
    let _large = download(server.connect(), "/files/100mb.bin");
    let mut clients: Vec<Client> = (0..3).map(|_| server.connect()).collect();
    for client in &mut clients {
        client.ask("/files/100kb.bin");
        client.ask("/files/1kb.bin");
        client.half_close();
    }
    for client in &mut clients {
        assert_eq!(client.response().body.len(), 100_000);
        assert_eq!(client.response().body.len(), 1000);
        client.assert_closed();
    }
    assert_eq!(server.metrics().sum("weir_uplink_dead_jobs_total"), 0.0);
}

#[test]
fn no_more_is_in_the_kernel_than_is_allowed() {
    let flags = ["--uplink", "1mbit", "--uplink-in-kernel", "100kb", "--policy", "srpt"];
    let server = Server::builtin(&flags);
    // Reads nothing, so what its buffers do not take stays here.
    let mut large = Client::with_small_buffer(server.address());
    large.ask("/files/100mb.bin");
    let in_flight = || server.metrics().sum("weir_uplink_bytes_in_flight");
    eventually("the kernel holds what it may", || in_flight() >= 100_000.0);
    // The last grant, a quarter, may have been given just below.
    assert!(in_flight() <= 125_000.0, "{}", in_flight());
    // Nobody else gets anything until the kernel has sent some of it.
    let mut small = server.connect();
    small.ask("/files/1kb.bin");
    server.wait_for_metric("weir_uplink_waiting_jobs", 2.0);
    drop(large);
    assert_eq!(small.response().body.len(), 1000);
}

#[test]
fn exempt_clients_do_not_use_the_uplink_and_others_do() {
    // At this rate 10 MB take twenty minutes.
    let flags = ["--uplink", "64kbit", "--uplink-exempt", "127.0.0.2/31"];
    let server = Server::builtin(&flags);
    for from in ["127.0.0.2", "127.0.0.3"] {
        let mut exempt = Client::connect_from(from.parse().unwrap(), server.address());
        assert_eq!(exempt.get("/files/10mb.bin").body.len(), 10_000_000);
    }
    assert_eq!(server.metrics().sum("weir_uplink_grants_total"), 0.0);
    let mut paced = server.connect();
    paced.ask("/files/1mb.bin");
    server.wait_for_metric("weir_uplink_waiting_jobs", 1.0);
    eventually("grants are given", || server.metrics().sum("weir_uplink_grants_total") > 1.0);
}

#[test]
fn without_an_uplink_nothing_is_granted() {
    let server = Server::builtin(&[]);
    assert_eq!(server.get("/files/10mb.bin").body.len(), 10_000_000);
    let metrics = server.metrics();
    for name in
        ["weir_uplink_grants_total", "weir_uplink_waiting_jobs", "weir_fairness_responses_total"]
    {
        assert_eq!(metrics.sum(name), 0.0, "{name}");
    }
}

#[test]
fn many_ranges_of_one_client_share_one_share() {
    let server = Server::builtin(&["--uplink", "4mbit", "--policy", "fair"]);
    let received = Arc::new(AtomicU64::new(0));
    let ended = Arc::new(AtomicBool::new(false));
    let readers: Vec<_> = (0..8)
        .map(|part| {
            let mut client = server.connect();
            let range =
                format!("Range: bytes={}-{}\r\n", part * 10_000_000, part * 10_000_000 + 9_999_999);
            client.ask_with("/files/100mb.bin", &range);
            let (received, ended) = (received.clone(), ended.clone());
            thread::spawn(move || {
                let mut bytes = [0; 16 * 1024];
                while !ended.load(Ordering::Relaxed) {
                    let count = client.stream.read(&mut bytes).unwrap();
                    received.fetch_add(count as u64, Ordering::Relaxed);
                }
            })
        })
        .collect();
    server.wait_for_metric("weir_uplink_waiting_jobs", 8.0);
    let other = Client::connect_from("127.0.0.2".parse().unwrap(), server.address());
    let mut other = download(other, "/files/10mb.bin");
    let before = received.load(Ordering::Relaxed);
    let share = 600_000;
    other.read(share);
    let parts = received.load(Ordering::Relaxed) - before;
    ended.store(true, Ordering::Relaxed);
    let share = share as u64;
    // Eight shares would be 4.8 MB.
    assert!((share / 3..share * 3).contains(&parts), "{parts} bytes beside {share}");
    readers.into_iter().for_each(|reader| reader.join().unwrap());
}

/// Bytes that `clients` threads receive with `exchange` while the link could carry so many more.
fn received_in(
    span: Duration,
    server: &Server,
    exchange: fn(&mut Client) -> usize,
) -> (u64, Duration) {
    let start = Instant::now();
    let total = AtomicU64::new(0);
    let ended = AtomicU64::new(0);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut client = server.connect();
                while start.elapsed() < span {
                    total.fetch_add(exchange(&mut client) as u64, Ordering::Relaxed);
                }
                let nanos = start.elapsed().as_nanos() as u64;
                ended.fetch_max(nanos, Ordering::Relaxed);
            });
        }
    });
    (total.into_inner(), Duration::from_nanos(ended.into_inner()))
}

#[test]
fn the_rate_is_never_exceeded() {
    let one_large: fn(&mut Client) -> usize = |client| {
        client.ask("/files/100kb.bin");
        client.response().body.len()
    };
    let many_small: fn(&mut Client) -> usize = |client| {
        (0..10).for_each(|_| client.ask("/files/1kb.bin"));
        (0..10).map(|_| client.response().body.len()).sum()
    };
    // A response that fits a segment goes at once if the link is free; on loopback that is 64 KB.
    let slack = 70_000;
    for (what, exchange) in [("large", one_large), ("small", many_small)] {
        let server = Server::builtin(&["--uplink", "4mbit"]);
        let (bytes, took) = received_in(Duration::from_secs(3), &server, exchange);
        let most = (took.as_secs_f64() * 4e6 / 8.0) as u64 + slack;
        assert!(bytes <= most, "{what}: {bytes} bytes in {took:?} are more than {most}");
        assert!(bytes > 0);
    }
}

//! Shows that the fairness ledger misses no response and makes none up, and that what waits, is
//! granted and is counted agrees.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::support::{Client, Server, noise};
use rustix::process::Signal;

const CLIENTS: usize = 8;
const EACH: usize = 40;

/// Many sizes from nothing to 200 kB.
fn size(number: usize) -> usize {
    [0, 100, 900, 5000, 20_000, 70_000, 1_447, 200_000][number % 8]
}

/// Stops and continues all of the server again and again, as a busy machine does with parts of it:
/// grants then come to their connections when the gate has given them up.
fn pause_now_and_then(server: &Server, ended: &AtomicBool) {
    while !ended.load(Ordering::Relaxed) {
        server.signal(Signal::STOP);
        thread::sleep(Duration::from_millis(4));
        server.signal(Signal::CONT);
        thread::sleep(Duration::from_millis(1));
    }
}

fn assert_all_are_settled(flags: &[&str], pauses: bool) {
    let site = tempfile::tempdir().expect("a directory");
    for number in 0..8 {
        let bytes = noise(number as u64, size(number));
        fs::write(site.path().join(number.to_string()), bytes).expect("a file");
    }
    let server = Server::of(site.path(), flags);
    let ended = AtomicBool::new(!pauses);
    thread::scope(|scope| {
        scope.spawn(|| pause_now_and_then(&server, &ended));
        let clients: Vec<_> = (0..CLIENTS)
            .map(|start| {
                let mut client = server.connect();
                scope.spawn(move || {
                    for number in start..start + EACH {
                        let body = client.get(&format!("/{}", number % 8)).body;
                        assert!(body == noise((number % 8) as u64, size(number)), "{number}");
                    }
                })
            })
            .collect();
        let done = clients.into_iter().all(|client| client.join().is_ok());
        ended.store(true, Ordering::Relaxed);
        assert!(done, "a client failed");
    });
    let asked = (CLIENTS * EACH) as f64;
    // What ended sooner than under fair sharing is settled when fair sharing would have ended it.
    server.wait_for_metric("weir_fairness_responses_total", asked);
    let metrics = server.metrics();
    assert_eq!(
        metrics.value("weir_responses_total", "{status=\"200\"}").map(|all| all >= asked),
        Some(true)
    );
    assert_eq!(metrics.sum("weir_uplink_dead_jobs_total"), 0.0);
    assert_eq!(metrics.sum("weir_uplink_waiting_jobs"), 0.0);
    assert_eq!(metrics.sum("weir_incomplete_responses_total"), 0.0);
}

#[test]
fn every_response_is_in_the_ledger_once_with_one_worker() {
    assert_all_are_settled(&["--uplink", "50mbit", "--workers", "1"], false);
}

#[test]
fn every_response_is_in_the_ledger_once_with_four_workers() {
    assert_all_are_settled(&["--uplink", "50mbit", "--workers", "4"], false);
}

#[test]
fn every_response_is_in_the_ledger_once_under_srpt() {
    assert_all_are_settled(&["--uplink", "100mbit", "--workers", "4", "--policy", "srpt"], false);
}

#[test]
fn every_response_is_in_the_ledger_once_when_the_server_is_held_up() {
    for workers in ["1", "4"] {
        assert_all_are_settled(&["--uplink", "50mbit", "--workers", workers], true);
    }
}

#[test]
fn responses_that_did_not_end_are_not_in_the_ledger() {
    let server = Server::builtin(&["--uplink", "2mbit"]);
    for _ in 0..3 {
        let mut client = Client::connect(server.address());
        client.ask("/files/10mb.bin");
        client.read(20_000);
    }
    server.wait_for_metric("weir_uplink_dead_jobs_total", 3.0);
    assert_eq!(server.get("/files/1kb.bin").body.len(), 1000);
    server.wait_for_metric("weir_fairness_responses_total", 1.0);
    server.wait_for_metric("weir_incomplete_responses_total", 3.0);
}

#[test]
fn the_time_in_which_a_client_does_not_read_is_not_lateness() {
    let site = tempfile::tempdir().expect("a directory");
    fs::write(site.path().join("slow"), noise(1, 100_000)).expect("a file");
    fs::write(site.path().join("fast"), noise(2, 50_000)).expect("a file");
    let server = Server::of(site.path(), &["--uplink", "8mbit"]);
    let ended = AtomicBool::new(false);
    let reading = thread::scope(|scope| {
        // The link is never idle: who does not read leaves his share to this one.
        scope.spawn(|| {
            let mut client = server.connect();
            while !ended.load(Ordering::Relaxed) {
                assert_eq!(client.get("/fast").body.len(), 50_000);
            }
        });
        let started = Instant::now();
        let mut client = Client::with_small_buffer(server.address());
        client.ask("/slow");
        let length = client.head().field("content-length").map(str::to_owned);
        assert_eq!(length.as_deref(), Some("100000"));
        for _ in 0..50 {
            client.read(2000);
            thread::sleep(Duration::from_millis(40));
        }
        ended.store(true, Ordering::Relaxed);
        started.elapsed().as_secs_f64()
    });
    // Two seconds in which it did not read; the link alone takes a tenth of one.
    let settled = "{size=\"to 100 kB\",ended=\"later\"}";
    let asked = server.metrics().value("weir_responses_total", "{status=\"200\"}");
    server.wait_for_metric("weir_fairness_responses_total", asked.expect("responses"));
    let metrics = server.metrics();
    let later = metrics.value("weir_fairness_responses_total", settled).expect("a size");
    let lost = metrics.sum("weir_fairness_lost_seconds_total");
    assert!(lost < reading / 4.0, "{later} later, by {lost} s of {reading} s");
}

//! How soon the server notices that one of many waiting clients has left: from when the client ends
//! its side to when it has heard that the server closed the connection, two ways over loopback
//! included. `cargo bench -p weir --bench departure`

#[path = "../tests/support/mod.rs"]
mod support;

use std::io::Read;
use std::net::Shutdown;
use std::time::{Duration, Instant};

use support::{Client, asking, held, one_at_a_time, wait_for_waiting};

/// Servers, each with its own clients.
const ROUNDS: usize = 40;
/// Clients of each that leave. An eighth would teach the gate how long clients wait, and it would
/// refuse the others.
const LEAVE: usize = 7;

fn main() {
    println!("{} departures each, of clients that wait for a backend", ROUNDS * LEAVE);
    println!("waiting   p50 us   p99 us   max us");
    for waiting in [10, 1000, 10_000] {
        let mut took: Vec<Duration> = (0..ROUNDS).flat_map(|_| departures(waiting)).collect();
        took.sort_unstable();
        let at = |share: f64| took[((took.len() - 1) as f64 * share).ceil() as usize].as_micros();
        println!("{waiting:7} {:8} {:8} {:8}", at(0.5), at(0.99), at(1.0));
    }
}

/// How long it takes to notice that some of `waiting` clients leave, one after the other.
fn departures(waiting: usize) -> Vec<Duration> {
    let (backend, barrier) = held();
    let server = one_at_a_time(&backend, "");
    let first = asking(&server, "/first");
    backend.wait_for_requests(1);
    let mut clients: Vec<Client> = (0..waiting).map(|_| asking(&server, "/")).collect();
    wait_for_waiting(&server, waiting);
    // From all over the queue.
    let chosen = (0..LEAVE).map(|nth| nth * (waiting - 1) / (LEAVE - 1));
    let took = chosen.map(|place| {
        let stream = &mut clients[place].stream;
        let left = Instant::now();
        stream.shutdown(Shutdown::Write).expect("the client ends its side");
        let heard = stream.read(&mut [0]).expect("the server closes the connection");
        assert_eq!(heard, 0, "the server answered a client that had left");
        left.elapsed()
    });
    let took = took.collect();
    wait_for_waiting(&server, waiting - LEAVE);
    drop((first, clients));
    barrier.open(1);
    took
}

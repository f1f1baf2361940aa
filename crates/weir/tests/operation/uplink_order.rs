//! Shows that responses over the uplink are sent in the order of the policy, whatever the number of
//! workers. The order is that of the access log, which is written as responses end.

use std::fs;
use std::path::Path;

use crate::support::{Client, Server, eventually, noise};

/// 16 kB a second: a response of 1.5 kB takes 0.1 s.
const RATE: &str = "128kbit";

/// Smallest first; each is as long as all before it.
const SIZES: [(&str, usize); 4] =
    [("tiny", 1500), ("small", 3000), ("medium", 6000), ("large", 12_000)];

fn site() -> tempfile::TempDir {
    let site = tempfile::tempdir().expect("a directory");
    for (name, size) in SIZES {
        fs::write(site.path().join(name), noise(size as u64, size)).expect("a file");
    }
    fs::write(site.path().join("huge"), noise(0, 1_000_000)).expect("a file");
    site
}

fn logged(log: &Path) -> Vec<String> {
    let text = fs::read_to_string(log).unwrap_or_default();
    let path = |line: &str| line.split('"').nth(1)?.split(' ').nth(1).map(str::to_owned);
    text.lines().filter_map(path).map(|path| path.trim_start_matches('/').to_owned()).collect()
}

/// Asks for `names` in this order, each when the one before it waits at the gate; returns the order
/// in which they ended. `huge` is never waited for.
fn order_of(policy: &str, workers: &str, names: &[&str]) -> Vec<String> {
    let site = site();
    let logs = tempfile::tempdir().expect("a directory");
    let log = logs.path().join("access.log");
    let log_name = log.to_str().expect("a name in UTF-8");
    let server = Server::of(
        site.path(),
        &["--uplink", RATE, "--policy", policy, "--workers", workers, "--access-log", log_name],
    );
    // The handshake of each connection takes the link 5 ms: so many take it for a second, in
    // which all requests arrive and nothing is sent.
    let _holders: Vec<Client> = (0..200).map(|_| server.connect()).collect();
    let mut clients = Vec::new();
    for (already, name) in names.iter().enumerate() {
        let mut client = server.connect();
        client.ask(&format!("/{name}"));
        server.wait_for_metric("weir_uplink_waiting_jobs", already as f64 + 1.0);
        clients.push((*name, client));
    }
    for (name, client) in &mut clients {
        if *name != "huge" {
            let body = client.response().body;
            assert!(body == fs::read(site.path().join(*name)).expect("a file"), "{name}");
        }
    }
    let awaited = names.iter().filter(|name| **name != "huge").count();
    eventually("all responses are logged", || logged(&log).len() == awaited);
    assert!(server.metrics().sum("weir_uplink_grants_total") > 0.0);
    for (name, client) in &mut clients {
        if *name == "huge" {
            assert_eq!(client.head().status, 200, "the huge one goes on");
        }
    }
    logged(&log)
}

/// Neither from small to large nor the reverse.
const ARRIVALS: [&str; 5] = ["huge", "medium", "large", "tiny", "small"];

#[test]
fn srpt_sends_the_shortest_first_with_one_worker() {
    assert_eq!(order_of("srpt", "1", &ARRIVALS), ["tiny", "small", "medium", "large"]);
}

#[test]
fn srpt_sends_the_shortest_first_with_four_workers() {
    assert_eq!(order_of("srpt", "4", &ARRIVALS), ["tiny", "small", "medium", "large"]);
}

#[test]
fn the_default_sends_the_shortest_first_here_too() {
    // Nobody loses by it: under fair sharing they would end in the same order.
    assert_eq!(order_of("protective", "1", &ARRIVALS), ["tiny", "small", "medium", "large"]);
}

#[test]
fn fifo_sends_in_the_order_of_arrival_with_one_worker() {
    assert_eq!(order_of("fifo", "1", &ARRIVALS[1..]), ARRIVALS[1..]);
}

#[test]
fn fifo_sends_in_the_order_of_arrival_with_four_workers() {
    assert_eq!(order_of("fifo", "4", &ARRIVALS[1..]), ARRIVALS[1..]);
}

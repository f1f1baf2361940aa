//! HTTPS over an uplink: what is sent is whole and in order, and records and handshakes count.

use std::io::Write;
use std::sync::Arc;

use crate::authority::Authority;
use crate::secure_client::{SecureClient, config};
use crate::support::eventually;

/// The uplink's count so far.
fn used(server: &crate::support::Server) -> f64 {
    server.metrics().sum("weir_uplink_used_bytes_total")
}

#[test]
fn records_and_handshakes_are_on_the_uplinks_account() {
    const SIZE: usize = 1_000_000;
    let authority = Authority::new();
    let server = authority.server(&["--uplink", "100mbit"]);
    let config = Arc::new(config(&authority, None));
    let mut client = SecureClient::connect(&config, server.address(), "a.test").unwrap();
    assert!(client.get("/").is_ok());
    let before = used(&server);
    // Its certificate alone has several hundred bytes.
    assert!(before > 1000.0, "{before}");
    let (_, whole) = client.get("/files/1mb.bin").unwrap();
    assert_eq!(whole.len(), SIZE);
    let bytes = used(&server) - before;
    // On loopback a grant of 12.5 kB is one packet of 66 bytes of headers, and one record of 22.
    let grants = SIZE.div_ceil(12_375) as f64;
    let least = SIZE as f64 + grants * (66.0 + 22.0);
    assert!((least..least * 1.02).contains(&bytes), "{bytes} of {least}");
}

#[test]
fn long_records_count_as_what_they_are() {
    const SIZE: u64 = 1_000_000;
    const PLAIN: u64 = 1448 - 22;
    let authority = Authority::new();
    let server = authority.server(&["--uplink", "100mbit"]);
    let config = Arc::new(config(&authority, None));
    let client = SecureClient::in_usual_segments(&config, server.address(), "a.test");
    let mut client = client.unwrap();
    assert!(client.get("/files/1kb.bin").is_ok());
    let before = used(&server);
    let (head, body) = client.get("/files/1mb.bin").unwrap();
    assert_eq!(body.len() as u64, SIZE);
    let bytes = used(&server) - before;
    // The first 64 KB go in records of a segment, the rest in one for each grant of 8 segments.
    let sent = SIZE + head.len() as u64;
    let short = (64 * 1024_u64).div_ceil(PLAIN);
    let records = short + (sent - short * PLAIN).div_ceil(8 * PLAIN);
    let wire = (sent + records * 22 + sent.div_ceil(PLAIN) * 66) as f64;
    // One for each segment would be 1.1 % more.
    assert!((0.998 * wire..1.005 * wire).contains(&bytes), "{bytes} instead of {wire}");
}

#[test]
fn the_smallest_is_sent_first_with_tls_too() {
    let authority = Authority::new();
    let server = authority.server(&["--uplink", "20mbit", "--policy", "srpt"]);
    let config = Arc::new(config(&authority, None));
    let connect = || SecureClient::connect(&config, server.address(), "a.test").unwrap();
    let mut large = connect();
    let other = std::thread::spawn(move || large.get("/files/1mb.bin").unwrap().1.len());
    eventually("it waits", || server.metrics().sum("weir_uplink_waiting_jobs") == 1.0);
    let mut small = connect();
    assert_eq!(small.get("/files/10kb.bin").unwrap().1.len(), 10_000);
    assert!(!other.is_finished(), "the large one has most of its bytes to come");
    assert_eq!(other.join().unwrap(), 1_000_000);
}

#[test]
fn who_leaves_while_it_waits_is_dropped() {
    let authority = Authority::new();
    let server = authority.server(&["--uplink", "1mbit", "--policy", "fifo"]);
    let config = Arc::new(config(&authority, None));
    let waiting = |path: &str| {
        let mut client = SecureClient::connect(&config, server.address(), "a.test").unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nHost: a.test\r\n\r\n");
        client.stream.write_all(request.as_bytes()).unwrap();
        client
    };
    let large = waiting("/files/100mb.bin");
    eventually("it waits", || server.metrics().sum("weir_uplink_waiting_jobs") == 1.0);
    // One says that it leaves (close_notify), the other only does.
    let mut polite = waiting("/files/100kb.bin");
    let silent = waiting("/files/100kb.bin");
    eventually("all wait", || server.metrics().sum("weir_uplink_waiting_jobs") == 3.0);
    polite.stream.conn.send_close_notify();
    polite.stream.flush().unwrap();
    drop((polite, silent));
    eventually("two are gone", || server.metrics().sum("weir_uplink_dead_jobs_total") == 2.0);
    drop(large);
    eventually("all are gone", || server.metrics().sum("weir_connections") == 0.0);
}

#[test]
fn bodies_come_through_the_gate_as_they_were() {
    let authority = Authority::new();
    let clear = crate::support::Server::builtin(&[]);
    let server = authority.server(&["--uplink", "200mbit", "--policy", "fair", "--workers", "2"]);
    let config = Arc::new(config(&authority, None));
    let clients: Vec<_> = ["1kb", "10kb", "100kb", "1mb"]
        .into_iter()
        .map(|name| {
            let path = format!("/files/{name}.bin");
            let expected = clear.get(&path).body;
            let (config, to) = (config.clone(), server.address());
            std::thread::spawn(move || {
                let mut client = SecureClient::connect(&config, to, "a.test").unwrap();
                for _ in 0..3 {
                    assert!(client.get(&path).unwrap().1 == expected, "{path}");
                }
            })
        })
        .collect();
    clients.into_iter().for_each(|client| client.join().unwrap());
}

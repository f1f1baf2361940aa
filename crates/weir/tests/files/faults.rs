//! Shows that clients that stutter, talk nonsense, stop reading or reset harm only themselves.

use std::fs;
use std::io::Read;

use crate::support::{Client, Server, eventually, noise};

/// Waits until only the reader of the metrics is connected.
fn wait_until_all_are_gone(server: &Server) {
    eventually("all connections are gone", || server.metrics().sum("weir_connections") == 0.0);
}

#[test]
fn a_head_may_come_a_byte_at_a_time() {
    let server = Server::builtin(&[]);
    let mut client = server.connect();
    for _ in 0..2 {
        for byte in b"GET /files/1kb.bin HTTP/1.1\r\nHost: weir\r\nX-Long: abc\r\n\r\n" {
            client.send([*byte]);
        }
        let answer = client.response();
        assert_eq!((answer.status, answer.body.len()), (200, 1000));
    }
    // The second request starts in the piece that ends the first.
    client.send("GET / HTTP/1.1\r\nHost: w");
    client.send("eir\r\n\r\nGET /files/1kb.bin HT");
    assert_eq!(client.response().status, 200);
    client.send("TP/1.1\r\nHost: weir\r\n\r\n");
    assert_eq!(client.response().body.len(), 1000);
}

#[test]
fn nonsense_is_refused_or_closed() {
    let mut server = Server::builtin(&[]);
    let starts = ["", "GET ", "GET / HTTP/1.1\r\n", "GET / HTTP/1.1\r\nHost: weir\r\n", "\r\n"];
    for seed in 0..400_usize {
        let mut request = starts[seed % starts.len()].as_bytes().to_vec();
        let mut garbage = noise(seed as u64, 1 + seed * 7 % 900);
        if seed % 3 == 0 {
            // Letters only: they get further into the parser.
            garbage.iter_mut().for_each(|byte| *byte = b' ' + *byte % 95);
        }
        request.extend_from_slice(&garbage);
        let mut client = server.connect();
        // It may close before it has read all.
        let _ = client.try_send(&request);
        let _ = client.stream.shutdown(std::net::Shutdown::Write);
        let answer = client.rest();
        assert!(
            answer.is_empty()
                || answer.starts_with(b"HTTP/1.1 4")
                || answer.starts_with(b"HTTP/1.1 5"),
            "seed {seed}: {}",
            String::from_utf8_lossy(&answer)
        );
    }
    wait_until_all_are_gone(&server);
    server.assert_alive();
}

#[test]
fn clients_that_never_read_do_not_stop_others() {
    for flags in [&["--workers", "1"][..], &["--uplink", "1gbit"]] {
        let mut server = Server::builtin(flags);
        let mut idlers: Vec<Client> = (0..60)
            .map(|_| {
                let mut client = Client::with_small_buffer(server.address());
                client.ask("/files/10mb.bin");
                client
            })
            .collect();
        // Each has begun to get something.
        for idler in &mut idlers {
            assert_eq!(idler.head().status, 200);
        }
        let mut reader = server.connect();
        for _ in 0..3 {
            assert_eq!(reader.get("/files/10mb.bin").body.len(), 10_000_000);
        }
        assert_eq!(server.metrics().value("weir_responses_total", "{status=\"200\"}"), Some(3.0));
        drop((idlers, reader));
        wait_until_all_are_gone(&server);
        server.assert_alive();
    }
}

#[test]
fn a_reset_after_any_byte_of_a_small_response_is_survived() {
    let site = tempfile::tempdir().unwrap();
    fs::write(site.path().join("file"), noise(2, 1800)).unwrap();
    for flags in [&[][..], &["--uplink", "100mbit"]] {
        let mut server = Server::of(site.path(), flags);
        let mut client = server.connect();
        client.ask("/file");
        let length = client.head().head.len() + 1800;
        let mut bytes = vec![0; length];
        for count in 0..=length {
            let mut client = server.connect();
            client.ask("/file");
            client.stream.read_exact(&mut bytes[..count]).unwrap();
            client.reset();
        }
        drop(client);
        wait_until_all_are_gone(&server);
        assert_eq!(server.get("/file").body.len(), 1800);
        server.assert_alive();
    }
}

#[test]
fn a_reset_in_a_large_response_is_survived() {
    for flags in [&[][..], &["--uplink", "1gbit"]] {
        let mut server = Server::builtin(flags);
        let mut bytes = vec![0; 10_000_000];
        for count in [0, 1, 100, 10_000, 131_072, 1_000_000, 5_000_000, 9_999_999] {
            for pipelined in [1, 5] {
                let mut client = server.connect();
                (0..pipelined).for_each(|_| client.ask("/files/10mb.bin"));
                client.stream.read_exact(&mut bytes[..count]).unwrap();
                client.reset();
            }
        }
        wait_until_all_are_gone(&server);
        assert_eq!(server.get("/files/10mb.bin").body.len(), 10_000_000);
        server.assert_alive();
    }
}

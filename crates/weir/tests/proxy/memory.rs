//! Shows that what bodies take on their way through the proxy is counted as it is allocated, stays
//! within `proxy_memory` whatever clients and backends do, and is shared among clients.

use std::net::IpAddr;
use std::thread;
use std::time::Duration;

use crate::support::{Backend, Barrier, Client, Server, Then, eventually, noise, route};

const MEMORY: &str = "weir_proxy_memory_bytes";

const OFFER: &str = "Connection: Upgrade\r\nUpgrade: websocket\r\n";
const SWITCH: &str =
    "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";

/// More than kernels keep for a client that does not read.
const FILLING: usize = 8_000_000;

/// What the process may take beside what is counted.
const BESIDE: usize = 12_000_000;

fn from(last: u8) -> IpAddr {
    IpAddr::from([127, 0, 0, last])
}

fn calls(server: &Server, backend: &Backend) -> f64 {
    let labels = format!("{{backend=\"{}\"}}", backend.url);
    server.metrics().value("weir_backend_calls_total", &labels).expect("it is a backend")
}

#[test]
fn one_client_cannot_take_all_memory() {
    let [greedy, usual] = [Backend::saying("greedy"), Backend::saying("usual")];
    let keys = "overflow = \"push-back\"\n";
    let routes = [("/greedy", &greedy), ("/", &usual)]
        .map(|(path, backend)| format!("{}{keys}", route(path, &[&backend.url])));
    let text = format!("proxy_memory = \"900kb\"\n{}", routes.concat());
    let server = Server::configured(&text, &[]);
    let post = |from: IpAddr, path: &str, length: usize| {
        let mut client = Client::connect_from(from, server.address());
        let head =
            format!("POST {path} HTTP/1.1\r\nHost: weir\r\nContent-Length: {length}\r\n\r\n");
        client.send(head);
        client
    };
    let held: Vec<_> = (0..20)
        .map(|_| {
            let mut client = post(from(9), "/greedy", 1_000_000);
            client.send(noise(1, 200_000));
            client
        })
        .collect();
    // Beyond its share they go on as they come.
    eventually("all were begun", || calls(&server, &greedy) == 20.0);
    // The last of it may be on its way to the backend still.
    let (mut before, mut same) = (0.0, 0);
    eventually("memory changes no more", || {
        let now = server.metrics().sum(MEMORY);
        same = if now == before { same + 1 } else { 0 };
        before = now;
        same == 50
    });
    assert!(before < 500_000.0, "{before}");
    let mut other = post(from(8), "/", 50_010);
    other.send(noise(2, 50_000));
    eventually("it is in memory", || {
        let now = server.metrics().sum(MEMORY);
        before = now.min(before);
        now >= before + 50_000.0
    });
    assert_eq!(calls(&server, &usual), 0.0, "it is kept until it has come whole");
    other.send(noise(2, 10));
    assert_eq!(other.response().text(), "usual");
    drop(held);
    server.wait_for_metric(MEMORY, 0.0);
}

#[test]
fn single_bytes_of_a_switched_connection_are_joined() {
    const BYTES: usize = 10_000;
    let filled = Barrier::default();
    let fill = filled.clone();
    let backend = Backend::new(move |call| {
        call.send(SWITCH);
        call.send(noise(1, FILLING));
        fill.open(1);
        for byte in noise(2, BYTES) {
            if !call.send([byte]) {
                break;
            }
            // So that most are read one by one; if not, it is only easier.
            thread::sleep(Duration::from_micros(100));
        }
        fill.open(1);
        call.until_closed();
        Then::Close
    });
    let text =
        format!("proxy_memory = \"200mb\"\n{}buffer = \"20mb\"\n", route("/", &[&backend.url]));
    let server = Server::configured(&text, &[]);
    let mut client = Client::with_small_buffer(server.address());
    client.ask_with("/", OFFER);
    filled.pass();
    let before = server.resident();
    filled.pass();
    eventually("all are counted", || {
        server.metrics().sum(MEMORY) >= (FILLING - 5_000_000 + BYTES) as f64
    });
    let grown = server.resident().saturating_sub(before);
    assert!(grown < FILLING + BESIDE, "{grown} bytes for {BYTES}");
    assert_eq!(client.head().status, 101);
    assert!(client.read(FILLING) == noise(1, FILLING));
    assert!(client.read(BYTES) == noise(2, BYTES));
}

#[test]
fn single_bytes_in_chunks_are_joined() {
    const CLIENTS: usize = 4;
    let backend = Backend::new(|call| {
        call.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
        call.send(format!("{FILLING:x}\r\n"));
        call.send(noise(1, FILLING));
        call.send("\r\n");
        let bytes = "1\r\nx\r\n".repeat(1000);
        while call.send(&bytes) {}
        Then::Close
    });
    let keys = "buffer = \"9mb\"\noverflow = \"push-back\"\n";
    let text = format!("proxy_memory = \"360mb\"\n{}{keys}", route("/", &[&backend.url]));
    let server = Server::configured(&text, &[]);
    let before = server.resident();
    let clients: Vec<_> = (0..CLIENTS)
        .map(|_| {
            let mut client = Client::with_small_buffer(server.address());
            client.ask("/");
            client
        })
        .collect();
    // A slot is free once the client is found to hold up the backend.
    eventually("they have asked", || {
        server.metrics().sum("weir_backend_calls_total") == CLIENTS as f64
    });
    server.wait_for_metric("weir_backend_under_way", 0.0);
    let counted = server.metrics().sum(MEMORY) as usize;
    assert!((20_000_000..40_000_000).contains(&counted), "{counted}");
    let grown = server.resident().saturating_sub(before);
    assert!(grown < counted + BESIDE, "{grown} bytes, of which {counted} are counted");
    drop(clients);
    server.wait_for_metric(MEMORY, 0.0);
}

#[test]
fn small_answers_that_come_whole_are_counted() {
    const CLIENTS: usize = 50;
    let answer = "HTTP/1.1 200 OK\r\nContent-Length: 4000\r\n\r\n";
    let backend = Backend::raw([answer.as_bytes(), &noise(3, 4000)].concat(), Then::Keep);
    // Two seconds each: they wait at the gate.
    let server = Server::before(&backend, &["--uplink", "16kbit"]);
    let clients: Vec<_> = (0..CLIENTS)
        .map(|_| {
            let mut client = server.connect();
            client.ask("/");
            client
        })
        .collect();
    eventually("they are counted", || {
        server.metrics().sum(MEMORY) >= (4000 * (CLIENTS - 10)) as f64
    });
    drop(clients);
    server.wait_for_metric(MEMORY, 0.0);
}

#[test]
fn exchanges_that_are_cut_anywhere_leave_nothing() {
    let backend = Backend::new(|call| match call.asked.target() {
        "/switch" => {
            call.send(SWITCH);
            call.send(noise(1, 50_000));
            while let Some(bytes) = call.some_bytes() {
                call.send(bytes);
            }
            Then::Close
        }
        "/chunks" => {
            call.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n");
            Then::Close
        }
        _ => call.ok(noise(2, 300_000)),
    });
    let keys = "buffer = \"20kb\"\n";
    let text = format!("proxy_memory = \"1mb\"\n{}{keys}", route("/", &[&backend.url]));
    let server = Server::configured(&text, &[]);
    for round in 0..200_usize {
        let mut client = Client::with_small_buffer(server.address());
        let sent = noise(round as u64, round * 997 % 200_000);
        match round % 4 {
            0 => client.ask("/large"),
            1 => client.ask("/chunks"),
            2 => client.ask_with("/switch", OFFER),
            _ => client.send("POST / HTTP/1.1\r\nHost: weir\r\nContent-Length: 200000\r\n\r\n"),
        }
        if round % 4 >= 2 {
            // It may have ended already.
            let _ = client.try_send(sent);
        }
        if round % 3 == 0 {
            client.reset();
        }
    }
    for figure in [MEMORY, "weir_proxy_disk_bytes", "weir_backend_under_way"] {
        server.wait_for_metric(figure, 0.0);
    }
    assert_eq!(server.get("/").body.len(), 300_000);
}

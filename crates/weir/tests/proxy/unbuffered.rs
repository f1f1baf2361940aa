//! Shows that what a backend sends goes on at once, and that with `buffering = false` a slow client holds up
//! its backend instead of filling memory and files.

use crate::support::wire::Source;
use crate::support::{Backend, Barrier, Server, Then, asking, eventually, noise};

/// More than the kernel keeps for a client that does not read.
const LARGE: usize = 40_000_000;

#[test]
fn events_arrive_one_by_one() {
    let barrier = Barrier::default();
    let next = barrier.clone();
    let backend = Backend::new(move |call| {
        call.send(
            "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\
             Transfer-Encoding: chunked\r\n\r\n",
        );
        for number in 1..=3 {
            let event = format!("data: {number}\n\n");
            call.send(format!("{:x}\r\n{event}\r\n", event.len()));
            next.pass();
        }
        call.send("0\r\n\r\n");
        Then::Keep
    });
    for keys in ["buffering = false\n", ""] {
        let server = Server::routed(&[&backend.url], keys);
        let mut client = asking(&server, "/");
        assert_eq!(client.head().status, 200);
        for number in 1..=3 {
            // The backend sends no more before this one has been seen.
            let event = format!("data: {number}\n\n");
            client.until(event.as_bytes()).expect("the event");
            barrier.open(1);
        }
        client.until(b"0\r\n\r\n").expect("the end");
    }
}

#[test]
fn a_slow_client_holds_up_its_backend() {
    let backend = Backend::new(|call| match call.asked.target() {
        "/large" => {
            call.ok(noise(7, LARGE));
            Then::Close
        }
        _ => call.ok(call.asked.body.as_ref().map_or(0, Vec::len).to_string()),
    });
    let (disk, memory) = ("weir_proxy_disk_bytes", "weir_proxy_memory_bytes");
    let server = Server::routed(&[&backend.url], "buffering = false\nbuffer = \"10mb\"\n");
    let mut slow = asking(&server, "/large");
    server.wait_for_metric("weir_backend_calls_total", 1.0);
    eventually("some waits in memory", || server.metrics().sum(memory) >= 1.0);
    // Its slot is free: the backend has answered as far as it can.
    server.wait_for_metric("weir_backend_under_way", 0.0);
    let metrics = server.metrics();
    assert_eq!(metrics.sum(disk), 0.0);
    assert!(metrics.sum(memory) < 200_000.0, "{}", metrics.sum(memory));
    // Requests are buffered as ever.
    let mut sender = server.connect();
    sender.send("POST /length HTTP/1.1\r\nHost: weir\r\nContent-Length: 1000010\r\n\r\n");
    sender.send(noise(1, 1_000_000));
    eventually("it waits in memory", || server.metrics().sum(memory) >= 1_000_000.0);
    assert_eq!(server.metrics().sum("weir_backend_calls_total"), 1.0, "it was not begun");
    sender.send(noise(1, 10));
    assert_eq!(sender.response().text(), "1000010");
    assert!(slow.response().body == noise(7, LARGE));
}

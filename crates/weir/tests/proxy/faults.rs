//! Shows that a backend that is down or hangs gives a clear status, that bodies which stop hold up nobody,
//! and that everybody else is served.

use std::io::Write;
use std::net::{Shutdown, TcpListener};
use std::thread;
use std::time::{Duration, Instant};

use crate::support::{Backend, Barrier, Refusing, Server, Silent, Then, asking, eventually};

/// Waits until the server has said something about `backend`.
pub(super) fn assert_logged(server: &Server, backend: &str) {
    eventually("a line in the log", || {
        server.log().iter().any(|line| line.contains("WARN") && line.contains(backend))
    });
}

/// Waits until no slot of any backend is taken.
pub(super) fn wait_for_slots(server: &Server) {
    server.wait_for_metric("weir_backend_under_way", 0.0);
}

#[test]
fn a_backend_that_is_down_is_a_bad_gateway_at_once() {
    let refusing = Refusing::new();
    let mut server = Server::builtin(&["--proxy", &format!("/={}", refusing.url())]);
    let start = Instant::now();
    let mut client = server.connect();
    for _ in 0..3 {
        assert_eq!(client.get("/").status, 502, "and the connection goes on");
    }
    client.send("POST / HTTP/1.1\r\nHost: weir\r\nContent-Length: 2\r\n\r\nab");
    assert_eq!(client.response().status, 502);
    assert!(start.elapsed() < Duration::from_secs(5), "no time-out was waited for");
    assert_logged(&server, &refusing.url());
    wait_for_slots(&server);
    let missing = Server::builtin(&["--proxy", "/=unix:/nowhere/at/all.sock"]);
    assert_eq!(missing.get("/").status, 502);
    server.assert_alive();
}

#[test]
fn connecting_takes_no_longer_than_allowed() {
    let silent = Silent::new();
    let server = Server::routed(&[&silent.url()], "connect_timeout = \"100ms\"\nretries = 0\n");
    let status = server.get("/").status;
    assert!(matches!(status, 502 | 504), "{status}");
    assert_logged(&server, &silent.url());
    wait_for_slots(&server);
}

#[test]
fn a_body_that_is_longer_than_its_buffer_and_stops_holds_up_nobody() {
    let backend = Backend::echoing_targets();
    let server = Server::routed(
        &[&backend.url],
        "buffer = \"1kb\"\noverflow = \"push-back\"\nbackend_limit = 1\n",
    );
    let mut slow = server.connect();
    slow.send("POST /slow HTTP/1.1\r\nHost: weir\r\nContent-Length: 10000\r\n\r\n");
    slow.send([b'x'; 9_000]);
    server.wait_for_metric("weir_backend_calls_total", 1.0);
    assert_eq!(server.get("/other").text(), "/other");
    assert_eq!(backend.targets(), ["/other"], "the other is not whole yet");
    slow.send([b'x'; 1_000]);
    assert_eq!(slow.response().text(), "/slow");
    wait_for_slots(&server);
}

#[test]
fn a_backend_that_does_not_take_the_body_is_a_gateway_time_out() {
    let full = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", full.local_addr().expect("its address"));
    // It accepts, and reads nothing.
    let accepting = thread::spawn(move || full.accept());
    let keys = "buffer = \"1kb\"\noverflow = \"push-back\"\nidle_timeout = \"1s\"\nretries = 0\n";
    let server = Server::routed(&[&url], keys);
    let mut client = server.connect();
    client.send("POST / HTTP/1.1\r\nHost: weir\r\nContent-Length: 1000000000\r\n\r\n");
    let mut sending = client.stream.try_clone().expect("a descriptor");
    let sender = thread::spawn(move || while sending.write_all(&[b'x'; 65_536]).is_ok() {});
    assert_eq!(client.head().status, 504);
    client.stream.shutdown(Shutdown::Both).expect("the connection is open");
    sender.join().expect("nothing can be sent any more");
    drop(accepting.join());
    wait_for_slots(&server);
}

#[test]
fn a_backend_that_hangs_is_a_gateway_time_out() {
    let barrier = Barrier::default();
    let held = barrier.clone();
    let backend = Backend::new(move |call| {
        if call.asked.target() == "/hang" {
            held.pass();
        }
        call.ok("late")
    });
    let server =
        Server::routed(&[&backend.url], "first_byte_timeout = \"200ms\"\nbackend_limit = 2\n");
    let mut client = server.connect();
    assert_eq!(client.get("/hang").status, 504);
    assert_logged(&server, &backend.url);
    assert_eq!(backend.requests().len(), 1, "what may be at work is not asked again");
    // It is at work still, so its slot is taken; what it says then is for nobody.
    server.wait_for_metric("weir_backend_under_way", 1.0);
    assert_eq!(client.get("/").text(), "late");
    barrier.open(1);
    wait_for_slots(&server);
    assert_eq!(client.get("/").text(), "late");
}

#[test]
fn a_backend_that_stops_in_its_answer_is_cut_off() {
    let barrier = Barrier::default();
    let held = barrier.clone();
    let backend = Backend::new(move |call| {
        call.send("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\nbegun");
        held.pass();
        Then::Close
    });
    for limit in ["idle_timeout", "total_timeout"] {
        let server = Server::routed(&[&backend.url], &format!("{limit} = \"200ms\"\n"));
        let mut client = server.connect();
        client.ask("/");
        let head = client.head();
        assert_eq!((head.status, head.field("Content-Length")), (200, Some("100000")), "{limit}");
        assert_eq!(client.rest(), b"begun", "{limit}");
        // It is at work still, for nobody.
        server.wait_for_metric("weir_backend_under_way", 1.0);
        barrier.open(1);
        wait_for_slots(&server);
    }
}

#[test]
fn an_answer_without_end_costs_no_slot_once_its_client_has_left() {
    for flags in [&[][..], &["--uplink", "1gbit"]] {
        let backend = Backend::new(|call| {
            if call.asked.target() != "/endless" {
                return call.ok("next");
            }
            call.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
            let chunk = [b"10000\r\n", &[b'x'; 65_536][..], b"\r\n"].concat();
            while call.send(&chunk) {}
            Then::Close
        });
        let mut server = Server::before(&backend, &[&["--backend-limit", "1"][..], flags].concat());
        let mut client = server.connect();
        client.ask("/endless");
        assert_eq!(client.head().status, 200);
        client.read(3_000_000);
        drop(client);
        assert_eq!(server.get("/next").text(), "next");
        wait_for_slots(&server);
        server.assert_alive();
    }
}

#[test]
fn a_slow_stream_holds_no_slot_for_long_once_its_client_has_left() {
    let cancels = "cancels_on_disconnect = true\n";
    let servers = [("", true), (cancels, false)].map(|(keys, leaves_early)| {
        let (may_begin, closed) = (Barrier::default(), Barrier::default());
        let (begin, tell) = (may_begin.clone(), closed.clone());
        let backend = Backend::new(move |call| {
            if call.asked.target() == "/late" {
                begin.pass();
            }
            call.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
            while call.send("1\r\nx\r\n") {
                thread::sleep(Duration::from_millis(20));
            }
            tell.open(1);
            Then::Cut
        });
        let server = Server::routed(&[&backend.url], &format!("backend_limit = 2\n{keys}"));
        let mut within = server.connect();
        within.ask("/");
        assert_eq!((within.head().status, within.read(1).len()), (200, 1));
        let before = leaves_early.then(|| asking(&server, "/late"));
        let calls = if leaves_early { 2 } else { 1 };
        backend.wait_for_requests(calls);
        drop((within, before));
        server.wait_for_metric("weir_backend_dead_in_service_total", calls as f64);
        may_begin.open(1);
        (server, backend, closed, calls)
    });
    for (server, _backend, closed, calls) in &servers {
        wait_for_slots(server);
        (0..*calls).for_each(|_| closed.pass());
    }
}

#[test]
fn an_answer_that_stops_holds_no_slot_once_its_client_has_left() {
    let backend = Backend::new(|call| {
        call.send("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\nbegun");
        call.until_closed();
        Then::Close
    });
    let server = Server::routed(&[&backend.url], "idle_timeout = \"2s\"\n");
    // Ten seconds after its head it counts as a stream, so that it would hold no slot anyway.
    let is_free_before = || {
        let start = Instant::now();
        let mut client = server.connect();
        client.ask("/");
        assert_eq!((client.head().status, &client.read(5)[..]), (200, &b"begun"[..]));
        drop(client);
        wait_for_slots(&server);
        start.elapsed() < Duration::from_secs(10)
    };
    // This process or the server may be held up.
    assert!((0..3).any(|_| is_free_before()));
}

#[test]
fn a_client_that_sends_a_byte_at_a_time_takes_no_slot() {
    let backend = Backend::new(|call| {
        let body = call.asked.body.clone().unwrap_or_default();
        call.ok(body)
    });
    let server = Server::before(&backend, &["--backend-limit", "1"]);
    let framings = ["Content-Length: 10\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\na\r\n"];
    for (round, framing) in framings.iter().enumerate() {
        let mut slow = server.connect();
        slow.send(format!("POST /slow HTTP/1.1\r\nHost: weir\r\n{framing}"));
        for byte in b"012345678" {
            slow.send([*byte]);
            assert_eq!(server.get("/other").status, 200);
        }
        let targets = backend.targets();
        assert_eq!(targets.iter().filter(|target| *target == "/slow").count(), round, "not yet");
        slow.send("9");
        if framing.starts_with('T') {
            slow.send("\r\n0\r\n\r\n");
        }
        assert_eq!(slow.response().text(), "0123456789");
    }
}

#[test]
fn a_body_that_stops_in_the_middle_is_not_passed_on_as_whole() {
    let backend = Backend::saying("");
    let server = Server::routed(
        &[&backend.url],
        "buffer = \"1kb\"\noverflow = \"push-back\"\nbackend_limit = 1\n",
    );
    for framing in ["Content-Length: 100000\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n186a0\r\n"]
    {
        let mut client = server.connect();
        client.send(format!("POST /cut HTTP/1.1\r\nHost: weir\r\n{framing}"));
        client.send([b'x'; 50_000]);
        drop(client);
        assert_eq!(server.get("/next").status, 200, "the slot is free again");
        wait_for_slots(&server);
    }
    let cut = backend.requests().into_iter().filter(|asked| asked.target() == "/cut");
    cut.for_each(|asked| assert_eq!(asked.body, None, "{}", asked.head));
}

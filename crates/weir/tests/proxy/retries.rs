//! Shows which requests are sent again when a backend gives no answer, and which are not.

use std::io::Write;
use std::net::TcpListener;
use std::thread;

use socket2::Socket;

use crate::support::wire::Wire;
use crate::support::{Backend, Barrier, Refusing, Server, Then, asking, eventually};

#[test]
fn the_next_backend_is_asked_if_one_is_down() {
    let (refusing, backend) = (
        Refusing::new(),
        Backend::new(|call| {
            let body = call.asked.body.clone().unwrap_or_default();
            call.ok(body)
        }),
    );
    // It is never put out: every second request meets it first.
    let keys = "max_fails = 0\n";
    let server = Server::routed(&[&refusing.url(), &backend.url], keys);
    let mut client = server.connect();
    for _ in 0..6 {
        assert_eq!(client.get("/").status, 200);
        // Nothing was sent to the other one, so that any request may be sent again.
        client.send("POST / HTTP/1.1\r\nHost: weir\r\nContent-Length: 2\r\n\r\nab");
        let answer = client.response();
        assert_eq!((answer.status, answer.text().as_str()), (200, "ab"));
        client.send("POST / HTTP/1.1\r\nHost: weir\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n");
        assert_eq!(client.response().text(), "ab");
    }
    assert_eq!(backend.requests().len(), 18);
}

#[test]
fn a_kept_connection_that_closes_under_a_request_is_no_failure() {
    for then in [Then::Close, Then::Reset] {
        let backend = Backend::new(move |call| match call.asked.before {
            0 => call.ok(call.asked.target()),
            _ => then,
        });
        let server = Server::before(&backend, &["--workers", "1"]);
        let mut client = server.connect();
        assert_eq!(client.get("/first").text(), "/first");
        // The backend closes as it comes; asking for it again does no harm.
        assert_eq!(client.get("/second").text(), "/second", "{then:?}");
        assert_eq!(backend.targets(), ["/first", "/second", "/second"]);
        // Whether it was done nobody knows, and twice may be one time too many.
        client.send("POST /third HTTP/1.1\r\nHost: weir\r\nContent-Length: 2\r\n\r\nab");
        assert_eq!(client.response().status, 502, "{then:?}");
        assert_eq!(client.get("/fourth").text(), "/fourth");
        assert_eq!(backend.targets(), ["/first", "/second", "/second", "/third", "/fourth"]);
        server.wait_for_metric("weir_backend_under_way", 0.0);
    }
}

/// A connection to `backend`, which does not wait, whose first request has come.
fn asked(backend: &TcpListener) -> Wire {
    let mut accepted = None;
    eventually("the backend is asked", || {
        accepted = backend.accept().ok();
        accepted.is_some()
    });
    let (stream, _) = accepted.expect("it is there");
    let mut wire = Wire::new(Socket::from(stream));
    let head = wire.head().expect("a request");
    wire.body(&head).expect("its body");
    wire
}

fn answer(wire: &mut Wire) {
    let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    wire.carrier.write_all(answer).expect("the answer is taken");
}

#[test]
fn many_kept_connections_that_the_backend_has_closed_delay_no_request() {
    // More than the 128 from which a task may read at a time (tokio::task::coop).
    const KEPT: usize = 150;
    for request in [
        "GET / HTTP/1.1\r\nHost: weir\r\n\r\n",
        // It cannot be repeated.
        "POST / HTTP/1.1\r\nHost: weir\r\nContent-Length: 2\r\n\r\nab",
    ] {
        let backend = TcpListener::bind("127.0.0.1:0").expect("a port");
        backend.set_nonblocking(true).expect("a socket that does not wait");
        let proxy = format!("/=http://{}", backend.local_addr().expect("its address"));
        let flags = ["--proxy", proxy.as_str(), "--workers", "1", "--backend-limit", "1000"];
        let server = Server::builtin(&flags);
        let mut clients: Vec<_> = (0..KEPT).map(|_| asking(&server, "/")).collect();
        let mut kept: Vec<_> = (0..KEPT).map(|_| asked(&backend)).collect();
        kept.iter_mut().for_each(answer);
        clients.iter_mut().for_each(|client| assert_eq!(client.response().text(), "ok"));
        server.wait_for_metric("weir_backend_under_way", 0.0);
        // The backend is started again.
        drop(kept);
        let answering = thread::spawn(move || answer(&mut asked(&backend)));
        let mut client = server.connect();
        client.send(request);
        let response = client.response();
        assert_eq!((response.status, response.text().as_str()), (200, "ok"), "{request}");
        answering.join().expect("the backend has answered");
    }
}

#[test]
fn a_request_is_repeated_on_a_new_connection_not_on_another_old_one() {
    let together = Barrier::default();
    let meet = together.clone();
    let backend = Backend::new(move |call| match call.asked.before {
        0 => {
            if call.asked.target() == "/first" {
                meet.pass();
            }
            call.ok(call.asked.target())
        }
        _ => Then::Close,
    });
    let server = Server::before(&backend, &["--workers", "1", "--backend-limit", "9"]);
    let mut clients: Vec<_> = (0..3).map(|_| server.connect()).collect();
    clients.iter_mut().for_each(|client| client.ask("/first"));
    backend.wait_for_requests(3);
    together.open(3);
    clients.iter_mut().for_each(|client| assert_eq!(client.response().text(), "/first"));
    assert_eq!(server.get("/second").text(), "/second");
    assert_eq!(backend.connections(), 4, "three were kept, one is new");
}

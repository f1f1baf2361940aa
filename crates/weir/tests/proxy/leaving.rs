//! Shows that a request whose client leaves while it waits never reaches the backend, and that the
//! slot of one whose client leaves in service comes back when the backend is done and not before.

use std::io::Write;
use std::net::TcpListener;
use std::thread;
use std::time::Duration;

use crate::support::wait_for_waiting;
use crate::support::wire::Wire;
use crate::support::{Backend, Barrier, Server, Silent, Then};
use crate::support::{asking, eventually, held, one_at_a_time, queue, route};
use socket2::{SockRef, Socket};

#[test]
fn who_leaves_while_waiting_never_reaches_the_backend() {
    let (backend, barrier) = held();
    let server = Server::before(&backend, &["--backend-limit", "1"]);
    let mut clients = queue(&server, &backend, &["/b", "/c"]);
    let metrics = server.metrics();
    let label = format!("{{backend=\"{}\"}}", backend.url);
    assert_eq!(metrics.value("weir_backend_limit", &label), Some(1.0), "{}", metrics.0);
    assert_eq!(metrics.value("weir_backend_under_way", &label), Some(1.0));
    drop(clients.remove(1));
    wait_for_waiting(&server, 1);
    assert_eq!(server.metrics().sum("weir_backend_dead_in_queue_total"), 1.0);
    barrier.open(2);
    assert_eq!(clients[0].response().text(), "/first");
    assert_eq!(clients[1].response().text(), "/c");
    assert_eq!(backend.targets(), ["/first", "/c"]);
    let metrics = server.metrics();
    assert_eq!(metrics.sum("weir_backend_calls_total"), 2.0);
    assert_eq!(metrics.sum("weir_backend_dead_in_service_total"), 0.0);
    assert_eq!(metrics.value("weir_responses_total", "{status=\"499\"}"), Some(1.0));
}

#[test]
fn the_slot_of_who_leaves_in_service_comes_back_when_the_backend_is_done() {
    let (backend, barrier) = held();
    let server = Server::before(&backend, &["--backend-limit", "1", "--workers", "1"]);
    let mut clients = queue(&server, &backend, &["/b"]);
    drop(clients.remove(0));
    server.wait_for_metric("weir_backend_dead_in_service_total", 1.0);
    let metrics = server.metrics();
    let now = ["weir_backend_under_way", "weir_backend_waiting"].map(|name| metrics.sum(name));
    assert_eq!(now, [1.0, 1.0], "the backend is at work still");
    assert_eq!(backend.targets(), ["/first"]);
    barrier.open(2);
    assert_eq!(clients[0].response().text(), "/b");
    assert_eq!(backend.connections(), 1, "the connection was read out and used again");
    server.wait_for_metric("weir_backend_under_way", 0.0);
}

#[test]
fn a_backend_that_cancels_is_told_and_waited_for() {
    let (told, may_close) = (Barrier::default(), Barrier::default());
    let (tell, close) = (told.clone(), may_close.clone());
    let backend = Backend::new(move |call| {
        if call.asked.target() != "/first" {
            return call.ok("next");
        }
        call.until_closed();
        tell.open(1);
        close.pass();
        Then::Close
    });
    let server = one_at_a_time(&backend, "cancels_on_disconnect = true\n");
    let mut clients = queue(&server, &backend, &["/b"]);
    drop(clients.remove(0));
    told.pass();
    let metrics = server.metrics();
    let now = ["weir_backend_under_way", "weir_backend_waiting"].map(|name| metrics.sum(name));
    assert_eq!(now, [1.0, 1.0], "it has not stopped yet");
    may_close.open(1);
    assert_eq!(clients[0].response().text(), "next");
    assert_eq!(backend.connections(), 2);
}

#[test]
fn ten_thousand_that_leave_at_once_are_forgotten() {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    let raised = rustix::process::Rlimit { current: limit.maximum, maximum: limit.maximum };
    rustix::process::setrlimit(rustix::process::Resource::Nofile, raised).unwrap();
    // The server has the same limit, and a descriptor for each, too, but for its reserve.
    let most = limit.maximum.map_or(10_000, |most| most.saturating_sub(1200).min(10_000)) as usize;
    assert!(most >= 500, "too few descriptors to show anything: {limit:?}");
    let (backend, barrier) = held();
    let mut server = Server::before(&backend, &["--backend-limit", "1"]);
    let mut first = asking(&server, "/first");
    backend.wait_for_requests(1);
    let crowd: Vec<_> = (0..most).map(|_| asking(&server, "/crowd")).collect();
    wait_for_waiting(&server, most);
    drop(crowd);
    wait_for_waiting(&server, 0);
    // The last of them may be refused in this moment: so many leave that patience seems short.
    let metrics = server.metrics();
    let count = |name: &str| metrics.sum(name) as usize;
    let refused = count("weir_backend_refused_total");
    assert_eq!(count("weir_backend_dead_in_queue_total") + refused, most, "{refused} refused");
    // Nobody is before eight were seen to leave.
    assert!(refused + 8 <= most, "{refused} of {most} were refused");
    let mut newcomer = asking(&server, "/new");
    wait_for_waiting(&server, 1);
    barrier.open(2);
    assert_eq!(first.response().text(), "/first");
    assert_eq!(newcomer.response().text(), "/new");
    assert_eq!(backend.targets(), ["/first", "/new"]);
    drop((first, newcomer));
    eventually("all are gone", || server.metrics().sum("weir_connections") == 0.0);
    barrier.open(1);
    server.assert_alive();
}

#[test]
fn the_other_ways_to_notice_the_dead_work_too() {
    for keys in [
        "disconnect_detection = \"peek\"\n",
        "disconnect_detection = \"tcp-info\"\n",
        "disconnect_detection = \"event\"\ndetect_when = \"overload\"\n",
    ] {
        let (backend, barrier) = held();
        let server = one_at_a_time(&backend, keys);
        let mut clients = queue(&server, &backend, &["/b", "/c"]);
        drop(clients.remove(1));
        barrier.open(2);
        assert_eq!(clients[0].response().text(), "/first", "{keys}");
        assert_eq!(clients[1].response().text(), "/c", "{keys}");
        assert_eq!(backend.targets(), ["/first", "/c"], "{keys}");
        assert_eq!(server.metrics().sum("weir_backend_dead_in_queue_total"), 1.0, "{keys}");
    }
}

#[test]
fn bytes_that_nobody_has_read_hide_a_departure_from_a_peek_only() {
    for (how, sees) in [("event", true), ("tcp-info", true), ("peek", false), ("off", false)] {
        let (backend, barrier) = held();
        let server = one_at_a_time(&backend, &format!("disconnect_detection = \"{how}\"\n"));
        let mut clients = queue(&server, &backend, &["/b", "/c"]);
        // Another request lies in front of the end.
        clients[1].ask("/unread");
        drop(clients.remove(1));
        if sees {
            // Looking now and then takes a moment, as events do not.
            wait_for_waiting(&server, 1);
        }
        barrier.open(4);
        assert_eq!(clients[1].response().text(), "/c", "{how}");
        assert_eq!(backend.targets().contains(&"/b".to_owned()), !sees, "{how}");
    }
}

#[test]
fn a_half_closed_client_is_what_the_route_takes_it_for() {
    for (kind, is_answered) in [("gone", false), ("alive", true), ("probe", true)] {
        let (backend, barrier) = held();
        let server = one_at_a_time(&backend, &format!("half_closed = \"{kind}\"\n"));
        let mut clients = queue(&server, &backend, &["/b"]);
        clients[1].half_close();
        if is_answered {
            barrier.open(2);
            let mut answer = clients[1].head();
            while answer.status == 102 {
                assert_eq!(kind, "probe");
                answer = clients[1].head();
            }
            assert_eq!((answer.status, &clients[1].read(2)[..]), (200, &b"/b"[..]), "{kind}");
        } else {
            wait_for_waiting(&server, 0);
            barrier.open(1);
            clients[1].assert_closed();
            assert_eq!(backend.targets(), ["/first"], "{kind}");
        }
        assert_eq!(clients[0].response().text(), "/first", "{kind}");
    }
}

#[test]
fn one_that_has_closed_altogether_is_noticed_by_a_probe_and_by_its_reset() {
    for kind in ["probe", "alive"] {
        let (backend, barrier) = held();
        let server = one_at_a_time(&backend, &format!("half_closed = \"{kind}\"\n"));
        let mut clients = queue(&server, &backend, &["/b"]);
        let leaving = clients.remove(1);
        if kind == "probe" {
            drop(leaving)
        } else {
            leaving.reset()
        }
        wait_for_waiting(&server, 0);
        barrier.open(1);
        assert_eq!(clients[0].response().text(), "/first", "{kind}");
        assert_eq!(backend.targets(), ["/first"], "{kind}");
    }
}

#[test]
fn who_leaves_after_a_long_body_is_noticed_too() {
    let (backend, barrier) = held();
    let server = one_at_a_time(&backend, "buffer = \"1kb\"\noverflow = \"push-back\"\n");
    let mut client = server.connect();
    client.send("POST /first HTTP/1.1\r\nHost: weir\r\nContent-Length: 100000\r\n\r\n");
    client.send([b'x'; 100_000]);
    backend.wait_for_requests(1);
    drop(client);
    server.wait_for_metric("weir_backend_dead_in_service_total", 1.0);
    barrier.open(2);
    assert_eq!(server.get("/next").text(), "/next");
}

#[test]
fn who_leaves_within_an_answer_frees_the_slot_when_it_has_been_read_out() {
    let rest = Barrier::default();
    let pass = rest.clone();
    let backend = Backend::new(move |call| {
        if call.asked.target() == "/first" {
            call.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nbegun");
            pass.pass();
            call.send("ended");
            return Then::Keep;
        }
        call.ok(call.asked.target())
    });
    let server = Server::before(&backend, &["--backend-limit", "1", "--workers", "1"]);
    let mut clients = queue(&server, &backend, &["/b"]);
    assert_eq!(clients[0].head().status, 200);
    drop(clients.remove(0));
    server.wait_for_metric("weir_backend_dead_in_service_total", 1.0);
    let metrics = server.metrics();
    assert_eq!(metrics.sum("weir_backend_dead_while_sending_total"), 1.0);
    assert_eq!(metrics.sum("weir_backend_waiting"), 1.0, "it is sending still");
    rest.open(1);
    assert_eq!(clients[0].response().text(), "/b");
    assert_eq!(backend.connections(), 1, "the connection was used again");
}

#[test]
fn who_leaves_within_an_answer_that_began_before_the_request_had_ended_is_noticed() {
    let alive = "half_closed = \"alive\"\n";
    for (keys, flags) in [("", &[][..]), (alive, &["--uplink", "1gbit"][..])] {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("its address"));
        let rest = Barrier::default();
        let pass = rest.clone();
        let backend = thread::spawn(move || {
            let (stream, _) = listener.accept().expect("the server connects");
            let mut wire = Wire::new(Socket::from(stream));
            let head = wire.head().expect("the head of a request");
            let begin = b"HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\nbegun";
            wire.carrier.write_all(begin).expect("it is read");
            wire.body(&head).expect("the whole body");
            wire.carrier.write_all(b"whole").expect("it is read");
            pass.pass();
            wire.carrier.write_all(b"!!").expect("it is read");
            while wire.fill().is_ok() {}
        });
        let keys = format!("buffer = \"1kb\"\noverflow = \"push-back\"\n{keys}");
        let server = Server::configured(&format!("{}{keys}", route("/", &[&url])), flags);
        let mut client = server.connect();
        client.send("POST / HTTP/1.1\r\nHost: weir\r\nContent-Length: 100000\r\n\r\n");
        client.send([b'x'; 50_000]);
        assert_eq!((client.head().status, &client.read(5)[..]), (200, &b"begun"[..]));
        client.send([b'x'; 50_000]);
        // What follows the body is no part of it, and no departure.
        client.ask("/next");
        assert_eq!(client.read(5), b"whole");
        assert_eq!(server.metrics().sum("weir_backend_dead_while_sending_total"), 0.0);
        if flags.is_empty() {
            drop(client);
        } else {
            client.reset();
        }
        server.wait_for_metric("weir_backend_dead_while_sending_total", 1.0);
        rest.open(1);
        server.wait_for_metric("weir_backend_under_way", 0.0);
        drop(server);
        backend.join().expect("the backend ends");
    }
}

#[test]
fn who_leaves_while_the_backend_is_connected_to_is_noticed() {
    let silent = Silent::new();
    let keys = "connect_timeout = \"10m\"\nretries = 0\nbackend_limit = 1\n";
    let server = Server::routed(
        &[&silent.url()],
        &format!("{keys}buffer = \"1kb\"\noverflow = \"push-back\"\n"),
    );
    let long = "POST / HTTP/1.1\r\nHost: weir\r\nContent-Length: 100000\r\n\r\n";
    for (left, asked) in [(1.0, "GET / HTTP/1.1\r\nHost: weir\r\n\r\n"), (2.0, long)] {
        let mut client = server.connect();
        client.send(asked);
        if asked == long {
            client.send([b'x'; 50_000]);
        }
        server.wait_for_metric("weir_backend_under_way", 1.0);
        drop(client);
        server.wait_for_metric("weir_backend_under_way", 0.0);
        eventually("it is counted as one that left", || {
            server.metrics().value("weir_responses_total", "{status=\"499\"}") == Some(left)
        });
        let dead = server.metrics().sum("weir_backend_dead_in_queue_total");
        assert_eq!(dead, left, "nothing was asked of it");
    }
}

#[test]
fn who_leaves_while_the_backend_takes_no_more_of_the_body_is_noticed() {
    let full = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", full.local_addr().expect("its address"));
    // It accepts, and reads nothing.
    let accepting = thread::spawn(move || full.accept().expect("a connection"));
    let server = Server::routed(
        &[&url],
        "buffer = \"1kb\"\noverflow = \"push-back\"\nretries = 0\nbackend_limit = 1\n",
    );
    let mut client = server.connect();
    client.send("POST / HTTP/1.1\r\nHost: weir\r\nContent-Length: 1000000000\r\n\r\n");
    client.stream.set_nonblocking(true).expect("a socket");
    let mut refused = 0;
    eventually("nothing more is taken", || {
        // As fast as it goes: a client that holds up the backend would lose it its slot.
        while client.stream.write(&[b'x'; 65_536]).is_ok() {
            refused = 0;
        }
        refused += 1;
        refused > 20
    });
    // A FIN would wait behind what was not taken.
    SockRef::from(&client.stream).set_linger(Some(Duration::ZERO)).expect("a socket");
    drop(client);
    server.wait_for_metric("weir_backend_dead_in_service_total", 1.0);
    eventually("it is counted as one that left", || {
        server.metrics().value("weir_responses_total", "{status=\"499\"}") == Some(1.0)
    });
    assert_eq!(server.metrics().sum("weir_backend_under_way"), 1.0, "it may be at work");
    drop(accepting.join().expect("a connection"));
    server.wait_for_metric("weir_backend_under_way", 0.0);
}

#[test]
fn a_time_out_is_no_departure() {
    let (backend, barrier) = held();
    let server = one_at_a_time(&backend, "first_byte_timeout = \"50ms\"\n");
    assert_eq!(server.get("/late").status, 504);
    let metrics = server.metrics();
    assert_eq!(metrics.sum("weir_backend_dead_in_service_total"), 0.0, "its client was there");
    assert_eq!(metrics.sum("weir_backend_under_way"), 1.0, "and the backend is at work still");
    barrier.open(1);
    server.wait_for_metric("weir_backend_under_way", 0.0);
}

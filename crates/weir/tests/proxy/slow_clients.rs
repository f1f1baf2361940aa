//! Shows that clients which send or take less than the least rate are let go, that no backend is
//! blamed for them, and that who has nothing to send or to take is left alone.

use std::io::{self, Read, Write};
use std::net::TcpListener;
use std::thread;

use crate::support::wire::Wire;
use crate::support::{Backend, Barrier, Client, Server, Then, eventually, noise, route};
use socket2::{Domain, Socket, Type};

/// A rate that everybody keeps up who sends or takes anything at all, over a short time.
const RATE: &str = "min_rate = \"10\"\nmin_rate_period = \"1s\"\n";

/// The ways a server sends: at once, and over the uplink's gate.
const WAYS: [&[&str]; 2] = [&[], &["--uplink", "1gbit"]];

const POST: &str = "POST / HTTP/1.1\r\nHost: weir\r\nContent-Length: 100000\r\n\r\n";

/// One route with `keys`, which sends bodies on as they come or waits until they are whole.
fn server(backend: &Backend, keys: &str, flags: &[&str]) -> Server {
    Server::configured(&format!("{RATE}{}{keys}", route("/", &[&backend.url])), flags)
}

/// Lets more than the period of the least rate pass: a client that sends nothing is let go after it.
fn let_a_period_pass(server: &Server) {
    for _ in 0..2 {
        let mut silent = server.connect();
        silent.send(POST);
        assert_eq!(silent.response().status, 408);
    }
}

fn assert_never_down(server: &Server) {
    let log = server.log();
    assert!(!log.iter().any(|line| line.contains("down")), "{log:#?}");
}

#[test]
fn an_upload_that_stalls_is_answered_with_408_and_blames_no_backend() {
    let backend = Backend::saying("fine");
    for (keys, begun) in [("", 0.0), ("buffer = \"1kb\"\noverflow = \"push-back\"\n", 4.0)] {
        let server = server(&backend, &format!("max_fails = 1\n{keys}"), &[]);
        for _ in 0..4 {
            let mut slow = server.connect();
            slow.send(POST);
            slow.send(noise(1, 50_000));
            let answer = slow.response();
            assert_eq!((answer.status, answer.field("Connection")), (408, Some("close")));
        }
        let metrics = server.metrics();
        assert_eq!(metrics.sum("weir_backend_calls_total"), begun, "{keys}");
        assert_eq!(metrics.sum("weir_backend_failed_calls_total"), 0.0);
        assert_eq!(server.get("/").text(), "fine");
        assert_never_down(&server);
        server.wait_for_metric("weir_backend_under_way", 0.0);
    }
}

#[test]
fn who_takes_too_little_of_an_answer_is_cut_and_named() {
    const SIZE: usize = 40_000_000;
    let backend = Backend::new(|call| call.ok(noise(7, SIZE)));
    for flags in WAYS {
        let server = server(&backend, "", flags);
        let mut slow = Client::with_small_buffer(server.address());
        slow.ask("/");
        server.wait_for_metric("weir_incomplete_responses_total", 1.0);
        eventually("it is named", || {
            let of_rate = |line: &String| line.contains("127.0.0.1") && line.contains("min_rate");
            server.log().iter().any(of_rate)
        });
        slow.assert_reset();
        for figure in ["weir_proxy_memory_bytes", "weir_proxy_disk_bytes"] {
            server.wait_for_metric(figure, 0.0);
        }
        assert!(server.get("/").body == noise(7, SIZE), "who takes it gets it");
    }
}

#[test]
fn who_takes_too_little_of_a_file_is_cut() {
    let flags = ["--min-rate", "10", "--min-rate-period", "1s"];
    for way in WAYS {
        let server = Server::builtin(&[&flags, way].concat());
        let mut slow = Client::with_small_buffer(server.address());
        slow.ask("/files/1gb.bin");
        server.wait_for_metric("weir_incomplete_responses_total", 1.0);
        slow.assert_reset();
    }
}

#[test]
fn a_stream_and_a_tunnel_with_nothing_to_send_are_left_alone() {
    let next = Barrier::default();
    let more = next.clone();
    let backend = Backend::new(move |call| {
        match call.asked.target() {
            "/events" => call.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"),
            "/switch" => call.send(
                "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: chat\r\n\r\n",
            ),
            _ => return call.ok("fine"),
        };
        call.send("4\r\none\n\r\n");
        more.pass();
        call.send("4\r\ntwo\n\r\n");
        call.until_closed();
        Then::Close
    });
    for flags in WAYS {
        let server = server(&backend, "", flags);
        let mut events = server.connect();
        events.ask("/events");
        assert_eq!(events.head().status, 200);
        let mut tunnel = server.connect();
        tunnel.ask_with("/switch", "Connection: Upgrade\r\nUpgrade: chat\r\n");
        assert_eq!(tunnel.head().status, 101);
        for client in [&mut events, &mut tunnel] {
            assert_eq!(client.read(9), b"4\r\none\n\r\n");
        }
        let_a_period_pass(&server);
        next.open(2);
        for client in [&mut events, &mut tunnel] {
            assert_eq!(client.read(9), b"4\r\ntwo\n\r\n");
        }
    }
}

#[test]
fn a_backend_that_is_slow_does_not_make_its_client_slow() {
    let (pass, go_on) = (Barrier::default(), Barrier::default());
    let (passes, goes_on) = (pass.clone(), go_on.clone());
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("its address"));
    // Takes what kernels keep, and the rest when it is told.
    let backend = thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("the server connects");
        passes.open(1);
        goes_on.pass();
        let mut space = vec![0; 65_536];
        let mut bytes = 0;
        while bytes < 50_000_000 {
            bytes += stream.read(&mut space).expect("the request comes");
        }
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nwhole").expect("it is read");
        let _ = io::copy(&mut stream, &mut io::sink());
    });
    let other = Backend::saying("other");
    let route_of =
        |path: &str, url: &str| format!("{}overflow = \"push-back\"\n", route(path, &[url]));
    // More than the client could send in a period of which the backend had a part.
    let rate = "min_rate = \"20mb\"\nmin_rate_period = \"1s\"\n";
    let text = format!("{rate}{}{}", route_of("/slow", &url), route_of("/", &other.url));
    let server = Server::configured(&text, &[]);
    let mut client = server.connect();
    client.send("POST /slow HTTP/1.1\r\nHost: weir\r\nContent-Length: 50000000\r\n\r\n");
    let mut sending = client.stream.try_clone().expect("a descriptor");
    let sender = thread::spawn(move || sending.write_all(&vec![b'x'; 50_000_000]));
    pass.pass();
    let_a_period_pass(&server);
    go_on.open(1);
    assert_eq!(client.response().text(), "whole");
    sender.join().expect("it was sent").expect("all of it");
    drop(client);
    drop(server);
    backend.join().expect("the backend ends");
}

#[test]
fn the_time_of_a_slow_upload_is_not_the_backends() {
    let backend =
        Backend::new(|call| call.ok(call.asked.body.as_ref().map_or(0, Vec::len).to_string()));
    let keys = "buffer = \"1kb\"\noverflow = \"push-back\"\nmax_fails = 1\nretries = 0\n";
    // Nobody is too slow here but for the one by which time is told.
    let text = format!(
        "min_rate = 0\nsend_timeout = \"1s\"\n{}total_timeout = \"300ms\"\n{keys}",
        route("/", &[&backend.url])
    );
    let server = Server::configured(&text, &[]);
    let mut slow = server.connect();
    slow.send(POST);
    slow.send(noise(1, 50_000));
    server.wait_for_metric("weir_backend_calls_total", 1.0);
    // Three times as long as the backend may take.
    let mut silent = server.connect();
    silent.send("POST /silent HTTP/1.1\r\nHost: weir\r\nContent-Length: 5\r\n\r\n");
    let mut rest = 50_000;
    eventually("that time has passed", || {
        slow.send([b'x'; 10]);
        rest -= 10;
        silent.has_answer()
    });
    assert_eq!(silent.response().status, 408);
    slow.send(noise(1, rest));
    assert_eq!(slow.response().text(), "100000");
    assert_never_down(&server);
    assert_eq!(server.get("/").status, 200);
}

#[test]
fn an_answer_that_has_begun_waits_for_the_rest_of_a_slow_upload() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("its address"));
    // Begins to answer at once, and says at last how long the request was.
    let backend = thread::spawn(move || {
        let (stream, _) = listener.accept().expect("the server connects");
        let mut wire = Wire::new(Socket::from(stream));
        let head = wire.head().expect("the head of a request");
        let begin = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n";
        wire.carrier.write_all(begin).expect("it is read");
        let length = wire.body(&head).expect("the whole body").data.len().to_string();
        wire.carrier.write_all(length.as_bytes()).expect("it is read");
        while wire.fill().is_ok() {}
    });
    let barrier = Barrier::default();
    let held = barrier.clone();
    let stopping = Backend::new(move |call| {
        call.send("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\nbegun");
        held.pass();
        Then::Close
    });
    let keys = "buffer = \"1kb\"\noverflow = \"push-back\"\nidle_timeout = \"500ms\"\n";
    let routes = [("/stops", &stopping.url), ("/", &url)]
        .map(|(path, url)| format!("{}{keys}", route(path, &[url.as_str()])));
    let server = Server::configured(&format!("workers = 1\n{}", routes.concat()), &[]);
    let mut slow = server.connect();
    slow.send(POST);
    slow.send(noise(1, 50_000));
    assert_eq!(slow.head().status, 200);
    // One that began later is cut: the backend of the first has sent nothing for longer than it may.
    let mut other = server.connect();
    other.ask("/stops");
    assert_eq!(other.head().status, 200);
    assert_eq!(other.rest(), b"begun");
    slow.send(noise(2, 50_000));
    assert_eq!(slow.read(6), b"100000");
    barrier.open(1);
    drop((slow, server));
    backend.join().expect("the backend ends");
}

#[test]
fn a_backend_may_take_its_time_for_a_large_request() {
    const SIZE: usize = 20_000_000;
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
    socket.set_recv_buffer_size(16_384).expect("a small buffer");
    socket.bind(&std::net::SocketAddr::from(([127, 0, 0, 1], 0)).into()).expect("a port");
    socket.listen(1).expect("it can listen");
    let listener = TcpListener::from(socket);
    let url = format!("http://{}", listener.local_addr().expect("its address"));
    let (taken, go_on) = (Barrier::default(), Barrier::default());
    let (takes, goes_on) = (taken.clone(), go_on.clone());
    let backend = thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("the server connects");
        let mut space = vec![0; 65_536];
        let mut bytes = 0;
        while bytes < SIZE {
            bytes += stream.read(&mut space).expect("the request comes");
            if bytes < SIZE / 4 {
                takes.open(1);
                goes_on.pass();
            }
        }
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nwhole").expect("it is read");
        let _ = io::copy(&mut stream, &mut io::sink());
    });
    let other = Backend::saying("other");
    // It takes some all the time, but the first byte of its answer is late from the start.
    let text = format!(
        "{RATE}{}first_byte_timeout = \"100ms\"\n{}",
        route("/slow", &[&url]),
        route("/", &[&other.url])
    );
    let server = Server::configured(&text, &[]);
    let mut client = server.connect();
    client.send(format!("POST /slow HTTP/1.1\r\nHost: weir\r\nContent-Length: {SIZE}\r\n\r\n"));
    client.send(noise(1, SIZE));
    taken.pass();
    let_a_period_pass(&server);
    go_on.open(usize::MAX / 2);
    assert_eq!(client.response().text(), "whole");
    drop((client, server));
    backend.join().expect("the backend ends");
}

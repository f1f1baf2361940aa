//! How requests end against servers that do wrong, and what impatient users do about it.

use std::io::{ErrorKind, Read};
use std::net::TcpListener;

use crate::scripted::{Act, Server, answer, count, one_by_one, open, plan, request, requests};
use weir_stats::Outcome;

/// An address at which nobody listens, for as long as the socket is kept.
fn refusing() -> (socket2::Socket, std::net::SocketAddr) {
    let kind = socket2::Type::STREAM;
    let socket = socket2::Socket::new(socket2::Domain::IPV4, kind, None).expect("a socket");
    let any: std::net::SocketAddr = "127.0.0.1:0".parse().expect("an address");
    socket.bind(&any.into()).expect("a port");
    let address = socket.local_addr().expect("an address").as_socket().expect("an IP address");
    (socket, address)
}

fn script(path: &str) -> Act {
    match path {
        "/ok" => Act::Send(answer(4)),
        "/status" => Act::Send(b"HTTP/1.1 404 No\r\nContent-Length: 2\r\n\r\nno".to_vec()),
        "/long" => Act::Send(answer(5)),
        "/bytes" => Act::Send(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabcd".to_vec()),
        "/other" => Act::Send(b"220 mail.example.net ESMTP\r\n\r\n".to_vec()),
        "/short" => Act::SendAndClose(answer(4)[..40].to_vec()),
        "/nothing" => Act::SendAndClose(Vec::new()),
        "/reset" => Act::Reset,
        _ => Act::Stall,
    }
}

#[test]
fn each_fault_has_its_own_outcome() {
    let server = Server::start(|seen| script(seen.text.split(' ').nth(1).unwrap_or("")));
    let expected = [
        ("/ok", Outcome::Ok),
        ("/status", Outcome::Status),
        ("/long", Outcome::Wrong),
        ("/bytes", Outcome::Wrong),
        ("/other", Outcome::Wrong),
        ("/short", Outcome::Short),
        ("/nothing", Outcome::Short),
        ("/reset", Outcome::Reset),
    ];
    for (path, outcome) in expected {
        let (report, records) = open(&plan(server.address), vec![request(0.01, path, 4)]);
        let [record] = &records[..] else { panic!("{path}: {records:?}") };
        assert_eq!(record.outcome, outcome, "{path}");
        assert_eq!(record.response_time().is_some(), outcome == Outcome::Ok, "{path}");
        let complete = matches!(outcome, Outcome::Ok | Outcome::Status);
        assert_eq!(record.last_byte.is_some(), complete, "{path}");
        assert_eq!((record.attempts, record.scheduled, report.connections), (1, 0.01, 1), "{path}");
        let times = [Some(record.scheduled), Some(record.started), record.connected];
        let times = times.into_iter().chain([record.first_byte, record.last_byte]).flatten();
        assert!(times.is_sorted(), "{path}: {record:?}");
    }
}

#[test]
fn nobody_listening_is_refused_and_retried() {
    let (_socket, address) = refusing();
    let mut plan = plan(address);
    let (_, records) = open(&plan, requests(3));
    assert_eq!(count(&records, Outcome::Refused), 3);
    assert!(records.iter().all(|record| record.attempts == 1 && record.connected.is_none()));
    plan.retries = 4;
    let (report, records) = open(&plan, requests(3));
    assert!(records.iter().all(|record| record.attempts == 5), "{records:?}");
    assert_eq!((records.len(), report.lag.len()), (3, 4));
}

#[test]
fn what_is_open_at_the_end_is_unfinished() {
    let server = Server::start(|_| Act::Stall);
    let mut plan = plan(server.address);
    plan.drain = 0.02;
    let (_, records) = open(&plan, requests(3));
    assert_eq!(count(&records, Outcome::Unfinished), 3);
}

/// Otherwise the kernel goes on sending the request of a run that is over.
#[test]
fn what_is_open_at_the_end_is_reset() {
    // The kernel accepts for it meanwhile.
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let mut plan = plan(listener.local_addr().expect("an address"));
    plan.drain = 0.02;
    let (_, records) = open(&plan, requests(1));
    assert_eq!(count(&records, Outcome::Unfinished), 1);
    let (mut stream, _) = listener.accept().expect("the client has connected");
    let end = stream.read_to_end(&mut Vec::new()).map_err(|error| error.kind());
    assert_eq!(end, Err(ErrorKind::ConnectionReset));
}

#[test]
fn who_gives_up_for_good_has_tried_as_often_as_he_was_to() {
    let server = Server::start(|_| Act::Stall);
    let mut plan = plan(server.address);
    (plan.abort_after, plan.retries) = (Some(0.02), 2);
    let (report, records) = open(&plan, requests(1));
    assert_eq!((records[0].outcome, records[0].attempts), (Outcome::Abandoned, 3));
    assert_eq!(report.connections, 3);
    assert!(report.duration >= 0.06, "three times 20 ms, not {}", report.duration);
}

#[test]
fn each_request_has_its_own_patience() {
    let server = Server::start(|seen| if seen.total == 0 { script("/ok") } else { Act::Stall });
    let mut plan = plan(server.address);
    plan.abort_after = Some(0.4);
    let (report, records) = open(&plan, vec![request(0.0, "/", 4), request(0.06, "/", 4)]);
    let outcomes: Vec<Outcome> = records.iter().map(|record| record.outcome).collect();
    assert_eq!(outcomes, [Outcome::Ok, Outcome::Abandoned]);
    assert!(report.duration >= 0.46, "not the patience of another: {}", report.duration);
}

#[test]
fn latency_of_a_retry_counts_from_the_scheduled_time() {
    let first = |seen: &crate::scripted::Seen| {
        if seen.connection == 0 { Act::Stall } else { script("/ok") }
    };
    let server = Server::start(first);
    let mut plan = plan(server.address);
    (plan.abort_after, plan.retries) = (Some(0.3), 1);
    let (_, records) = open(&plan, vec![request(0.01, "/", 4)]);
    assert_eq!((records[0].outcome, records[0].attempts), (Outcome::Ok, 2));
    assert!(records[0].response_time().is_some_and(|time| time >= 0.3), "{records:?}");
    assert!(records[0].connected.is_some_and(|at| at >= 0.31), "of the last attempt: {records:?}");
}

#[test]
fn a_reset_is_retried_at_once() {
    let server = Server::start(|seen| if seen.total < 2 { Act::Reset } else { script("/ok") });
    let mut plan = plan(server.address);
    plan.retries = 5;
    let (_, records) = open(&plan, requests(1));
    assert_eq!((records[0].outcome, records[0].attempts), (Outcome::Ok, 3));
}

#[test]
fn a_wrong_byte_at_the_end_of_a_long_body_is_seen() {
    let size = 1_500_000;
    let server = Server::start(move |seen| {
        let mut bytes = answer(size);
        if seen.text.starts_with("GET /wrong") {
            *bytes.last_mut().expect("many") ^= 1;
        }
        Act::Send(bytes)
    });
    let paths = ["/right", "/wrong", "/right"];
    let asked = paths.map(|path| request(0.0, path, size as u64)).to_vec();
    let (report, records) = one_by_one(&plan(server.address), asked);
    let outcomes: Vec<Outcome> = records.iter().map(|record| record.outcome).collect();
    assert_eq!(outcomes, [Outcome::Ok, Outcome::Wrong, Outcome::Ok]);
    assert_eq!(report.body_bytes, 3 * size as u64);
}

#[test]
fn a_request_may_be_larger_than_a_socket_takes_at_once() {
    let server = Server::start(|_| script("/ok"));
    let mut plan = plan(server.address);
    plan.headers = format!("X-Long: {}\r\n", "x".repeat(20_000_000));
    let (_, records) = open(&plan, requests(2));
    assert_eq!(count(&records, Outcome::Ok), 2);
    assert!(server.seen().iter().all(|seen| seen.text.len() > 20_000_000));
}

#[test]
fn an_answer_that_comes_before_the_request_is_seen() {
    use std::io::{Read, Write};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let mut plan = plan(listener.local_addr().expect("an address"));
    plan.drain = 5.0;
    let (answered, wait) = std::sync::mpsc::channel();
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a connection");
        let busy = b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
        stream.write_all(busy).expect("room in the buffer");
        stream.shutdown(std::net::Shutdown::Write).expect("an open connection");
        answered.send(()).expect("the demand waits");
        stream.read_to_end(&mut Vec::new())
    });
    // The demand's end holds up the loop until the answer is there.
    let end = std::iter::from_fn(move || {
        wait.recv_timeout(std::time::Duration::from_secs(5)).ok();
        None
    });
    // One is looked at ahead: the first has been started when the end is asked for.
    let late = weir_workload::Request { at: 0.001, ..request(0.0, "/", 4) };
    let demand = vec![request(0.0, "/", 4), late].into_iter().chain(end);
    let (_, records) = crate::scripted::play(&plan, weir_load::Demand::Open(Box::new(demand)));
    assert!(records.iter().any(|record| record.outcome == Outcome::Status), "{records:?}");
    drop(server);
}

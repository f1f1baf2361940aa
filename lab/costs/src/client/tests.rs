//! The client against small servers in threads of this process.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::connection::CUT_OFF;

const TAG: [u8; 16] = *b"0123456789abcdef";
const LONG: Duration = Duration::from_secs(60);

fn targets() -> [Target; 1] {
    [Target { path: "/x".into(), length: 40_000, tag: TAG, hot: true }]
}

fn listen() -> (TcpListener, SocketAddrV4) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let SocketAddr::V4(address) = listener.local_addr().unwrap() else { panic!() };
    (listener, address)
}

/// A server that gives every connection to `serve`, and how many there were.
fn server(serve: fn(TcpStream)) -> (SocketAddrV4, Arc<AtomicUsize>) {
    let (listener, address) = listen();
    let accepted = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&accepted);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            count.fetch_add(1, Ordering::Relaxed);
            std::thread::spawn(move || serve(stream));
        }
    });
    (address, accepted)
}

/// Answers requests, which come one at a time and in one piece.
fn answer(mut stream: TcpStream) {
    let mut body = vec![b'.'; 40_000];
    body[..16].copy_from_slice(&TAG);
    let mut request = [0; 1000];
    while let Ok(1..) = stream.read(&mut request) {
        let head = b"HTTP/1.1 200 OK\r\nContent-Length: 40000\r\n\r\n";
        if stream.write_all(&[&head[..], &body].concat()).is_err() {
            return;
        }
    }
}

fn run(address: SocketAddrV4, plan: Plan) -> (Outcome, usize) {
    let targets = targets();
    let mut client = Client::new(address, &targets, 1).unwrap();
    let outcome = client.run(plan, &mut |_| 0).unwrap();
    (outcome, client.connections())
}

#[test]
fn a_closed_loop_makes_as_many_requests_as_asked_for() {
    let (address, accepted) = server(answer);
    let plan = Plan { requests: 100, ..Plan::closed(4, LONG) };
    let (outcome, open) = run(address, plan);
    assert_eq!((outcome.requests, outcome.wrong(), open), (100, 0, 4));
    assert_eq!(outcome.bytes_in_time, 100 * 40_000);
    assert_eq!(outcome.hot.percentiles().count, 100);
    assert_eq!(accepted.load(Ordering::Relaxed), 4);
}

#[test]
fn connections_are_used_as_the_plan_says() {
    let (address, accepted) = server(answer);
    let plan = Plan { requests: 30, ..Plan::closed(2, LONG) };
    let (outcome, open) = run(address, Plan { reuse: Reuse::Close, ..plan });
    assert_eq!((outcome.requests, open, accepted.load(Ordering::Relaxed)), (30, 0, 30));
    let (outcome, open) = run(address, Plan { reuse: Reuse::Never, connections: 30, ..plan });
    assert_eq!((outcome.requests, open, accepted.load(Ordering::Relaxed)), (30, 30, 60));
}

#[test]
fn an_open_loop_keeps_its_rate_and_its_bound_of_connections() {
    let (address, accepted) = server(answer);
    let (outcome, _) = run(address, Plan::open(500.0, Duration::from_millis(400), 3));
    assert!((100..400).contains(&outcome.requests), "{}", outcome.requests);
    assert!(outcome.errors.is_empty(), "{:?}", outcome.errors);
    assert!(accepted.load(Ordering::Relaxed) <= 3);
}

#[test]
fn silence_counts_as_unanswered_and_an_end_as_cut_off() {
    let silent = |mut stream: TcpStream| _ = stream.read_to_end(&mut Vec::new());
    let (address, _) = server(silent);
    let time = Duration::from_millis(50);
    let (outcome, _) = run(address, Plan { drain: time, ..Plan::closed(3, time) });
    assert_eq!(outcome.errors.get(UNANSWERED), Some(&3));
    assert_eq!((outcome.requests, outcome.all.percentiles().count), (0, 3));

    let (address, _) = server(|stream| _ = stream.set_nodelay(true));
    let (outcome, _) = run(address, Plan { requests: 5, ..Plan::closed(1, LONG) });
    assert_eq!(outcome.errors.get(CUT_OFF), Some(&5), "{:?}", outcome.errors);
}

#[test]
fn a_server_that_refuses_ends_nothing_but_its_requests() {
    let (listener, address) = listen();
    drop(listener);
    let (outcome, open) = run(address, Plan { requests: 5000, ..Plan::closed(10, LONG) });
    assert_eq!((outcome.requests, outcome.wrong(), open), (0, 5000, 0));
}

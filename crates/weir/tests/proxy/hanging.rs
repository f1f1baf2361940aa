//! Shows that calls which the backend does not answer for long, and clients that want more than their
//! share, take nothing from others.

use std::net::IpAddr;
use std::time::{Duration, Instant};

use crate::support::{
    Backend, Barrier, Client, Server, eventually, held, one_at_a_time, wait_for_waiting,
};

/// Clients refuse to wait for less than a second, whatever the gate believes.
const LONGER_THAN_THE_LEAST: Duration = Duration::from_millis(1500);

/// A backend that answers `/poll` when the barrier lets it, and everything else at once.
fn polled() -> (Backend, Barrier) {
    let barrier = Barrier::default();
    let pass = barrier.clone();
    let backend = Backend::new(move |call| {
        if call.asked.target() == "/poll" {
            pass.pass();
        }
        call.ok(call.asked.target())
    });
    (backend, barrier)
}

fn from(last: u8, server: &Server) -> Client {
    Client::connect_from(IpAddr::from([127, 0, 1, last]), server.address())
}

fn asking_from(last: u8, server: &Server, path: &str) -> Client {
    let mut client = from(last, server);
    client.ask(path);
    client
}

#[test]
fn one_clients_long_polls_keep_nobody_out() {
    for leaves in [false, true] {
        let (backend, _barrier) = polled();
        let server = Server::before(&backend, &["--workers", "1"]);
        let mut polls: Vec<_> = (0..8).map(|_| asking_from(9, &server, "/poll")).collect();
        server.wait_for_metric("weir_backend_under_way", 8.0);
        assert_eq!(server.metrics().sum("weir_backend_limit"), 8.0);
        if leaves {
            polls.clear();
            server.wait_for_metric("weir_backend_dead_in_service_total", 8.0);
        }
        for last in 20..30 {
            assert_eq!(from(last, &server).get("/").status, 200, "they leave: {leaves}");
        }
        let metrics = server.metrics();
        assert_eq!(metrics.sum("weir_backend_refused_total"), 0.0);
        assert_eq!(metrics.sum("weir_backend_under_way"), 8.0, "none of the polls has ended");
    }
}

#[test]
fn long_polls_of_many_clients_give_their_slots_to_others() {
    for leave in [false, true] {
        let (backend, barrier) = polled();
        let server = Server::before(&backend, &["--workers", "1"]);
        let mut polls: Vec<_> = (1..=8).map(|last| asking_from(last, &server, "/poll")).collect();
        server.wait_for_metric("weir_backend_under_way", 8.0);
        if leave {
            polls.clear();
            server.wait_for_metric("weir_backend_dead_in_service_total", 8.0);
        }
        for last in 20..30 {
            assert_eq!(from(last, &server).get("/").status, 200, "they leave: {leave}");
        }
        // More polls than the limit is.
        let more: Vec<_> = (30..46).map(|last| asking_from(last, &server, "/poll")).collect();
        eventually("they reach the backend", || {
            assert_eq!(from(50, &server).get("/").status, 200);
            server.metrics().sum("weir_backend_under_way") == 24.0
        });
        assert!(server.metrics().sum("weir_backend_aside") >= 16.0);
        barrier.open(24);
        for mut client in polls.into_iter().chain(more) {
            assert_eq!(client.response().text(), "/poll");
        }
        server.wait_for_metric("weir_backend_under_way", 0.0);
        assert_eq!(server.metrics().sum("weir_backend_aside"), 0.0);
    }
}

#[test]
fn a_client_whose_calls_are_long_leaves_a_slot_to_others() {
    let (backend, barrier) = polled();
    let server = Server::routed(&[&backend.url], "limit = 4");
    assert_eq!(from(1, &server).get("/").status, 200);
    let slow: Vec<_> = (0..20).map(|_| asking_from(9, &server, "/poll")).collect();
    server.wait_for_metric("weir_backend_waiting", 17.0);
    for last in 20..40 {
        assert_eq!(from(last, &server).get("/").status, 200);
    }
    let metrics = server.metrics();
    let now = ["weir_backend_under_way", "weir_backend_aside"].map(|name| metrics.sum(name));
    assert_eq!(now, [3.0, 0.0], "a limit that was configured is not exceeded");
    barrier.open(20);
    for mut client in slow {
        assert_eq!(client.response().text(), "/poll");
    }
}

#[test]
fn departures_of_one_client_do_not_make_others_impatient() {
    let (backend, barrier) = held();
    let server = one_at_a_time(&backend, "");
    let mut first = asking_from(1, &server, "/first");
    backend.wait_for_requests(1);
    let quick: Vec<_> = (0..40).map(|_| asking_from(9, &server, "/quick")).collect();
    wait_for_waiting(&server, 40);
    let since = Instant::now();
    // Long enough to be counted.
    eventually("they have waited", || since.elapsed() > Duration::from_millis(200));
    drop(quick);
    server.wait_for_metric("weir_backend_dead_in_queue_total", 40.0);
    let mut others: Vec<_> = (20..30).map(|last| asking_from(last, &server, "/other")).collect();
    wait_for_waiting(&server, 10);
    let since = Instant::now();
    eventually("they have waited for longer", || {
        let refused = server.metrics().sum("weir_backend_refused_total");
        assert_eq!(refused, 0.0, "after {:?}", since.elapsed());
        since.elapsed() > LONGER_THAN_THE_LEAST
    });
    barrier.open(11);
    assert_eq!(first.response().text(), "/first");
    others.iter_mut().for_each(|other| assert_eq!(other.response().text(), "/other"));
}

//! Shows in which order requests wait at a backend's gate, and who is refused.

use std::net::IpAddr;

use crate::support::wait_for_waiting;
use crate::support::{Backend, Barrier, Client, Server, asking, held, one_at_a_time, queue, route};

#[test]
fn who_cannot_be_served_in_time_is_told_when_to_ask_again() {
    let full = "most_waiting = 1\n";
    for (keys, waiting) in [(full, 2), ("longest_wait = \"100ms\"\n", 1)] {
        let (backend, barrier) = held();
        let server = one_at_a_time(&backend, keys);
        let mut first = asking(&server, "/first");
        backend.wait_for_requests(1);
        let mut others: Vec<_> = (0..waiting)
            .map(|count| {
                let client = asking(&server, "/other");
                if keys == full && count == 0 {
                    wait_for_waiting(&server, 1);
                }
                client
            })
            .collect();
        server.wait_for_metric("weir_backend_refused_total", 1.0);
        let mut refused = others.pop().expect("there is one");
        let answer = refused.response();
        assert_eq!(answer.status, 503, "{keys}");
        let after = answer.field("Retry-After").map(str::parse::<u32>);
        assert!(matches!(after, Some(Ok(1..=60))), "{}", answer.head);
        barrier.open(3);
        assert_eq!(first.response().text(), "/first");
        // The connection can be used again at once.
        assert_eq!(refused.get("/again").text(), "/again", "{keys}");
        others.iter_mut().for_each(|other| assert_eq!(other.response().text(), "/other"));
    }
}

#[test]
fn the_order_is_the_configured_one() {
    for (order, expected) in [
        ("fifo", ["/b", "/c", "/d"]),
        ("adaptive", ["/b", "/c", "/d"]),
        ("edf", ["/b", "/c", "/d"]),
        ("newest-first", ["/d", "/c", "/b"]),
    ] {
        let (backend, barrier) = held();
        let server = Server::before(&backend, &["--backend-limit", "1", "--backend-order", order]);
        let mut clients = queue(&server, &backend, &["/b", "/c", "/d"]);
        barrier.open(4);
        clients.iter_mut().for_each(|client| assert_eq!(client.response().status, 200));
        assert_eq!(backend.targets()[1..], expected, "{order}");
    }
}

#[test]
fn what_is_learned_to_be_short_can_go_first() {
    let (barrier, teach) = (Barrier::default(), std::time::Duration::from_millis(60));
    let pass = barrier.clone();
    let backend = Backend::new(move |call| {
        match call.asked.target() {
            "/long" => std::thread::sleep(teach),
            "/first" => pass.pass(),
            _ => {}
        }
        call.ok("")
    });
    let server = one_at_a_time(&backend, "order = \"shortest-expected\"\n");
    for path in ["/long", "/short", "/long", "/short"] {
        assert_eq!(server.get(path).status, 200);
    }
    let mut clients = vec![asking(&server, "/first")];
    backend.wait_for_requests(5);
    for (count, path) in ["/long", "/short", "/long", "/short"].iter().enumerate() {
        clients.push(asking(&server, path));
        wait_for_waiting(&server, count + 1);
    }
    barrier.open(1);
    clients.iter_mut().for_each(|client| assert_eq!(client.response().status, 200));
    assert_eq!(backend.targets()[5..], ["/short", "/short", "/long", "/long"]);
}

#[test]
fn a_client_that_asks_much_waits_behind_one_that_asks_little() {
    let (backend, barrier) = held();
    let server = one_at_a_time(&backend, "order = \"fifo\"\n");
    let mut clients = queue(&server, &backend, &["/much", "/much", "/much", "/much"]);
    let modest: IpAddr = [127, 0, 0, 9].into();
    let mut modest = Client::connect_from(modest, server.address());
    modest.ask("/modest");
    wait_for_waiting(&server, 5);
    barrier.open(6);
    clients.iter_mut().for_each(|client| assert_eq!(client.response().status, 200));
    assert_eq!(modest.response().status, 200);
    let targets = backend.targets();
    let place = targets.iter().position(|target| target == "/modest");
    assert!(place.is_some_and(|place| place <= 2), "{targets:?}");
}

#[test]
fn routes_to_one_backend_share_its_gate_by_their_priority() {
    let (backend, barrier) = held();
    let url = [backend.url.as_str()];
    let text =
        [route("/", &url) + "limit = 1\n", route("/urgent", &url) + "limit = 1\npriority = 1\n"];
    let server = Server::configured(&text.concat(), &[]);
    let mut clients = queue(&server, &backend, &["/b", "/urgent"]);
    barrier.open(3);
    clients.iter_mut().for_each(|client| assert_eq!(client.response().status, 200));
    assert_eq!(backend.targets(), ["/first", "/urgent", "/b"]);
}

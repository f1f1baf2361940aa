//! The snippets about who may ask, how often, and who it is that asks.

use std::net::SocketAddr;

use super::both::{Stand, get, get_with};
use crate::support::passwords::{HASH, RIGHT, WRONG};
use crate::support::{Backend, Client, held};

#[test]
fn networks() {
    let both = Stand::of("Networks")
        .files(&[("srv/www/index.html", "for all"), ("srv/www/staff/page", "for some")])
        .with("10.66.0.0/16", "127.0.0.4/30")
        .with("10.0.0.0/8", "127.0.0.0/29")
        .start();
    // One that is allowed, one of the smaller network, and one of neither.
    for (last, status) in [(1, 200), (5, 403), (9, 403)] {
        let from = [127, 0, 0, last];
        for answer in both.ask_from(from, &get("/staff/page")) {
            assert_eq!(
                (answer.status, answer.text() == "for some"),
                (status, status == 200),
                "{last}"
            );
        }
        for answer in both.ask_from(from, &get("/")) {
            assert_eq!(answer.text(), "for all", "{last}");
        }
    }
}

#[test]
fn passwords() {
    let users = format!("me:{HASH}\n");
    let both = Stand::of("Passwords")
        .files(&[("srv/www/index.html", "for all"), ("srv/www/staff/page", "for some")])
        .file("etc/nginx/passwords", &users)
        .file("etc/weir/passwords", &users)
        .start();
    for (path, fields, status) in [
        ("/", "", 200),
        ("/staff/page", "", 401),
        ("/staff/page", WRONG, 401),
        ("/staff/missing", "", 401),
        ("/staff/page", RIGHT, 200),
        ("/staff/missing", RIGHT, 404),
    ] {
        let answers = both.same(&get_with(path, fields), &[]);
        assert_eq!(answers[1].status, status, "{path} {fields}");
        // By design: weir says how the password is written.
        let challenges = answers.each_ref().map(|answer| answer.field("WWW-Authenticate"));
        let (plain, with_charset) =
            ("Basic realm=\"Staff\"", "Basic realm=\"Staff\", charset=\"UTF-8\"");
        let expected = [plain, with_charset].map(|challenge| (status == 401).then_some(challenge));
        assert_eq!(challenges, expected, "{path} {fields}");
    }
}

#[test]
fn limits_of_requests() {
    let backend = Backend::saying("ok");
    // As slow as each can be, so that no time in which the test is held up matters.
    let both = Stand::of("Limits of requests")
        .before(&backend)
        .with("5r/m", "1r/m")
        .with("\"5/m\"", "\"1/h\"")
        .start();
    for number in 1..=12 {
        let [nginx, weir] = both.same(&get("/login"), &[]);
        assert_eq!(weir.status, if number <= 10 { 200 } else { 429 }, "{number}");
        // By design: it says when to come again.
        let told = [nginx, weir].map(|answer| answer.field("Retry-After").is_some());
        assert_eq!(told, [false, number > 10], "{number}");
    }
    assert_eq!(backend.requests().len(), 20);
}

#[test]
fn limits_of_connections() {
    let (backend, barrier) = held();
    let both = Stand::of("Limits of connections")
        .before(&backend)
        .with("clients 20;", "clients 2;")
        .with("limit_connections = 20", "limit_connections = 2")
        .start();
    let third = |address: SocketAddr| {
        let mut client = Client::connect(address);
        // It may have been refused already.
        let _ = client.try_send(get("/"));
        client.response().status
    };
    let [nginx, weir] = both.addresses();
    let mut two = [nginx, nginx].map(Client::connect);
    two.iter_mut().for_each(|client| client.ask("/"));
    backend.wait_for_requests(2);
    assert_eq!(third(nginx), 429);
    barrier.open(2);
    two.iter_mut().for_each(|client| assert_eq!(client.response().status, 200));
    // By design: nginx does not count a connection that waits for its next request, and weir does.
    barrier.open(1);
    assert_eq!(third(nginx), 200);
    barrier.open(2);
    let mut two = [weir, weir].map(Client::connect);
    two.iter_mut().for_each(|client| assert_eq!(client.get("/").status, 200));
    assert_eq!(third(weir), 429);
}

#[test]
fn behind_another_proxy() {
    let backend = Backend::saying("ok");
    let both = Stand::of("Behind another proxy")
        .before(&backend)
        .with("10.0.0.0/8", "127.0.0.0/29")
        .start();
    // A proxy that is trusted, and a client that says that it is one.
    for (last, said, client) in [
        (1, "", "127.0.0.1"),
        (1, "192.0.2.1", "192.0.2.1"),
        (1, "6.6.6.6, 192.0.2.1", "192.0.2.1"),
        (1, "6.6.6.6, 192.0.2.1, 127.0.0.2", "192.0.2.1"),
        (1, "6.6.6.6, unknown", "127.0.0.1"),
        (9, "192.0.2.1", "127.0.0.9"),
    ] {
        let fields = format!("X-Forwarded-For: {said}\r\n");
        let request = get_with("/", if said.is_empty() { "" } else { &fields });
        for asked in both.asked_from([127, 0, 0, last], &backend, &request) {
            assert_eq!(
                asked.fields("X-Forwarded-For"),
                [client],
                "{said} from {last}: {}",
                asked.head
            );
        }
    }
}

//! Shows who goes first when descriptors are short: connections that only wait, then newcomers wait;
//! files, backends and the admin address always have some, and no backend is to blame.

use std::fs;
use std::io::Write;

use crate::support::{
    Backend, Client, Server, Then, eventually, get_anew, held, noise, route, tool, weir,
};
use rustix::process::Signal;

/// A server that may have so many descriptors; it has about 20 before the first connection, and
/// a quarter are its reserve.
const MOST: usize = 80;

fn limited(configuration: &str) -> Server {
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    file.write_all(configuration.as_bytes()).expect("room for it");
    let mut command = tool("prlimit", "util-linux");
    command.arg(format!("--nofile={MOST}")).arg(weir().get_program());
    command.args(["serve", "--workers", "1", "--config"]).arg(file.path());
    // The file has been read once the server listens.
    Server::launch(command, &[])
}

/// Everything by a backend that works on many calls at once.
fn proxied(backend: &Backend, connect_timeout: &str) -> Server {
    let keys = format!("backend_limit = 1000\nconnect_timeout = \"{connect_timeout}\"\n");
    limited(&(route("/", &[&backend.url]) + &keys))
}

/// Backends are asked on connections of their own, so that each call takes a descriptor.
fn closing() -> Backend {
    Backend::new(|call| {
        call.ok_with("Connection: close\r\n", "app");
        Then::Close
    })
}

fn assert_nobody_is_blamed(server: &Server) {
    let log = server.log();
    let blamed = |line: &&String| line.contains("backend") || line.contains("cannot accept");
    assert_eq!(log.iter().find(blamed), None);
    let short = log.iter().filter(|line| line.contains("descriptors are short"));
    assert_eq!(short.count(), 1, "it is said once: {log:#?}");
    assert_eq!(server.metrics().sum("weir_accept_errors_total"), 0.0);
}

#[test]
fn connections_that_wait_for_a_request_make_room() {
    let site = tempfile::tempdir().unwrap();
    for number in 0..10 {
        fs::write(site.path().join(number.to_string()), "file").unwrap();
    }
    let backend = closing();
    let root = format!("root = {:?}\n", site.path());
    let mut server = limited(&(root + &route("/app", &[&backend.url])));
    let mut early = server.connect();
    assert_eq!(early.get("/app").text(), "app");
    // All at once, before the server has looked at any of them.
    server.signal(Signal::STOP);
    let mut crowd: Vec<Client> = (0..MOST).map(|_| server.connect()).collect();
    server.signal(Signal::CONT);
    for number in 0..3 * MOST {
        crowd.push(server.connect());
        if number % 24 == 0 {
            // Who has asked before comes before those who have not.
            assert_eq!(early.get(&format!("/{}", number / 24)).text(), "file");
            assert_eq!(early.get("/app").text(), "app");
            assert_eq!(get_anew(server.address(), "/app").text(), "app");
            assert_eq!(get_anew(server.admin(), "/healthz").status, 200);
        }
    }
    // The kernel keeps those who are silent for a second before the server accepts them, in any order.
    eventually("connections of those who are silent are closed", || {
        server.metrics().sum("weir_idle_connections_given_up_total") >= 3.0 * MOST as f64
    });
    let open = crowd.iter().filter(|client| !client.has_answer()).count();
    assert!(open < MOST, "{open} are still open");
    // Nor can others be kept out by heads that never end.
    for number in 0..3 * MOST {
        let mut client = server.connect();
        client.send("GET / HTTP/1.1\r\nHost: we");
        crowd.push(client);
        if number % 24 == 0 {
            assert_eq!(get_anew(server.address(), "/app").text(), "app");
        }
    }
    crowd[4 * MOST].assert_closed();
    assert_nobody_is_blamed(&server);
    drop(crowd);
    server.assert_alive();
}

#[test]
fn while_all_are_busy_newcomers_wait_and_the_admin_address_does_not() {
    let (backend, barrier) = held();
    let server = proxied(&backend, "1h");
    let ask = |_| {
        let mut client = server.connect();
        client.ask("/app");
        client
    };
    let crowd: Vec<Client> = (0..MOST).map(ask).collect();
    eventually("some are asked for", || backend.requests().len() >= MOST / 10);
    // The admin address has its descriptors to itself, and is not used up by its own clients.
    let _idle: Vec<Client> = (0..MOST).map(|_| Client::connect(server.admin())).collect();
    for _ in 0..MOST {
        assert_eq!(Client::connect(server.admin()).get("/healthz").status, 200);
    }
    assert!(backend.requests().len() < MOST / 2);
    assert!(server.metrics().sum("weir_connections") < 0.75 * MOST as f64);
    barrier.open(MOST);
    for mut client in crowd {
        assert_eq!(client.response().text(), "/app", "all are served in the end");
    }
    assert_nobody_is_blamed(&server);
}

#[test]
fn a_want_of_descriptors_is_not_the_backends_fault() {
    let (backend, barrier) = held();
    let mut server = proxied(&backend, "200ms");
    // They wait for nothing: their requests have begun. The backend hears of them later, all at once.
    let begin = |_| {
        let mut client = server.connect();
        client.send("POST /app HTTP/1.1\r\nHost: weir\r\nContent-Length: 2\r\n\r\na");
        client
    };
    let mut crowd: Vec<Client> = (0..MOST / 2 - 5).map(begin).collect();
    server.wait_for_metric("weir_connections", crowd.len() as f64);
    for client in &mut crowd {
        client.send("b");
    }
    let status = |status: u16| {
        let label = format!("{{status=\"{status}\"}}");
        server.metrics().value("weir_responses_total", &label).unwrap_or_default()
    };
    eventually("some get no descriptor", || status(503) >= 1.0);
    barrier.open(crowd.len());
    let mut served = 0;
    for client in &mut crowd {
        let answer = client.response();
        match answer.status {
            200 => served += 1,
            503 => assert_eq!(answer.field("Retry-After"), Some("1")),
            other => panic!("{other}"),
        }
    }
    assert!(served >= 5, "{served}");
    assert_eq!(server.metrics().sum("weir_backend_failed_calls_total"), 0.0);
    assert_nobody_is_blamed(&server);
    drop(crowd);
    eventually("all are gone", || server.metrics().sum("weir_connections") <= 1.0);
    barrier.open(100);
    assert_eq!(server.get("/app").text(), "/app");
    server.assert_alive();
}

#[test]
fn a_want_of_descriptors_for_files_passes() {
    let site = tempfile::tempdir().unwrap();
    for number in 0..MOST {
        // Longer than what is kept in memory: each is open while it is sent.
        fs::write(site.path().join(number.to_string()), noise(1, 3_000_000)).unwrap();
    }
    let server = limited(&format!("root = {:?}\n", site.path()));
    let begin = |number| {
        let mut client = Client::with_small_buffer(server.address());
        client.send(format!("GET /{number} HTTP/1.1\r\nHost: we"));
        client
    };
    let mut crowd: Vec<Client> = (0..MOST / 2 - 5).map(begin).collect();
    server.wait_for_metric("weir_connections", crowd.len() as f64);
    for client in &mut crowd {
        client.send("ir\r\n\r\n");
    }
    let statuses: Vec<_> = crowd.iter_mut().map(|client| client.head().status).collect();
    let count = |status| statuses.iter().filter(|other| **other == status).count();
    assert_eq!(count(200) + count(503), statuses.len(), "{statuses:?}");
    assert!(count(503) > 0 && count(200) >= 5, "{statuses:?}");
    assert_eq!(Client::connect(server.admin()).get("/healthz").status, 200);
    drop(crowd);
    eventually("files are opened again", || server.get("/70").status == 200);
    assert_nobody_is_blamed(&server);
}

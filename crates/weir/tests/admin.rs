//! Shows that the admin address gives figures and health to operators and nothing to the public.

mod support;

use std::collections::{HashMap, HashSet};

use rustix::process::Signal;
use support::{Client, Server, eventually, weir};

/// What a metric's name ends in beside the name that HELP and TYPE say.
const SUFFIXES: [&str; 5] = ["_total", "_bucket", "_sum", "_count", ""];

#[test]
fn metrics_are_open_metrics() {
    let server = Server::builtin(&["--uplink", "10mbit"]);
    assert_eq!(server.get("/files/1kb.bin").status, 200);
    assert_eq!(server.get("/missing").status, 404);
    let answer = Client::connect(server.admin()).get("/metrics");
    let media = answer.field("Content-Type");
    assert_eq!(media, Some("application/openmetrics-text; version=1.0.0; charset=utf-8"));
    let text = answer.text();
    assert!(text.ends_with("# EOF\n") && text.matches("# EOF").count() == 1);
    let mut types = HashMap::new();
    let mut helped = HashSet::new();
    let mut series = HashSet::new();
    for line in text.lines().filter(|line| *line != "# EOF") {
        if let Some(rest) = line.strip_prefix("# ") {
            let mut words = rest.splitn(3, ' ');
            let (kind, name, what) = (words.next(), words.next().unwrap(), words.next());
            match kind {
                Some("HELP") => assert!(helped.insert(name), "HELP of {name} comes twice"),
                Some("TYPE") => assert_eq!(types.insert(name, what), None, "TYPE of {name}"),
                Some("UNIT") => assert!(name.ends_with(what.unwrap()), "{line}"),
                _ => panic!("no such comment: {line}"),
            }
            assert!(name.starts_with("weir_") && what.is_some_and(|what| !what.is_empty()));
            continue;
        }
        let (name_and_labels, value) = line.rsplit_once(' ').unwrap();
        assert!(value.parse::<f64>().is_ok(), "{line}");
        assert!(series.insert(name_and_labels), "{name_and_labels} comes twice");
        let (name, labels) = name_and_labels.split_once('{').unwrap_or((name_and_labels, "}"));
        assert!(name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'), "{line}");
        let labels = labels.strip_suffix('}').unwrap();
        for label in labels.split(',').filter(|label| !label.is_empty()) {
            let (key, value) = label.split_once('=').unwrap();
            assert!(key.chars().all(|c| c.is_ascii_lowercase()), "{line}");
            assert!(value.len() >= 2 && value.starts_with('"') && value.ends_with('"'), "{line}");
        }
        let known = |suffix: &&str| {
            name.strip_suffix(*suffix).is_some_and(|family| types.contains_key(family))
        };
        assert!(SUFFIXES.iter().any(known), "{line} has no TYPE before it");
    }
    assert_eq!(helped, types.keys().copied().collect());
    let metrics = server.metrics();
    assert_eq!(metrics.value("weir_responses_total", "{status=\"404\"}"), Some(1.0));
    assert!(metrics.sum("weir_response_bytes_total") > 1000.0);
    assert!(metrics.sum("weir_response_time_seconds_count") >= 2.0);
}

#[test]
fn health_is_for_operators_only() {
    let server = Server::builtin(&[]);
    let mut admin = Client::connect(server.admin());
    for (path, status) in [
        ("/healthz", 200),
        ("/readyz", 200),
        ("/metrics", 200),
        ("/", 404),
        ("/files/1kb.bin", 404),
        ("/metrics/", 404),
    ] {
        assert_eq!(admin.get(path).status, status, "{path} at the admin address");
    }
    admin.send("POST /metrics HTTP/1.1\r\nHost: weir\r\n\r\n");
    assert_eq!(admin.response().status, 405);
    let mut public = server.connect();
    for path in ["/metrics", "/healthz", "/readyz"] {
        assert_eq!(public.get(path).status, 404, "{path} at the public address");
    }
}

#[test]
fn there_is_no_admin_address_unless_it_is_named() {
    let mut command = weir();
    command.args(["serve", "--listen", "127.0.0.1:0", "--access-log", "off"]);
    let server = Server::run(command, 1, false);
    assert_eq!(server.get("/").status, 200);
    assert!(!server.log().iter().any(|line| line.contains("metrics")), "{:#?}", server.log());
}

#[test]
fn the_gauges_say_what_waits_and_who_is_connected() {
    let server = Server::builtin(&["--uplink", "1mbit", "--policy", "fifo"]);
    let mut clients: Vec<Client> = (0..5).map(|_| server.connect()).collect();
    // The reader of the metrics counts, too.
    server.wait_for_metric("weir_connections", 6.0);
    for client in &mut clients {
        client.ask("/files/1mb.bin");
    }
    server.wait_for_metric("weir_uplink_waiting_jobs", 5.0);
    clients.truncate(1);
    server.wait_for_metric("weir_uplink_waiting_jobs", 1.0);
    eventually("the others are gone", || server.metrics().sum("weir_connections") <= 2.0);
}

/// A load balancer asks again and again, each time anew: it must hear that the server is stopping.
#[test]
fn a_server_that_stops_is_alive_and_not_ready() {
    let mut server = Server::builtin(&["--uplink", "8mbit"]);
    let mut client = server.connect();
    client.ask("/files/1mb.bin");
    assert_eq!(client.head().status, 200);
    server.signal(Signal::TERM);
    eventually("the server has heard of it", || {
        server.log().iter().any(|line| line.contains("stopping"))
    });
    let admin = server.admin();
    let ready = std::net::TcpStream::connect(admin).map(|_| Client::connect(admin).get("/readyz"));
    assert_eq!(ready.map(|answer| answer.status).ok(), Some(503), "/readyz while stopping");
    assert_eq!(Client::connect(admin).get("/healthz").status, 200);
    assert_eq!(Client::connect(admin).get("/metrics").status, 200);
    assert_eq!(client.read(1_000_000).len(), 1_000_000);
    drop(client);
    assert_eq!(server.wait().code(), Some(0));
}

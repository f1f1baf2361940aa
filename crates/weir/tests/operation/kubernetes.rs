//! Shows what Kubernetes sees of a server: a pod is ready once its application is, serves those who still come
//! when it is to end, and then finishes what runs and ends by itself.

use std::fs;
use std::net::TcpStream;

use rustix::process::Signal;

use crate::support::{Backend, Client, Server, Then, eventually, route};

/// The status of a probe, as kubelet makes it: a connection of its own.
fn probe(server: &Server, path: &str) -> u16 {
    Client::connect(server.admin()).get(path).status
}

#[test]
fn a_pod_is_ready_once_its_application_is() {
    let directory = tempfile::tempdir().unwrap();
    let socket = directory.path().join("app");
    let app = route("/", &[&format!("unix:{}", socket.display())]);
    // It takes long to call an application ill, and no time to see that it has started.
    let health = "health = { path = \"/health\", interval = \"20ms\", unhealthy = 100 }\n";
    let server = Server::configured(&format!("ready_routes = \"/\"\n{app}{health}"), &[]);
    // Kubelet does not start anew what lives, and sends nobody to what is not ready.
    assert_eq!((probe(&server, "/healthz"), probe(&server, "/readyz")), (200, 503));
    let started = Backend::at(&socket, |call| call.ok("the application"));
    eventually("it is ready", || probe(&server, "/readyz") == 200);
    assert!(started.targets().contains(&"/health".to_owned()));
    assert_eq!(server.get("/").text(), "the application");
}

#[test]
fn a_pod_that_ends_serves_who_still_comes_and_then_finishes_what_runs() {
    for flags in [&["--workers", "2"][..], &["--uplink", "50mbit"]] {
        let mut server = Server::builtin(&[flags, &["--stop-delay", "1d"]].concat());
        let mut kept = server.connect();
        assert_eq!((probe(&server, "/readyz"), kept.get("/").status), (200, 200));
        let mut busy = Client::with_small_buffer(server.address());
        busy.ask("/files/10mb.bin");
        assert_eq!(busy.head().status, 200);
        let mut asking = server.connect();
        asking.send("GET / HTTP/1.1\r\nHo");

        server.signal(Signal::TERM);
        eventually("it is not ready", || probe(&server, "/readyz") == 503);
        assert_eq!(probe(&server, "/healthz"), 200);
        // Until its endpoint is withdrawn everywhere, clients come over old connections and new ones.
        for _ in 0..20 {
            for answer in [server.get("/"), kept.get("/")] {
                assert_eq!((answer.status, answer.field("Connection")), (200, None));
            }
        }
        server.wait_for_metric("weir_connections", 3.0);

        // In place of a day that passes.
        server.signal(Signal::TERM);
        kept.assert_closed();
        asking.send("st: weir\r\n\r\n");
        let last = asking.response();
        assert_eq!((last.status, last.field("Connection")), (200, Some("close")));
        asking.assert_closed();
        eventually("nobody new is served", || TcpStream::connect(server.address()).is_err());
        assert_eq!((probe(&server, "/readyz"), probe(&server, "/healthz")), (503, 200));
        assert_eq!(busy.read(10_000_000).len(), 10_000_000);
        busy.assert_closed();
        drop((kept, asking, busy));
        assert_eq!(server.wait().code(), Some(0));
        assert!(!server.log().iter().any(|line| line.contains("cut")), "{:#?}", server.log());
    }
}

/// Kubelet says it once, and kills what is left after 30 s, which is as long as this test waits.
#[test]
fn a_pod_ends_by_itself_within_its_grace_period() {
    let site = tempfile::tempdir().unwrap();
    fs::write(site.path().join("large"), vec![0; 20_000_000]).unwrap();
    let hanging = Backend::new(|call| {
        call.until_closed();
        Then::Close
    });
    let proxy = format!("/app={}", hanging.url);
    let times = ["--stop-delay", "200ms", "--stop-timeout", "300ms"];
    let mut server = Server::of(site.path(), &[&times[..], &["--proxy", &proxy]].concat());
    let mut stuck = Client::with_small_buffer(server.address());
    stuck.ask("/large");
    assert_eq!(stuck.head().status, 200);
    let mut waiting = server.connect();
    waiting.ask("/app");
    hanging.wait_for_requests(1);
    let mut kept = server.connect();
    assert_eq!(kept.get("/missing").status, 404);
    server.signal(Signal::TERM);
    assert_eq!(server.wait().code(), Some(0));
    kept.assert_closed();
    eventually("it says whom it has cut", || {
        server.log().iter().any(|line| line.contains("2 connections were cut"))
    });
}

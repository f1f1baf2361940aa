//! Ports in clear text that lead to TLS, and browsers that are told to keep to it.

use std::net::SocketAddr;
use std::sync::Arc;

use crate::authority::{Authority, Kind};
use crate::secure_client::{SecureClient, config};
use crate::support::{Client, Server};

/// Where requests in clear text are redirected.
fn clear(server: &Server) -> SocketAddr {
    let log = server.log();
    let line = log.iter().find(|line| line.contains("redirecting to TLS on http://"));
    let address = line.and_then(|line| line.rsplit("http://").next()?.trim().parse().ok());
    address.expect("it says where it redirects")
}

#[test]
fn clear_text_is_sent_to_the_same_host_with_tls_but_for_challenges() {
    let authority = Authority::new();
    let site = tempfile::tempdir().unwrap();
    let challenges = site.path().join(".well-known/acme-challenge");
    std::fs::create_dir_all(&challenges).unwrap();
    std::fs::write(challenges.join("token"), "answer").unwrap();
    let files = authority.files(Kind::P256, &["a.test"]);
    let flags = [&files.flags()[..], &["--listen-clear", "127.0.0.1:0", "--hsts", "365d"]].concat();
    let server = Server::of(site.path(), &flags);
    let (port, clear) = (server.address().port(), clear(&server));
    let mut client = Client::connect(clear);
    for (request, location) in [
        ("GET /a?b=c HTTP/1.1\r\nHost: a.test\r\n\r\n", "/a?b=c"),
        ("HEAD / HTTP/1.1\r\nHost: a.test:80\r\n\r\n", "/"),
    ] {
        client.send(request);
        let answer = client.head();
        assert_eq!(answer.status, 308);
        let wanted = format!("https://a.test:{port}{location}");
        assert_eq!(answer.field("Location"), Some(&*wanted));
        assert_eq!(answer.field("Strict-Transport-Security"), None);
        client = Client::connect(clear);
    }
    // What begins like a challenge and leads elsewhere is nothing that is answered in clear text.
    std::fs::write(site.path().join("secret.html"), "secret").unwrap();
    for elsewhere in
        ["../../secret.html", "%2e%2e/%2e%2e/secret.html", "token/../../../secret.html"]
    {
        let path = format!("/.well-known/acme-challenge/{elsewhere}");
        client.send(format!("GET {path} HTTP/1.1\r\nHost: a.test\r\n\r\n"));
        assert_eq!(client.head().status, 308, "{path}");
        client = Client::connect(clear);
    }
    client.send("POST /.well-known/acme-challenge/token HTTP/1.1\r\nHost: a.test\r\n\r\n");
    assert_eq!(client.head().status, 308);
    client = Client::connect(clear);
    let answer = client.get("/.well-known/acme-challenge/token");
    assert_eq!((answer.status, &*answer.text()), (200, "answer"));
    client.send("GET / HTTP/1.0\r\n\r\n");
    assert_eq!(client.response().status, 400);
    client = Client::connect(clear);
    client.send("CONNECT a.test:443 HTTP/1.1\r\nHost: a.test:443\r\n\r\n");
    assert_eq!(client.response().status, 501);

    let config = Arc::new(config(&authority, None));
    let mut secure = SecureClient::connect(&config, server.address(), "a.test").unwrap();
    for path in ["/.well-known/acme-challenge/token", "/missing"] {
        let (head, _) = secure.get(path).unwrap();
        let line = "\r\nStrict-Transport-Security: max-age=31536000\r\n";
        assert_eq!(head.matches(line).count(), 1, "{head}");
    }
}

/// As where a container's ports are published under other numbers.
#[test]
fn clear_text_is_sent_to_the_port_that_clients_know() {
    let authority = Authority::new();
    let files = authority.files(Kind::P256, &["a.test"]);
    for (public, location) in
        [("443", "https://a.test/a?b=c"), ("9443", "https://a.test:9443/a?b=c")]
    {
        let own = ["--listen-clear", "127.0.0.1:0", "--public-tls-port", public];
        let server = Server::builtin(&[&files.flags()[..], &own].concat());
        let mut client = Client::connect(clear(&server));
        client.send("GET /a?b=c HTTP/1.1\r\nHost: a.test:8080\r\n\r\n");
        let answer = client.head();
        assert_eq!((answer.status, answer.field("Location")), (308, Some(location)));
    }
}

#[test]
fn a_port_for_redirects_without_tls_is_told() {
    let mut command = crate::support::weir();
    command.args(["serve", "--check", "--listen", "127.0.0.1:0", "--listen-clear", "127.0.0.1:0"]);
    let output = crate::support::end_of(command);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("`listen_clear` has no effect: there is no `tls`"), "{said}");
}

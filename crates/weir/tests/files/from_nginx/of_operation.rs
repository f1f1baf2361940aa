//! The snippets about TLS, the access log, figures and reload.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;

use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustix::process::Signal;

use super::both::{Stand, get, get_with};
use crate::support::{Client, curl, eventually};

/// Where weir redirects from clear text.
fn clear(log: &[String]) -> SocketAddr {
    let line = log.iter().find(|line| line.contains("redirecting to TLS on http://"));
    let address = line.and_then(|line| line.rsplit("http://").next()?.trim().parse().ok());
    address.expect("it says where it redirects")
}

#[test]
fn https() {
    let CertifiedKey { cert, signing_key } =
        generate_simple_self_signed(["example.org".to_owned()]).unwrap();
    let both = Stand::of("HTTPS")
        .file("srv/www/index.html", "home")
        .file("etc/ssl/example.org.pem", cert.pem())
        .file("etc/ssl/example.org.key", signing_key.serialize_pem())
        .with("[\"0.0.0.0:80\", \"[::]:80\"]", "[\"127.0.0.1:0\"]")
        .start();
    let authority = both.directory.path().join("etc/ssl/example.org.pem");
    for address in [both.nginx.secure, both.weir.address()] {
        let resolve = format!("example.org:{}:{}", address.port(), address.ip());
        let arguments = ["-i", "--cacert", authority.to_str().unwrap(), "--resolve", &resolve];
        let said = curl(&arguments, &format!("https://example.org:{}/", address.port()));
        assert!(
            said.starts_with("HTTP/1.1 200 OK\r\n") && said.ends_with("\r\n\r\nhome"),
            "{said}"
        );
        assert!(said.contains("\r\nStrict-Transport-Security: max-age=31536000\r\n"), "{said}");
    }
    let port = both.weir.address().port();
    // By design: weir's status keeps the method. Its port is the usual one only outside of tests.
    for (address, status) in [(both.nginx.address, 301), (clear(&both.weir.log()), 308)] {
        let mut client = Client::connect(address);
        client.send(get("/a?b=c"));
        let moved = client.response();
        let location = moved.field("Location").unwrap().replace(&format!(":{port}/"), "/");
        assert_eq!((moved.status, location.as_str()), (status, "https://example.org/a?b=c"));
    }
}

/// The lines of a log without their dates, once there are so many.
fn lines(log: &Path, count: usize) -> Vec<String> {
    let read = || fs::read_to_string(log).unwrap_or_default();
    eventually("the lines are written", || read().lines().count() == count);
    let without_date = |line: &str| {
        let (begin, rest) = line.split_once('[').expect("a date");
        let (_, rest) = rest.split_once(']').expect("the end of a date");
        format!("{begin}{rest}")
    };
    read().lines().map(without_date).collect()
}

#[test]
fn the_access_log() {
    let both = Stand::of("The access log")
        .files(&[("srv/www/a.txt", "a"), ("var/log/nginx/keep", ""), ("var/log/weir/keep", "")])
        .start();
    let requests = [
        get("/a.txt"),
        get_with("/a.txt?q=1", "Referer: http://b.example/\r\nUser-Agent: c (\"d\") \u{e9}\r\n"),
        "HEAD /a.txt HTTP/1.1\r\nHost: example.org\r\n\r\n".to_owned(),
    ];
    for request in &requests {
        both.same(request, &[]);
    }
    let [nginx, weir] = ["nginx", "weir"].map(|name| {
        lines(&both.directory.path().join(format!("var/log/{name}/access.log")), requests.len())
    });
    assert_eq!(weir, nginx);
}

#[test]
fn figures() {
    let both = Stand::of("Figures").file("srv/www/index.html", "home").start();
    // A client that stays.
    let mut kept = both.addresses().map(Client::connect);
    for client in &mut kept {
        assert_eq!(client.get("/").text(), "home");
    }
    // By design: who reads weir's figures is none of its clients; with nginx it is the second.
    eventually("nginx counts both", || {
        let mut operator = Client::connect_from([127, 0, 0, 1].into(), both.nginx.address);
        operator.get("/status").text().starts_with("Active connections: 2 ")
    });
    both.weir.wait_for_metric("weir_connections", 1.0);
    both.weir.wait_for_metric("weir_responses_total", 1.0);
}

/// Its blocks are commands. Tests run nginx without the process that could be told to reload.
#[test]
fn reload() {
    let (weir, directory) = Stand::of("Static files")
        .files(&[("srv/www/index.html", "before"), ("srv/new/index.html", "after")])
        .alone();
    let mut kept = weir.connect();
    assert_eq!(kept.get("/").text(), "before");
    let file = directory.path().join("weir.toml");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, "nonsense = 1\n").unwrap();
    weir.signal(Signal::HUP);
    let is_refused = |line: &String| line.contains("the configuration stays as it was");
    eventually("it is refused", || weir.log().iter().any(is_refused));
    assert_eq!(kept.get("/").text(), "before");
    fs::write(&file, text.replace("srv/www", "srv/new")).unwrap();
    weir.signal(Signal::HUP);
    eventually("who is connected is served by it", || kept.get("/").text() == "after");
}

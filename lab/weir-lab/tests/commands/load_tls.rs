//! Shows that `weir-lab load` speaks TLS with servers that others have written, and says what is wrong
//! when it cannot.

use std::fs;
use std::process::Output;

use crate::programs::{start, weir_lab};
use crate::support::{Server as Weir, end_of};
use serde_json::Value;
use tempfile::TempDir;
use weir_peers::nginx::{self, Nginx};
use weir_peers::{Certificate, Content, Options, Server};
use weir_stand::address;

/// nginx with one document, `/x` of 5000 bytes, through TLS.
struct Secure {
    // Stopped before its directory goes.
    _server: Server,
    directory: TempDir,
    url: String,
}

impl Secure {
    fn start() -> Secure {
        let directory = tempfile::tempdir().expect("a directory");
        let here = directory.path();
        fs::write(here.join("x"), [7; 5000]).expect("a document");
        let certificate = Certificate::make(here, &["127.0.0.1".into()]).expect("a certificate");
        let address = address::free().expect("a port");
        let options = Options {
            listen: address,
            tls: Some(&certificate),
            backlog: 512,
            content: Content::Files(here),
            directory: here,
            error_log: None,
            critical_only: true,
            user: Some("root"),
            connections: 512,
            open_files: None,
            idle_timeout: None,
            requests_per_connection: None,
        };
        let program = nginx::program(&options, &Nginx::default()).expect("nginx is installed");
        let server = start(program, address, here);
        Secure { _server: server, directory, url: format!("https://{address}/x") }
    }

    fn certificate(&self) -> String {
        self.directory.path().join("certificate.pem").display().to_string()
    }
}

fn load(url: &str, flags: &[&str], code: i32) -> Output {
    let mut command = weir_lab();
    command.args(["load", url, "--allow-invalid"]).args(flags);
    let output = end_of(command);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{flags:?}: {said}");
    output
}

fn figures(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).expect("standard output is JSON and nothing else")
}

#[test]
fn nginx_is_loaded_through_tls_and_its_handshakes_are_counted() {
    let server = Secure::start();
    let ca = server.certificate();
    let common = ["--ca", &ca, "--rate", "100/s", "--duration", "1s", "--json", "-"];
    for (flags, resumes) in [(&[][..], false), (&["--resume"], true), (&["--tls", "1.3"], false)] {
        let found = figures(&load(&server.url, &[&common[..], flags].concat(), 0));
        let requests = found["requests"].as_u64().expect("a count");
        assert_eq!(found["outcomes"]["ok"], requests, "{found:#}");
        assert_eq!(found["received_body_bytes"], requests * 5000);
        let (full, resumed) = (&found["tls"]["full"], &found["tls"]["resumed"]);
        let count = |kind: &Value| kind["count"].as_u64().expect("a count");
        assert_eq!(count(full) + count(resumed), requests, "{found:#}");
        assert_eq!(count(resumed) > requests / 2, resumes, "{found:#}");
        assert!(resumes || count(resumed) == 0, "{found:#}");
        assert!(full["ms_p50"].as_f64().is_some_and(|ms| ms > 0.0), "{full}");
        let received = found["tls"]["received_bytes"].as_u64().expect("a count");
        assert!(received > requests * 5600, "handshakes and records: {received}");
    }
}

#[test]
fn every_output_tells_of_tls() {
    let server = Secure::start();
    let html = server.directory.path().join("out.html").display().to_string();
    let flags = ["--insecure", "--closed", "2", "--think", "10ms", "--duration", "500ms"];
    let flags = [&flags[..], &["--requests-per-connection", "1000", "--html", &html]].concat();
    let output = load(&server.url, &flags, 0);
    let plan = String::from_utf8_lossy(&output.stderr);
    assert!(plan.contains("x25519; a full handshake per connection; any certificate"), "{plan}");
    let summary = String::from_utf8_lossy(&output.stdout);
    assert!(summary.contains("handshakes   2 full: p50 "), "{summary}");
    let page = fs::read_to_string(html).expect("the page");
    assert!(page.contains("full handshakes") && page.contains(&server.url), "{page}");
}

#[test]
fn what_is_wrong_with_tls_is_said() {
    let server = Secure::start();
    let short = ["--rate", "50/s", "--duration", "200ms"];
    let says = |url: &str, flags: &[&str], code, part: &str| {
        let output = load(url, &[&short[..], flags].concat(), code);
        let said = [output.stderr, output.stdout].concat();
        let said = String::from_utf8_lossy(&said).into_owned();
        assert!(said.contains(part) && !said.contains("panicked"), "{flags:?}: {said}");
    };
    let other = tempfile::tempdir().expect("a directory");
    let other = Certificate::make(other.path(), &["127.0.0.1".into()]).map(|made| (made, other));
    let (other, _directory) = other.expect("a certificate");
    let other = other.chain.display().to_string();
    says(&server.url, &["--ca", &other], 3, "failed: invalid peer certificate");
    let ca = server.certificate();
    says(&server.url, &["--ca", &ca, "--host", "example.org"], 3, "not valid for name");
    // nginx is told to speak TLS 1.3 alone.
    says(&server.url, &["--ca", &ca, "--tls", "1.2"], 3, "failed: received fatal alert");
    let key = format!("{ca}.key");
    says(&server.url, &["--ca", &key], 1, "has no certificate in PEM");
    says(&server.url, &["--ca", "/nowhere"], 1, "--ca: cannot read /nowhere");
    says(&server.url, &["--ca", &ca, "--insecure"], 2, "cannot be used with");
    says(&server.url, &["--tls", "1.1"], 2, "1.2, 1.3");
    let clear = Weir::builtin(&[]);
    let url = format!("http://{}/", clear.address());
    for flag in [&["--ca", &ca][..], &["--insecure"], &["--tls", "1.3"], &["--resume"]] {
        says(&url, flag, 2, "is for https:// URLs");
    }
    let url = format!("https://{}/", clear.address());
    says(&url, &["--insecure"], 3, "failed: ");
}

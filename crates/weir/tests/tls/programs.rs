//! Programs that people use get what they ask for over HTTPS: wget, h2load, Chromium; and testssl.sh, which
//! looks for weaknesses, finds none.

use std::fs;
use std::process::Command;

use crate::authority::Authority;
use crate::support::{chromium_command, noise, output_of, tool};

#[test]
fn wget_and_h2load_get_every_byte() {
    let authority = Authority::new();
    let site = tempfile::tempdir().unwrap();
    fs::write(site.path().join("file.bin"), noise(7, 700_000)).unwrap();
    let files = authority.files(crate::authority::Kind::P256, &["localhost"]);
    let server = crate::support::Server::of(site.path(), &files.flags());
    let url = format!("https://localhost:{}/file.bin", server.address().port());
    let here = tempfile::tempdir().unwrap();
    let mut wget = tool("wget", "wget");
    wget.args(["--no-config", "--no-proxy", "--no-verbose", "--tries=1", "--timeout=60"]);
    wget.arg("--prefer-family=IPv4").arg("--ca-certificate").arg(authority.root());
    wget.arg(&url).current_dir(here.path());
    output_of(wget);
    assert!(fs::read(here.path().join("file.bin")).unwrap() == noise(7, 700_000));
    let mut load = tool("h2load", "nghttp2-client");
    load.args(["--h1", "-n", "200", "-c", "10", "-t", "1"]).arg(&url);
    let said = output_of(load);
    assert!(said.contains("200 done, 200 succeeded, 0 failed, 0 errored, 0 timeout"), "{said}");
}

#[test]
fn chromium_shows_a_page_without_a_warning() {
    let authority = Authority::new();
    let server = authority.server(&["--hsts", "1h"]);
    let here = tempfile::tempdir().unwrap();
    let database = format!("sql:{}/.pki/nssdb", here.path().display());
    fs::create_dir_all(here.path().join(".pki/nssdb")).unwrap();
    let certutil = |arguments: &[&str]| {
        let mut command = tool("certutil", "libnss3-tools");
        command.args(["-d", &database]).args(arguments);
        output_of(command);
    };
    certutil(&["-N", "--empty-password"]);
    let root = authority.root();
    certutil(&["-A", "-t", "C,,", "-n", "weir", "-i", root.to_str().unwrap()]);
    let mut command: Command = chromium_command(here.path());
    command.env("HOME", here.path()).arg("--host-resolver-rules=MAP a.test 127.0.0.1");
    command.arg("--dump-dom").arg(format!("https://a.test:{}/", server.address().port()));
    let page = output_of(command);
    for part in ["<h1>weir</h1>", "files/1gb.bin"] {
        assert!(page.contains(part), "{part} is not in {page}");
    }
}

/// What testssl.sh says of a certificate of a test, which no authority of the world has signed, and of
/// fields of the site's own pages.
const OF_THE_SITE: [&str; 7] = [
    "cert_chain_of_trust",
    "cert_revocation",
    "cert_crl",
    "cert_ocsp",
    "cert_trust",
    "DNS_CAA",
    "security_headers",
];

/// Takes some minutes, so it runs before a release: `cargo test -p weir --test tls -- --ignored`.
#[test]
#[ignore = "takes minutes"]
fn testssl_finds_no_weakness() {
    let authority = Authority::new();
    let server = authority.server(&["--hsts", "365d"]);
    let report = authority.directory.path().join("report.json");
    let mut command = tool("testssl", "testssl.sh");
    command.args(["--quiet", "--color", "0", "--warnings", "off", "--ip", "127.0.0.1", "--add-ca"]);
    command.arg(authority.root()).arg("--jsonfile").arg(&report);
    command.arg(format!("https://a.test:{}/", server.address().port()));
    // Its status counts what it has found.
    let output = command.output().unwrap();
    let text = fs::read_to_string(&report).unwrap_or_default();
    let findings: Vec<serde_json::Value> = serde_json::from_str(&text).expect("a report");
    assert!(findings.len() > 50, "{output:?}");
    let word = |finding: &serde_json::Value, key: &str| {
        finding.get(key).and_then(serde_json::Value::as_str).unwrap_or_default().to_owned()
    };
    let is_bad = |finding: &&serde_json::Value| {
        let is_severe =
            ["LOW", "MEDIUM", "HIGH", "CRITICAL"].contains(&&*word(finding, "severity"));
        is_severe && !OF_THE_SITE.iter().any(|id| word(finding, "id").starts_with(id))
    };
    let bad: Vec<_> = findings.iter().filter(is_bad).collect();
    assert!(bad.is_empty(), "{bad:#?}");
}

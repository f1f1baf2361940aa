//! Clients of all kinds get pages: both versions, names, kinds of keys, sessions that go on.

use std::io::{Seek, Write};
use std::process::Stdio;
use std::sync::Arc;

use rustls::crypto::aws_lc_rs::{self, cipher_suite};

use crate::authority::{Authority, Kind};
use crate::handshakes_that_ended as handshakes;
use crate::secure_client::{SecureClient, config, config_with, der};
use crate::support::{Server, curl, noise, tool};

#[test]
fn curl_gets_the_same_bytes_as_in_clear_text_in_both_versions() {
    let authority = Authority::new();
    let site = tempfile::tempdir().unwrap();
    // Within one record, of one chunk, and of many.
    for (name, count) in [("small", 1000), ("middle", 60_000), ("large", 5_000_000)] {
        std::fs::write(site.path().join(name), noise(count as u64, count)).unwrap();
    }
    let files = authority.files(Kind::P256, &["a.test"]);
    let server = Server::of(site.path(), &files.flags());
    let (root, port) = (authority.root(), server.address().port());
    let resolve = format!("a.test:{port}:127.0.0.1");
    let got = site.path().join("got");
    for version in [&["--tlsv1.3"][..], &["--tls-max", "1.2"]] {
        for name in ["small", "middle", "large"] {
            let mut arguments = version.to_vec();
            arguments.extend(["--cacert", root.to_str().unwrap(), "--resolve", &resolve]);
            arguments.extend([
                "-o",
                got.to_str().unwrap(),
                "-w",
                "%{http_version} %{ssl_verify_result}",
            ]);
            let told = curl(&arguments, &format!("https://a.test:{port}/{name}"));
            assert_eq!(told, "1.1 0");
            let same =
                std::fs::read(&got).unwrap() == std::fs::read(site.path().join(name)).unwrap();
            assert!(same, "{version:?} {name}");
        }
    }
    assert_eq!(handshakes(&server, "full"), 6.0);
}

#[test]
fn openssl_verifies_the_chain_and_reads_a_page() {
    let authority = Authority::new();
    let server = authority.server(&[]);
    let address = server.address().to_string();
    let mut command = tool("openssl", "openssl");
    command.args(["s_client", "-connect", &address, "-servername", "a.test", "-CAfile"]);
    command.arg(authority.root()).args(["-verify_return_error", "-alpn", "h2,http/1.1", "-quiet"]);
    let mut request = tempfile::tempfile().unwrap();
    request.write_all(b"GET / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n").unwrap();
    request.rewind().unwrap();
    command.stdin(Stdio::from(request));
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.starts_with("HTTP/1.1 200 OK\r\n"), "{output:?}");
}

#[test]
fn a_ticket_is_good_on_every_worker() {
    let authority = Authority::new();
    let server = authority.server(&["--workers", "4"]);
    let config = Arc::new(config(&authority, None));
    for round in 0..24 {
        let mut client = SecureClient::connect(&config, server.address(), "a.test").unwrap();
        assert!(client.get("/").unwrap().0.starts_with("HTTP/1.1 200 "));
        assert_eq!(client.is_resumed(), round > 0, "{round}");
    }
    assert_eq!(handshakes(&server, "resumed"), 23.0);
}

#[test]
fn http_1_is_agreed_on_or_nothing_is() {
    let authority = Authority::new();
    let server = authority.server(&[]);
    let with = |protocols: &[&[u8]]| {
        let mut config = config(&authority, None);
        config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
        let client = SecureClient::connect(&Arc::new(config), server.address(), "a.test");
        client.map(|client| client.stream.conn.alpn_protocol().map(<[u8]>::to_vec))
    };
    assert_eq!(with(&[b"h2", b"http/1.1"]).unwrap().as_deref(), Some(&b"http/1.1"[..]));
    assert_eq!(with(&[]).unwrap(), None);
    assert!(with(&[b"h2"]).is_err());
    // Nobody has a challenge here.
    assert!(with(&[b"acme-tls/1"]).is_err());
}

#[test]
fn the_name_decides_which_certificate_a_client_gets() {
    let authority = Authority::new();
    let files = [&["a.test"][..], &["*.b.test", "b.test"], &["c.b.test"]]
        .map(|names| authority.files(Kind::P256, names));
    let flags = files.iter().flat_map(|files| files.flags()).collect::<Vec<_>>();
    let server = Server::builtin(&flags);
    let config = Arc::new(config(&authority, None));
    for (name, place) in
        [("a.test", 0), ("b.test", 1), ("x.b.test", 1), ("c.b.test", 2), ("C.B.test", 2)]
    {
        let client = SecureClient::connect(&config, server.address(), name).unwrap();
        assert_eq!(client.certificate(), der(&files[place]), "{name}");
    }
    // Whoever asks for another name gets the first, and goes when it sees it.
    assert!(SecureClient::connect(&config, server.address(), "elsewhere.test").is_err());
}

#[test]
fn of_two_kinds_of_keys_a_client_gets_the_one_that_it_can_verify() {
    let authority = Authority::new();
    let [rsa, ecdsa] = [Kind::Rsa, Kind::P256].map(|kind| {
        let (chain, key) = authority.signed(kind, &["a.test"]);
        authority.write(&format!("{kind:?}"), &chain, &key)
    });
    let server = Server::builtin(&[rsa.flags(), ecdsa.flags()].concat());
    let mut old = aws_lc_rs::default_provider();
    old.cipher_suites = vec![cipher_suite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256];
    let old = Arc::new(config_with(&authority, None, old));
    let modern = Arc::new(config(&authority, None));
    for (config, files) in [(modern, &ecdsa), (old, &rsa)] {
        let mut client = SecureClient::connect(&config, server.address(), "a.test").unwrap();
        assert_eq!(client.certificate(), der(files), "{:?}", client.version());
        assert!(client.get("/").is_ok());
    }
}

#[test]
fn with_the_preset_modern_there_is_no_older_version() {
    let authority = Authority::new();
    let server = authority.server(&["--tls-preset", "modern"]);
    let mut old = aws_lc_rs::default_provider();
    old.cipher_suites = vec![cipher_suite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256];
    let old = Arc::new(config_with(&authority, None, old));
    assert!(SecureClient::connect(&old, server.address(), "a.test").is_err());
    let modern = Arc::new(config(&authority, None));
    assert!(SecureClient::connect(&modern, server.address(), "a.test").is_ok());
}

//! Clients that show certificates, and backends that are told of it.

use std::sync::Arc;

use crate::authority::{Authority, Kind};
use crate::secure_client::{SecureClient, config};
use crate::support::{Backend, Server};

const SUBJECT: &str = "X-Client-Certificate-Subject";

/// A server before `backend` that asks for certificates of `authority`.
fn server(authority: &Authority, backend: &Backend, flags: &[&str]) -> Server {
    let files = authority.files(Kind::P256, &["a.test"]);
    let root = authority.root();
    let asks = ["--tls-client-ca", root.to_str().expect("a path of ASCII")];
    Server::before(backend, &[&files.flags()[..], &asks, flags].concat())
}

#[test]
fn backends_are_told_the_scheme_and_the_subject_and_nobody_can_pretend() {
    let authority = Authority::new();
    let backend = Backend::saying("");
    let optional = ["--tls-client-certificate", "optional"];
    let server = server(&authority, &backend, &optional);
    let own = authority.files(Kind::Client, &["somebody"]);
    let lie = format!(
        "GET / HTTP/1.1\r\nHost: a.test\r\n{SUBJECT}: CN=root\r\nX_Client_Certificate_Subject: CN=root\r\n\
         X-Forwarded-Proto: http\r\n\r\n"
    );
    for own in [Some(&own), None] {
        let config = Arc::new(config(&authority, own));
        let mut client = SecureClient::connect(&config, server.address(), "a.test").unwrap();
        assert!(client.ask(&lie).unwrap().0.starts_with("HTTP/1.1 200 "));
    }
    let asked = backend.requests();
    assert_eq!(asked[0].fields(SUBJECT), ["O=Weir & Sons,CN=somebody"]);
    assert_eq!(asked[1].fields(SUBJECT), [""; 0]);
    for asked in &asked {
        assert_eq!(asked.fields("X-Forwarded-Proto"), ["https"]);
        assert_eq!(asked.fields("X_Client_Certificate_Subject"), [""; 0]);
    }
}

#[test]
fn who_must_show_a_certificate_is_not_served_without_a_valid_one() {
    let (authority, stranger) = (Authority::new(), Authority::new());
    let backend = Backend::saying("");
    let server = server(&authority, &backend, &[]);
    let get = |own| {
        let config = Arc::new(config(&authority, own));
        let client = SecureClient::connect(&config, server.address(), "a.test");
        client.and_then(|mut client| client.get("/"))
    };
    let own = authority.files(Kind::Client, &["somebody"]);
    let others = stranger.files(Kind::Client, &["somebody"]);
    assert!(get(Some(&own)).is_ok());
    assert!(get(Some(&others)).is_err() && get(None).is_err());
    assert_eq!(backend.requests().len(), 1);
}

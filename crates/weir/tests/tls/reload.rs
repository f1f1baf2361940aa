//! Certificates that change while the server runs: new connections get the new one, old ones go on, and
//! what cannot be used changes nothing.

use std::fs;
use std::sync::Arc;

use rustix::process::Signal;

use crate::authority::{Authority, Kind};
use crate::secure_client::{SecureClient, config, der};
use crate::support::{Client, Configuration, HeldFile, Server, eventually};

fn shown(authority: &Authority, server: &Server) -> Vec<u8> {
    let config = Arc::new(config(authority, None));
    let client = SecureClient::connect(&config, server.address(), "a.test");
    client.expect("a session").certificate()
}

#[test]
fn a_changed_file_takes_effect_and_one_that_is_wrong_does_not() {
    let authority = Authority::new();
    let first = authority.files(Kind::P256, &["a.test"]);
    let server = Server::builtin(&first.flags());
    let before = der(&first);
    assert_eq!(shown(&authority, &server), before);
    let trusting = Arc::new(config(&authority, None));
    let mut old = SecureClient::connect(&trusting, server.address(), "a.test").unwrap();
    assert!(old.get("/").is_ok());

    let wrong = |text: &str| {
        fs::write(&first.chain, text).unwrap();
        eventually("the file is named", || {
            let named = |line: &String| {
                line.contains("a certificate stays as it was") && line.contains("a.test-chain.pem")
            };
            server.log().iter().filter(|line| named(line)).count() > 0
        });
    };
    wrong("nonsense");
    assert_eq!(shown(&authority, &server), before);
    // An expired one, with its own key.
    authority.files(Kind::Expired, &["a.test"]);
    eventually("it is named", || {
        server.log().iter().any(|line| line.contains("stays as it was") && line.contains("expired"))
    });
    assert_eq!(shown(&authority, &server), before);

    let second = authority.files(Kind::P256, &["a.test"]);
    eventually("new clients get the new one", || shown(&authority, &server) == der(&second));
    assert_ne!(der(&second), before);
    // Who was connected stays so, and may come back with its ticket.
    assert!(old.get("/").is_ok());
    drop(old);
    let again = SecureClient::connect(&trusting, server.address(), "a.test").unwrap();
    assert!(again.is_resumed());
}

#[test]
fn one_that_cannot_be_used_keeps_no_other_from_being_taken() {
    let authority = Authority::new();
    let first = authority.files(Kind::P256, &["a.test"]);
    let other = authority.files(Kind::P256, &["b.test"]);
    let server = Server::builtin(&[first.flags(), other.flags()].concat());
    authority.files(Kind::Expired, &["b.test"]);
    eventually("the expired one is named", || {
        server
            .log()
            .iter()
            .any(|line| line.contains("b.test-chain.pem") && line.contains("expired"))
    });
    let second = authority.files(Kind::P256, &["a.test"]);
    eventually("the other is taken", || shown(&authority, &server) == der(&second));
}

/// A program that renews certificates goes by the status.
#[test]
fn a_reload_takes_the_rest_names_the_one_that_cannot_be_used_and_fails() {
    let authority = Authority::new();
    let first = authority.files(Kind::P256, &["a.test"]);
    let other = authority.files(Kind::P256, &["b.test"]);
    let keys = format!(
        "access_log = \"off\"\nlisten = \"127.0.0.1:0\"\n\
         tls = [{:?}, {:?}]\ntls_key = [{:?}, {:?}]\n",
        first.chain, other.chain, first.key, other.key
    );
    let configuration = Configuration::new(&keys);
    let server = configuration.start(1);
    authority.files(Kind::Expired, &["b.test"]);
    let second = authority.files(Kind::P256, &["a.test"]);
    configuration.write(&format!("{keys}idle_timeout = 7\n"));
    let (code, said) = configuration.reload();
    assert_eq!(code, Some(1), "{said}");
    for part in ["a certificate stays as it was", "b.test-chain.pem", "expired"] {
        assert!(said.contains(part), "{part:?} is not in {said}");
    }
    assert!(said.contains("changed: `idle_timeout`"), "{said}");
    assert_eq!(shown(&authority, &server), der(&second));
    // It is told as long as it is so.
    let (code, said) = configuration.reload();
    assert!(code == Some(1) && said.contains("b.test-chain.pem"), "{said}");
    assert!(said.contains("nothing has changed"), "{said}");
    authority.files(Kind::P256, &["b.test"]);
    let (code, said) = configuration.reload();
    assert_eq!(code, Some(0), "{said}");
}

#[test]
fn permissions_that_are_given_later_are_noticed() {
    let authority = Authority::new();
    let first = authority.files(Kind::P256, &["a.test"]);
    let server = Server::builtin(&first.flags());
    // Its content stays, so that nothing but its time of change tells.
    let mode = |mode| {
        let permissions = std::os::unix::fs::PermissionsExt::from_mode(mode);
        fs::set_permissions(&first.key, permissions).unwrap();
    };
    mode(0o644);
    eventually("they are read", || {
        server.log().iter().any(|line| line.contains("certificates were read anew"))
    });
}

#[test]
fn a_certificate_that_does_not_answer_holds_up_nobody() {
    let authority = Authority::new();
    let first = authority.files(Kind::P256, &["a.test"]);
    let server = Server::builtin(&first.flags());
    let before = der(&first);
    let held = HeldFile::replace(&first.chain);
    let reader = held.wait_for_reader();
    assert_eq!(Client::connect(server.admin()).get("/healthz").status, 200);
    assert_eq!(shown(&authority, &server), before);
    let second = authority.files(Kind::P256, &["a.test"]);
    drop(reader);
    eventually("new clients get the new one", || shown(&authority, &server) == der(&second));
}

#[test]
fn a_signal_has_them_read_at_once() {
    let authority = Authority::new();
    let first = authority.files(Kind::P256, &["a.test"]);
    let server = Server::builtin(&first.flags());
    let times = |what: &str| server.log().iter().filter(|line| line.contains(what)).count();
    server.signal(Signal::HUP);
    // Nothing has changed: it reads them all the same.
    eventually("they are read", || times("certificates were read anew") == 1);
    server.signal(Signal::USR1);
    eventually("that is for logs", || times("it is not a file") == 1);
    assert_eq!(times("certificates were read anew"), 1);
}

#[test]
fn other_clients_are_wanted_once_their_authorities_have_changed() {
    let (authority, stranger) = (Authority::new(), Authority::new());
    let served = authority.files(Kind::P256, &["a.test"]);
    let wanted = authority.directory.path().join("wanted.pem");
    fs::copy(authority.root(), &wanted).unwrap();
    let flags = [&served.flags()[..], &["--tls-client-ca", wanted.to_str().unwrap()]].concat();
    let server = Server::builtin(&flags);
    let [of_authority, of_stranger] = [&authority, &stranger].map(|signer| {
        let own = signer.files(Kind::Client, &["somebody"]);
        Arc::new(config(&authority, Some(&own)))
    });
    let is_served = |config| {
        let client = SecureClient::connect(config, server.address(), "a.test");
        client.and_then(|mut client| client.get("/")).is_ok()
    };
    assert!(is_served(&of_authority) && !is_served(&of_stranger));
    fs::copy(stranger.root(), &wanted).unwrap();
    eventually("the stranger is served", || is_served(&of_stranger));
    // Not even by a ticket.
    assert!(!is_served(&of_authority));
}

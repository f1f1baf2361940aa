//! Shows that weir sends a request only to a backend whose certificate is right, and that the log says
//! what is wrong with another.

use std::process::Output;

use rustls::HandshakeKind;

use crate::authority::{Authority, Kind};
use crate::certificates::{ADDRESS, Issued, NAME};
use crate::support::{Backend, Server, Then, end_of, eventually, route, weir};
use crate::tls_backend::{backend, config};

/// A backend that shows `issued` and says who has asked.
fn showing(issued: &Issued) -> Backend {
    backend(&config(issued, None), |call| call.ok(call.asked.target())).0
}

/// Fails unless `server` answers 502, says `words` of the backend, and sends it nothing.
#[track_caller]
fn assert_refused(server: &Server, backend: &Backend, words: &str) {
    assert_eq!(server.get("/secret").status, 502);
    eventually("a line in the log", || {
        let told = |line: &String| line.contains(&backend.url) && line.contains(words);
        let log = server.log();
        let warned = log.iter().any(|line| line.contains("WARN") && line.contains(&backend.url));
        assert!(!warned || log.iter().any(told), "{words:?} is not in {log:#?}");
        warned
    });
    assert_eq!(backend.targets(), [""; 0], "nothing was sent");
}

#[test]
fn a_certificate_of_ones_own_authority_is_believed() {
    let authority = Authority::new();
    let backend = showing(&authority.issue(&[ADDRESS]));
    let server = Server::routed(&[&backend.url], &authority.as_ca());
    assert_eq!(server.get("/a").text(), "/a");
    let asked = backend.only();
    assert_eq!(asked.fields("Host"), ["weir"]);
}

#[test]
fn the_authorities_of_the_system_are_believed_unless_others_are_named() {
    let (authority, other) = (Authority::new(), Authority::called("another"));
    let backend = showing(&authority.issue(&[ADDRESS]));
    let system = authority.file("system.pem", &authority.certificate());
    let launch = |keys: &str| {
        let text = format!("{}{keys}", route("/", &[&backend.url]));
        let mut command = weir();
        command.arg("serve").arg("--config").arg(authority.file("weir.toml", &text));
        command.env("SSL_CERT_FILE", &system).env_remove("SSL_CERT_DIR");
        Server::launch(command, &[])
    };
    assert_eq!(launch("").get("/a").text(), "/a");
    assert_eq!(launch(&other.as_ca()).get("/b").status, 502);
    assert_eq!(backend.targets(), ["/a"]);
}

#[test]
fn a_certificate_of_somebody_else_is_not_believed() {
    let (authority, other) = (Authority::new(), Authority::called("another"));
    let backend = showing(&other.issue(&[ADDRESS]));
    let server = Server::routed(&[&backend.url], &authority.as_ca());
    assert_refused(&server, &backend, "is from an unknown issuer; name a file with that as");
}

#[test]
fn a_certificate_for_another_name_is_refused_unless_that_is_the_one_to_expect() {
    let authority = Authority::new();
    let (backend, handshakes) =
        backend(&config(&authority.issue(&[NAME]), None), |call| call.ok(call.asked.target()));
    let by_address = Server::routed(&[&backend.url], &authority.as_ca());
    let words = "is for backend.test and not for 127.0.0.1; say which is right as `backend_name`";
    assert_refused(&by_address, &backend, words);
    let pinned = |name: &str| {
        let keys = format!("{}backend_name = \"{name}\"\n", authority.as_ca());
        Server::routed(&[&backend.url], &keys)
    };
    assert_refused(&pinned("other.test"), &backend, "and not for other.test");
    assert_eq!(pinned(NAME).get("/pinned").text(), "/pinned");
    let (name, _) = handshakes.all().pop().expect("a handshake");
    assert_eq!(name.as_deref(), Some(NAME), "the name is asked for");
}

#[test]
fn a_pinned_name_is_demanded_where_the_address_would_do() {
    let authority = Authority::new();
    let backend = showing(&authority.issue(&[ADDRESS]));
    let keys = format!("{}backend_name = \"{NAME}\"\n", authority.as_ca());
    assert_refused(&Server::routed(&[&backend.url], &keys), &backend, "and not for backend.test");
}

#[test]
fn a_certificate_is_valid_in_its_time_alone() {
    let authority = Authority::new();
    for (kind, words) in [
        (Kind::Expired, "expired on Thu, 02 Jan 2020 00:00:00 GMT; renew it"),
        (Kind::NotYetValid, "is not valid before Sun, 01 Jan 2090 00:00:00 GMT"),
    ] {
        let backend = showing(&authority.issue_kind(kind, &[ADDRESS]));
        let server = Server::routed(&[&backend.url], &authority.as_ca());
        assert_refused(&server, &backend, words);
    }
}

#[test]
fn a_backend_that_demands_a_certificate_gets_it() {
    let (authority, other) = (Authority::new(), Authority::called("another"));
    let config = config(&authority.issue(&[ADDRESS]), Some(&authority));
    let (backend, _) = backend(&config, |call| call.ok(call.asked.target()));
    let own = authority.issue(&["weir.test"]);
    let certificate = authority.file("own.pem", &own.certificate);
    let key = authority.file("own.key", &own.key);
    let files = |of: &Authority| {
        let issued = of.issue(&["weir.test"]);
        of.file("both.pem", &format!("{}{}", issued.certificate, issued.key))
    };
    let server =
        |keys: &str| Server::routed(&[&backend.url], &format!("{}{keys}\n", authority.as_ca()));
    assert_refused(&server(""), &backend, "it demands a certificate; name the file of one as");
    let unknown = server(&format!("backend_certificate = {:?}", files(&other)));
    assert_refused(&unknown, &backend, "it does not accept `backend_certificate`");
    let two = format!("backend_certificate = {certificate:?}\nbackend_key = {key:?}");
    assert_eq!(server(&two).get("/two").text(), "/two");
    let one = format!("backend_certificate = {:?}", files(&authority));
    assert_eq!(server(&one).get("/one").text(), "/one");
}

#[test]
fn later_connections_resume_the_session_of_the_first() {
    let authority = Authority::new();
    let config = config(&authority.issue(&[ADDRESS]), None);
    // It ends each connection after its answer.
    let (backend, handshakes) = backend(&config, |call| {
        call.ok_with("Connection: close\r\n", "");
        Then::Close
    });
    let server = Server::routed(&[&backend.url], &authority.as_ca());
    for _ in 0..4 {
        assert_eq!(server.get("/").status, 200);
    }
    let kinds: Vec<_> = handshakes.all().into_iter().map(|(_, kind)| kind).collect();
    assert_eq!(kinds[0], HandshakeKind::Full);
    assert_eq!(kinds[1..], [HandshakeKind::Resumed; 3], "whichever worker connects");
}

#[test]
fn files_that_are_wrong_are_named_at_the_start_and_by_the_check() {
    let authority = Authority::new();
    let [one, two] = [0, 1].map(|_| authority.issue(&["weir.test"]));
    let certificate = authority.file("one.pem", &one.certificate);
    let key = authority.file("two.key", &two.key);
    let run = |text: &str, flags: &[&str]| -> Output {
        let mut command = weir();
        command.arg("serve").args(["--listen", "127.0.0.1:0"]).args(flags);
        command.arg("--config").arg(authority.file("weir.toml", text));
        end_of(command)
    };
    for (keys, file, words) in [
        ("backend_ca = \"missing.pem\"".to_owned(), "missing.pem", "cannot be read"),
        (format!("backend_ca = {key:?}"), "two.key", "there is no certificate in it"),
        (
            format!("backend_certificate = {certificate:?}"),
            "one.pem",
            "there is no private key in it",
        ),
        (
            format!("backend_certificate = {certificate:?}\nbackend_key = {key:?}"),
            "two.key",
            "the private key belongs to another certificate",
        ),
    ] {
        let text = format!("{}{keys}\n", route("/", &["https://a.test"]));
        // A file of authorities is there, so that nothing else is wrong.
        let text = match keys.contains("backend_ca") {
            true => text,
            false => format!("{text}{}", authority.as_ca()),
        };
        for flags in [&[][..], &["--check"]] {
            let output = run(&text, flags);
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(1), "{text}: {said}");
            let place = "cannot set up TLS to backend https://a.test:443: ";
            for part in [place, file, words] {
                assert!(said.contains(part), "{part:?} is not in {said}");
            }
        }
    }
}

//! The client, and all that speaks through it, against servers that are down, slow or talk nonsense.

use std::fs;
use std::io::Write;
use std::net::TcpListener;
use std::thread;

use http::header::RETRY_AFTER;
use tempfile::TempDir;

use super::*;
use crate::authority::tests::fake::Fake;
use crate::authority::tests::stand::{Stand, block_on};
use crate::schedule::retry::Setback;
use crate::storage::tests::Small;

impl Fake {
    fn visit(&self) -> Visit {
        let client = Client::new(Some(&self.roots())).unwrap();
        Visit::new(&client, &self.url("/directory").parse().unwrap())
    }
}

/// What comes of an order there.
fn failure_at(stand: &Stand) -> Failure {
    stand.order(SystemTime::now()).unwrap_err()
}

fn ask(visit: &Visit, url: &str) -> Result<BytesResponse, String> {
    let request = Request::builder().uri(url).body(BodyWrapper::default()).unwrap();
    block_on(visit.exchange(request)).map_err(|error| error.to_string())
}

#[track_caller]
fn refused(fake: &Fake, path: &str, problem: &str) {
    let error = ask(&fake.visit(), &fake.url(path)).map(|_| ()).unwrap_err();
    assert!(error.starts_with(&fake.url(path)) && error.contains(problem), "{error}");
}

#[test]
fn a_server_that_is_down_is_told_as_such() {
    let fake = Fake::with("200 OK", "", "{}");
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let error = ask(&fake.visit(), &format!("https://{free}/x")).map(|_| ()).unwrap_err();
    assert!(error.contains("cannot be asked") && error.contains("refused"), "{error}");
}

#[test]
fn a_server_that_never_answers_is_given_up() {
    let fake = Fake::answering(None);
    let mut visit = fake.visit();
    visit.client.longest_answer = Duration::from_millis(200);
    let error = ask(&visit, &fake.url("/x")).map(|_| ()).unwrap_err();
    assert!(error.contains("did not answer within"), "{error}");
}

#[test]
fn nonsense_on_the_wire_is_told() {
    refused(
        &Fake::answering(Some(b"220 smtp.example ESMTP\r\n".to_vec())),
        "/x",
        "cannot be asked",
    );
    refused(&Fake::answering(Some(Vec::new())), "/x", "cannot be asked");
    let cut = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"a\":".to_vec();
    refused(&Fake::answering(Some(cut)), "/x", "broke off");
    refused(&Fake::with("200 OK", "", &"x".repeat(LARGEST_ANSWER + 1)), "/x", "more than 1024 KB");
    refused(&Fake::with("502 Bad Gateway", "", "<html>"), "/x", "502 Bad Gateway");
    refused(&Fake::with("200 OK", "", "<html>"), "/directory", "is no ACME directory");
}

#[test]
fn a_server_of_an_unknown_authority_names_the_remedy() {
    let (fake, other) = (Fake::with("200 OK", "", "{}"), Fake::with("200 OK", "", "{}"));
    let error = ask(&other.visit(), &fake.url("/x")).map(|_| ()).unwrap_err();
    assert!(error.contains("acme_ca"), "{error}");
}

#[test]
fn a_server_that_does_not_speak_tls_is_told_as_such() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let _ = stream.unwrap().write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
        }
    });
    let visit = Fake::with("200 OK", "", "{}").visit();
    let error = ask(&visit, &format!("https://{address}/x")).map(|_| ()).unwrap_err();
    assert!(error.contains("cannot be asked"), "{error}");
}

#[test]
fn what_a_rate_limit_says_is_remembered() {
    let problem = r#"{"type": "urn:ietf:params:acme:error:rateLimited", "detail": "slow down"}"#;
    let fake = Fake::with("429 Too Many Requests", "Retry-After: 3600\r\n", problem);
    let visit = fake.visit();
    let response = ask(&visit, &fake.url("/order")).unwrap();
    assert_eq!(response.parts.status, 429);
    assert_eq!(visit.retry_after(), Some(Duration::from_secs(3600)));
}

#[test]
fn waits_reach_the_library_in_bounds_and_always_with_renewal_information() {
    let wait = |fields: &str| {
        let fake = Fake::with("200 OK", fields, "{}");
        let response = ask(&fake.visit(), &fake.url("/renewal")).unwrap();
        response.parts.headers[RETRY_AFTER].to_str().unwrap().to_owned()
    };
    assert_eq!(wait("Retry-After: 18446744073709551615\r\n"), "86400");
    assert_eq!(wait("Retry-After: Fri, 31 Dec 9999 23:59:59 GMT\r\n"), "86400");
    assert_eq!(wait("Retry-After: 60\r\n"), "60");
    assert_eq!(wait(""), "21600");
}

#[test]
fn roots_that_are_none_are_named() {
    let home = TempDir::new().unwrap();
    let file = home.path().join("ca.pem");
    let error = |file: &Path| Client::new(Some(file)).map(|_| ()).unwrap_err().to_string();
    assert!(error(&file).contains("ca.pem: it cannot be read: No such file"), "{}", error(&file));
    fs::write(&file, "hello").unwrap();
    assert!(error(&file).contains("there is no certificate in it"), "{}", error(&file));
    fs::write(&file, "-----BEGIN CERTIFICATE-----\nQUJD\n-----END CERTIFICATE-----\n").unwrap();
    assert!(error(&file).contains("it is no certificate of an authority"), "{}", error(&file));
}

/// An order at a server that answers everything, from the directory on, with one body.
#[test]
fn an_order_at_a_server_that_talks_nonsense_fails_in_words() {
    let directory = r#"{"newNonce": "URL", "newAccount": "URL", "newOrder": "URL"}"#;
    for (fields, body, problem) in [
        ("", "[]", "no ACME directory"),
        ("", r#"{"newNonce": "::"}"#, "no ACME directory"),
        // A directory without nonces, then an account without an address.
        ("", directory, "no nonce"),
        ("Replay-Nonce: abc\r\n", directory, "account URL"),
        // The account is the directory, and so is the order.
        ("Replay-Nonce: abc\r\nLocation: https://127.0.0.1/\r\n", directory, "makes no sense"),
    ] {
        let home = TempDir::new().unwrap();
        let fake = Fake::with("200 OK", fields, body);
        let failure = failure_at(&Stand::new(&fake, home.path()));
        assert!(failure.to_string().contains(problem), "{failure}");
    }
}

/// The server takes accounts, and no orders.
#[test]
fn a_full_disk_costs_one_account() {
    let body = r#"{"newNonce": "URL", "newAccount": "URL", "newOrder": "URL", "status": "valid"}"#;
    let fake = Fake::with("200 OK", "Replay-Nonce: abc\r\nLocation: https://ADDRESS/\r\n", body);
    let small = Small::new("64k");
    let mut stand = Stand::new(&fake, small.path());
    let filler = small.fill();
    let account = |stand: &Stand| {
        let failure = failure_at(stand).to_string();
        assert!(failure.contains("the order was not taken"), "{failure}");
        stand.authority.account.read().unwrap().unwrap()
    };
    let first = account(&stand);
    assert_eq!(account(&stand), first);
    // There is room for it, and none for a new address.
    fs::remove_file(filler).unwrap();
    assert_eq!(account(&stand), first);
    assert_eq!(stand.storage.account().unwrap().as_ref(), Some(&first));
    small.fill();
    stand.authority.settings.email = Some("admin@a.example".to_owned());
    assert_eq!(account(&stand), first);
}

/// Everything is the directory, the account, and an order that is not decided before five minutes.
#[test]
fn an_order_that_takes_the_server_longer_is_followed_by_none_before_it_says_so() {
    let body = r#"{"newNonce": "URL", "newAccount": "URL", "newOrder": "URL",
        "status": "processing", "authorizations": [], "finalize": "URL"}"#;
    let fields = "Replay-Nonce: abc\r\nLocation: https://ADDRESS/\r\nRetry-After: 300\r\n";
    let home = TempDir::new().unwrap();
    let fake = Fake::with("200 OK", fields, body);
    let failure = failure_at(&Stand::new(&fake, home.path()));
    assert!(failure.to_string().contains("did not come to a decision"), "{failure}");
    let setback = Setback { is_refusal: false, retry_after: Some(Duration::from_secs(300)) };
    assert_eq!(failure.setback(), setback);
}

//! The client, and all that speaks through it, against servers that are down, slow or talk nonsense.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread;

use http::header::RETRY_AFTER;
use rcgen::{CertificateParams, DnType, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use tempfile::TempDir;
use weir_tls::CertificateStore;

use super::*;
use crate::answers::{Answers, Challenges};
use crate::authority::{Authority, Wish};
use crate::schedule::retry::Setback;
use crate::settings::{ChallengeKind, Settings};
use crate::storage::Storage;
use crate::storage::tests::Small;

/// A server over TLS that answers every request with the same bytes and closes the connection, or
/// never answers. It ends with the tests' process.
struct Fake {
    address: SocketAddr,
    /// What its certificate is checked against.
    roots: TempDir,
}

impl Fake {
    fn answering(answer: Option<Vec<u8>>) -> Fake {
        Fake::on(TcpListener::bind("127.0.0.1:0").unwrap(), answer)
    }

    /// Answers HTTP. `URL` in the body is an address of its own, as `https://ADDRESS/` is in the fields.
    fn with(status: &str, fields: &str, body: &str) -> Fake {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let body = body.replace("URL", &format!("https://{address}/x"));
        let fields = fields.replace("ADDRESS", &address);
        let length = body.len();
        let text = format!(
            "HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n{fields}\r\n{body}"
        );
        Fake::on(listener, Some(text.into_bytes()))
    }

    fn on(listener: TcpListener, answer: Option<Vec<u8>>) -> Fake {
        let address = listener.local_addr().unwrap();
        let key = KeyPair::generate().unwrap();
        let mut certificate = CertificateParams::new(["127.0.0.1".to_owned()]).unwrap();
        certificate.distinguished_name.push(DnType::CommonName, address.to_string());
        let certificate = certificate.self_signed(&key).unwrap();
        let roots = TempDir::new().unwrap();
        fs::write(roots.path().join("ca.pem"), certificate.pem()).unwrap();
        let key = PrivateKeyDer::from_pem_slice(key.serialize_pem().as_bytes()).unwrap();
        let config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key)
            .unwrap();
        let config = Arc::new(config);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let connection = ServerConnection::new(config.clone()).unwrap();
                let mut stream = StreamOwned::new(connection, stream.unwrap());
                let answer = answer.clone();
                thread::spawn(move || {
                    let mut request = [0; 16 * 1024];
                    let _ = stream.read(&mut request);
                    match answer {
                        Some(answer) => {
                            let _ = stream.write_all(&answer);
                            stream.conn.send_close_notify();
                            let _ = stream.flush();
                        }
                        // Until the client gives up.
                        None => while stream.read(&mut request).is_ok_and(|count| count > 0) {},
                    }
                });
            }
        });
        Fake { address, roots }
    }

    fn url(&self, path: &str) -> String {
        format!("https://{}{path}", self.address)
    }

    fn visit(&self) -> Visit {
        let client = Client::new(Some(&self.roots.path().join("ca.pem"))).unwrap();
        Visit::new(&client, &self.url("/directory").parse().unwrap())
    }
}

/// Orders at a fake.
struct Stand {
    settings: Settings,
    storage: Storage,
    authority: Authority,
}

impl Stand {
    /// What is kept is kept in `home`.
    fn new(fake: &Fake, home: &Path) -> Stand {
        let settings = Settings {
            names: vec!["a.example".parse().unwrap()],
            directory_url: fake.url("/directory").parse().unwrap(),
            email: None,
            storage: home.to_owned(),
            roots: Some(fake.roots.path().join("ca.pem")),
            external_account: None,
            challenges: vec![ChallengeKind::Http01],
        };
        let storage = Storage::open(&settings.storage, &settings.directory_url).unwrap();
        let authority = Authority::new(&settings, &storage).unwrap();
        Stand { settings, storage, authority }
    }

    /// What comes of it.
    fn order(&self) -> Failure {
        let (challenges, store) = (Challenges::default(), CertificateStore::new());
        let answers = Answers::new(challenges, store, self.storage.clone());
        let name = &self.settings.names[0];
        let wish = Wish { name, kind: ChallengeKind::Http01, replaces: None };
        block_on(self.authority.obtain(wish, &answers)).unwrap_err()
    }
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
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
        let failure = Stand::new(&Fake::with("200 OK", fields, body), home.path()).order();
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
        let failure = stand.order().to_string();
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
    let failure = Stand::new(&Fake::with("200 OK", fields, body), home.path()).order();
    assert!(failure.to_string().contains("did not come to a decision"), "{failure}");
    let setback = Setback { is_refusal: false, retry_after: Some(Duration::from_secs(300)) };
    assert_eq!(failure.setback(), setback);
}

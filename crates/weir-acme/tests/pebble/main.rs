//! Certificates from Pebble, the ACME server that Let's Encrypt tests clients with: both challenges,
//! renewal, sharing, and what Pebble refuses. They need its program (`./test --install` builds it) and
//! curl; all of it happens on loopback.
#![allow(clippy::unwrap_used)] // the helpers of tests are tests

mod authority;
mod names;
mod served;

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use tempfile::TempDir;
use weir_acme::{CertificateStatus, ChallengeKind, ExternalAccount, Manager, Phase, Settings};

use crate::authority::Pebble;
use crate::served::Served;

/// Guards against hanging. Nothing that works takes so long.
const DEADLINE: Duration = Duration::from_secs(180);

/// Waits until `condition` holds; fails with `what` if it never does.
fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < DEADLINE, "this never came about: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn settings(pebble: &Pebble, storage: &Path, challenges: &[ChallengeKind]) -> Settings {
    Settings {
        names: vec!["www.weir.example".parse().unwrap()],
        directory_url: pebble.directory_url().parse().unwrap(),
        email: Some("admin@weir.example".to_owned()),
        storage: storage.to_owned(),
        roots: Some(pebble.roots()),
        external_account: None,
        challenges: challenges.to_vec(),
    }
}

/// Starts to look after the certificate of `served`, which gives out the answers to challenges.
fn start(settings: Settings, served: &Served) -> Manager {
    let manager = Manager::start(settings, served.store()).unwrap();
    served.answer(manager.challenges());
    manager
}

fn status(manager: &Manager) -> CertificateStatus {
    manager.board().status().certificates.remove(0)
}

#[track_caller]
fn wait_for_certificate(manager: &Manager) {
    eventually("a certificate", || {
        let status = status(manager);
        assert_eq!(status.last_failure, None);
        status.not_after.is_some()
    });
}

/// What the first failed attempt is told with.
#[track_caller]
fn failure(manager: &Manager) -> String {
    eventually("a failure", || status(manager).failed > 0);
    assert_eq!(status(manager).phase, Phase::Retrying);
    status(manager).last_failure.unwrap().text
}

#[test]
fn a_certificate_is_obtained_by_http_01() {
    let (served, home) = (Served::new(), TempDir::new().unwrap());
    let pebble = served.pebble().start();
    let manager = start(settings(&pebble, home.path(), &[ChallengeKind::Http01]), &served);
    wait_for_certificate(&manager);
    served.assert_taken_by_clients(&pebble, "www.weir.example");
    assert_eq!(status(&manager).obtained, 1);
    assert!(status(&manager).renewal.unwrap() > SystemTime::now());
    assert!(!status(&manager).unsaved);
    // What proved the name is not given out any more, nor told to other processes.
    let directory = fs::read_dir(home.path()).unwrap().next().unwrap().unwrap().path();
    assert_eq!(fs::read_dir(directory.join("_challenges")).unwrap().count(), 0);
}

#[test]
fn a_certificate_is_obtained_by_tls_alpn_01() {
    let (served, home) = (Served::new(), TempDir::new().unwrap());
    let pebble = served.pebble().start();
    let manager = start(settings(&pebble, home.path(), &[ChallengeKind::TlsAlpn01]), &served);
    wait_for_certificate(&manager);
    served.assert_taken_by_clients(&pebble, "www.weir.example");
}

#[test]
fn every_name_gets_a_certificate_of_its_own() {
    let (served, home) = (Served::new(), TempDir::new().unwrap());
    let pebble = served.pebble().start();
    let mut settings =
        settings(&pebble, home.path(), &[ChallengeKind::TlsAlpn01, ChallengeKind::Http01]);
    let names =
        ["a.weir.example", "b.weir.example", "c.weir.example", "d.weir.example", "e.weir.example"];
    settings.names = names.map(|name| name.parse().unwrap()).to_vec();
    let manager = start(settings, &served);
    eventually("five certificates", || {
        manager
            .board()
            .status()
            .certificates
            .iter()
            .all(|certificate| certificate.not_after.is_some())
    });
    for name in names {
        served.assert_taken_by_clients(&pebble, name);
    }
}

#[test]
fn a_restart_serves_what_was_obtained_even_while_the_acme_server_is_down() {
    let (served, home) = (Served::new(), TempDir::new().unwrap());
    let mut pebble = served.pebble().start();
    let settings = settings(&pebble, home.path(), &[ChallengeKind::Http01]);
    let manager = start(settings.clone(), &served);
    wait_for_certificate(&manager);
    drop(manager);
    let issuer = pebble.issuer();
    pebble.stop();

    let after = Served::new();
    let manager = start(settings, &after);
    // There is no waiting: it is served from the start.
    let status = status(&manager);
    assert_eq!((status.taken_over, status.obtained, status.failed), (1, 0, 0));
    after.assert_taken(&issuer, "www.weir.example");
}

#[test]
fn a_certificate_that_ends_is_renewed() {
    let (served, home) = (Served::new(), TempDir::new().unwrap());
    let mut pebble = served.pebble();
    // Long enough that a client looks at one before it ends, on a busy machine, too.
    pebble.validity = Duration::from_secs(40);
    let pebble = pebble.start();
    let manager = start(settings(&pebble, home.path(), &[ChallengeKind::Http01]), &served);
    wait_for_certificate(&manager);
    let first = status(&manager).not_after.unwrap();
    // Whether that is in time no test on a busy machine can say; those of the schedule do.
    eventually("a second certificate", || status(&manager).obtained >= 2);
    assert!(status(&manager).not_after.unwrap() > first);
    served.assert_taken_by_clients(&pebble, "www.weir.example");
}

#[test]
fn renewal_follows_what_the_acme_server_suggests() {
    let (served, home) = (Served::new(), TempDir::new().unwrap());
    let pebble = served.pebble().start();
    let settings = settings(&pebble, home.path(), &[ChallengeKind::Http01]);
    let manager = start(settings.clone(), &served);
    wait_for_certificate(&manager);
    drop(manager);
    let directory = fs::read_dir(home.path()).unwrap().next().unwrap().unwrap().path();
    let kept = fs::read_to_string(directory.join("www.weir.example.pem")).unwrap();
    pebble.suggest_renewal_at_once(&kept);

    let manager = start(settings, &served);
    eventually("a new certificate in time of the old", || status(&manager).obtained == 1);
    assert_eq!(status(&manager).failed, 0);
    assert_ne!(fs::read_to_string(directory.join("www.weir.example.pem")).unwrap(), kept);
}

#[test]
fn one_of_two_processes_orders_and_both_serve() {
    let (served, home) = (Served::new(), TempDir::new().unwrap());
    let pebble = served.pebble().start();
    let settings = settings(&pebble, home.path(), &[ChallengeKind::TlsAlpn01]);
    // Both answer the same address, as processes on one port would.
    let one = start(settings.clone(), &served);
    let other = start(settings, &served);
    for manager in [&one, &other] {
        wait_for_certificate(manager);
    }
    let counts = [&one, &other].map(|manager| status(manager).obtained);
    assert_eq!(counts.iter().sum::<u64>(), 1, "{counts:?}");
    assert_eq!(status(&one).not_after, status(&other).not_after);
}

#[test]
fn an_external_account_is_bound() {
    let (served, home) = (Served::new(), TempDir::new().unwrap());
    let (id, key) = ("kid-1", "zWNDZM6eQGHWpSRTPal5eIUYFTu7EajVIoguysqZ9wG44nMEtx3MUAsUDkMTQ12W");
    let mut pebble = served.pebble();
    pebble.external_account = Some((id, key));
    let pebble = pebble.start();
    let mut settings = settings(&pebble, home.path(), &[ChallengeKind::Http01]);
    let without = start(settings.clone(), &served);
    let text = failure(&without);
    assert!(text.contains("externalAccountRequired"), "{text}");
    drop(without);

    settings.external_account = Some(ExternalAccount::new(id, key).unwrap());
    let with = start(settings, &served);
    wait_for_certificate(&with);
}

#[test]
fn a_name_that_cannot_be_proved_says_what_the_acme_server_saw() {
    let (served, home) = (Served::new(), TempDir::new().unwrap());
    let pebble = served.pebble().start();
    // The answers are given out nowhere.
    let settings = settings(&pebble, home.path(), &[ChallengeKind::Http01]);
    let manager = Manager::start(settings, served.store()).unwrap();
    let text = failure(&manager);
    assert!(text.contains("could not prove www.weir.example by http-01"), "{text}");
    assert!(text.contains("unauthorized") && text.contains("port 80"), "{text}");
    assert_eq!(status(&manager).not_after, None);
}

#[test]
fn what_one_process_is_refused_no_other_asks_for() {
    let (served, home) = (Served::new(), TempDir::new().unwrap());
    let pebble = served.pebble().start();
    let mut settings = settings(&pebble, home.path(), &[ChallengeKind::Http01]);
    settings.names = vec!["blocked.weir.example".parse().unwrap()];
    let one = start(settings.clone(), &served);
    failure(&one);
    let other = start(settings, &served);
    eventually("waiting for the other", || status(&other).phase == Phase::OrderedElsewhere);
    assert_eq!(status(&other).failed, 0);
    // Whoever is left goes on.
    drop(one);
    failure(&other);
}

#[test]
fn a_name_that_the_acme_server_does_not_take_is_told() {
    let (served, home) = (Served::new(), TempDir::new().unwrap());
    let pebble = served.pebble().start();
    let mut settings = settings(&pebble, home.path(), &[ChallengeKind::Http01]);
    settings.names = vec!["blocked.weir.example".parse().unwrap()];
    let text = failure(&start(settings, &served));
    assert!(text.contains("rejectedIdentifier"), "{text}");
}

#[test]
fn an_account_that_the_acme_server_has_lost_is_put_aside() {
    let (served, home) = (Served::new(), TempDir::new().unwrap());
    let mut pebble = served.pebble().start();
    let settings = settings(&pebble, home.path(), &[ChallengeKind::Http01]);
    let manager = start(settings.clone(), &served);
    wait_for_certificate(&manager);
    drop(manager);
    let directory = fs::read_dir(home.path()).unwrap().next().unwrap().unwrap().path();
    fs::remove_file(directory.join("www.weir.example.pem")).unwrap();
    // It keeps everything in memory.
    pebble.restart();

    let manager = start(settings, &served);
    let text = failure(&manager);
    assert!(text.contains("accountDoesNotExist"), "{text}");
    assert!(!directory.join("_account.json").exists());
    assert!(directory.join("_account.json.unknown").exists());
}

#[test]
fn a_process_that_does_not_order_answers_for_the_one_that_does() {
    let (reached, hidden, home) = (Served::new(), Served::new(), TempDir::new().unwrap());
    let pebble = reached.pebble().start();
    // Every order's challenge is asked for at `reached`, which has other names.
    let of_hidden = settings(&pebble, home.path(), &[ChallengeKind::Http01]);
    let of_reached =
        Settings { names: vec!["other.weir.example".parse().unwrap()], ..of_hidden.clone() };
    let other = start(of_reached, &reached);
    let manager = start(of_hidden, &hidden);
    wait_for_certificate(&manager);
    wait_for_certificate(&other);
    hidden.assert_taken_by_clients(&pebble, "www.weir.example");
}

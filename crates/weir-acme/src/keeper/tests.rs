//! A keeper without an ACME server, or with one that takes its time: what it takes over, serves and tells.

use std::fs;
use std::path::PathBuf;

use rcgen::{CertificateParams, KeyPair, date_time_ymd};
use tempfile::TempDir;

use super::*;
use crate::answers::Challenges;
use crate::authority::tests::slow::Slow;
use crate::authority::tests::stand::block_on;
use crate::board::{Board, CertificateStatus};
use crate::settings::{ChallengeKind, Settings};

struct Stand {
    home: TempDir,
    store: Arc<CertificateStore>,
    board: Board,
    keeper: Keeper,
}

impl Stand {
    fn new() -> Stand {
        let home = TempDir::new().unwrap();
        let roots = home.path().join("ca.pem");
        fs::write(&roots, pem("acme.example", 2020, 4000).chain).unwrap();
        // Nobody listens there.
        Stand::at("https://127.0.0.1:1/directory", roots, home)
    }

    /// With an ACME server, whose certificate is checked against `roots`.
    fn at(directory_url: &str, roots: PathBuf, home: TempDir) -> Stand {
        let settings = Settings {
            names: vec!["a.example".parse().unwrap()],
            directory_url: directory_url.parse().unwrap(),
            email: None,
            storage: home.path().to_owned(),
            roots: Some(roots),
            external_account: None,
            challenges: vec![ChallengeKind::Http01],
        };
        let store = CertificateStore::new();
        let board = Board::new(["a.example"].into_iter());
        let storage = Storage::open(&settings.storage, &settings.directory_url).unwrap();
        let common = Arc::new(Common {
            authority: Authority::new(&settings, &storage).unwrap(),
            answers: Answers::new(Challenges::default(), store.clone(), storage.clone()),
            storage,
            store: store.clone(),
            turns: Turns::new(&settings.challenges).unwrap(),
            orders: Semaphore::new(1),
        });
        let keeper = Keeper::new(settings.names[0].clone(), common, board.line(0));
        Stand { home, store, board, keeper }
    }

    fn status(&self) -> CertificateStatus {
        self.board.status().certificates.remove(0)
    }

    fn save(&self, pem: &Pem) {
        self.keeper.common.storage.save_certificate(&self.keeper.name, pem).unwrap();
    }

    fn is_locked(&self) -> bool {
        self.keeper.common.storage.lock_certificate(&self.keeper.name).unwrap().is_none()
    }

    /// When the certificate that is served begins.
    fn served(&self) -> Option<SystemTime> {
        self.store.all().first().map(Certificate::not_before)
    }
}

/// A certificate that is valid from the beginning of `year` on, until the end of `last`.
fn pem(name: &str, year: i32, last: i32) -> Pem {
    pem_of(&KeyPair::generate().unwrap(), name, year, last)
}

fn pem_of(key: &KeyPair, name: &str, year: i32, last: i32) -> Pem {
    let mut params = CertificateParams::new([name.to_owned()]).unwrap();
    params.not_before = date_time_ymd(year, 1, 1);
    params.not_after = date_time_ymd(last, 12, 31);
    Pem { key: key.serialize_pem(), chain: params.self_signed(key).unwrap().pem() }
}

fn begin(pem: &Pem) -> Option<SystemTime> {
    Some(Certificate::from_pem(pem.chain.as_bytes(), pem.key.as_bytes()).unwrap().not_before())
}

#[test]
fn what_is_newer_is_taken_over_and_nothing_else() {
    let mut stand = Stand::new();
    assert!(!stand.keeper.take_over());
    let (old, new) = (pem("a.example", 2020, 4000), pem("a.example", 2024, 3000));
    stand.save(&old);
    assert!(stand.keeper.take_over());
    assert!(!stand.keeper.take_over(), "the same again");
    stand.save(&new);
    assert!(stand.keeper.take_over());
    assert_eq!(stand.served(), begin(&new));
    stand.save(&old);
    assert!(!stand.keeper.take_over(), "an older one");
    assert_eq!(stand.served(), begin(&new));
    assert_eq!(stand.status().taken_over, 2);
    assert_eq!(stand.status().phase, Phase::Waiting);
}

#[test]
fn what_cannot_be_served_is_left_alone() {
    let mut stand = Stand::new();
    let good = pem("a.example", 2020, 4000);
    stand.save(&good);
    stand.keeper.take_over();
    let path = stand.keeper.common.storage.certificate_path(&stand.keeper.name);
    // The key of another certificate.
    let strange = Pem { key: good.key.clone(), ..pem("a.example", 2024, 4000) };
    for bad in [pem("b.example", 2024, 4000), strange] {
        stand.save(&bad);
        assert!(!stand.keeper.take_over());
    }
    fs::write(&path, "-----BEGIN").unwrap();
    assert!(!stand.keeper.take_over());
    assert_eq!(stand.served(), begin(&good));
}

#[test]
fn what_cannot_be_kept_is_served_and_kept_later() {
    let mut stand = Stand::new();
    let directory = stand.home.path().join("127.0.0.1_1_directory");
    fs::remove_dir_all(&directory).unwrap();
    let issued = pem("a.example", 2024, 4000);
    stand.keeper.obtained(issued.clone());
    assert_eq!(stand.served(), begin(&issued));
    assert!(stand.status().unsaved);
    assert_eq!(stand.status().obtained, 1);
    stand.keeper.save_again();
    assert!(stand.status().unsaved);
    fs::create_dir(&directory).unwrap();
    stand.keeper.save_again();
    assert!(!stand.status().unsaved);
    assert_eq!(stand.keeper.common.storage.certificate(&stand.keeper.name).unwrap(), Some(issued));
}

#[test]
fn what_is_taken_over_is_kept_already() {
    let mut stand = Stand::new();
    let directory = stand.home.path().join("127.0.0.1_1_directory");
    fs::remove_dir_all(&directory).unwrap();
    stand.keeper.obtained(pem("a.example", 2020, 4000));
    assert!(stand.status().unsaved);
    fs::create_dir(&directory).unwrap();
    stand.save(&pem("a.example", 2024, 4000));
    assert!(stand.keeper.take_over());
    assert!(!stand.status().unsaved);
}

#[test]
fn a_failure_keeps_what_is_served_and_is_told() {
    let mut stand = Stand::new();
    let old = pem("a.example", 2020, 4000);
    stand.save(&old);
    stand.keeper.take_over();
    stand.keeper.failed(&Failure::refused("the server is out of sorts"));
    let status = stand.status();
    assert_eq!(stand.served(), begin(&old));
    assert_eq!((status.phase, status.failed, status.failed_in_a_row), (Phase::Retrying, 1, 1));
    assert_eq!(status.last_failure.unwrap().text, "the server is out of sorts");
    assert!(status.not_after.is_some());

    // Success ends the row, and the last failure stays to be read.
    stand.keeper.obtained(pem("a.example", 2024, 4000));
    let status = stand.status();
    assert_eq!((status.phase, status.failed_in_a_row), (Phase::Waiting, 0));
    assert!(status.last_failure.is_some());
}

#[test]
fn an_issued_certificate_that_is_of_no_use_is_a_failure() {
    let mut stand = Stand::new();
    stand.keeper.obtained(pem("b.example", 2024, 4000));
    let text = stand.status().last_failure.unwrap().text;
    assert!(text.contains("of no use: it is for b.example"), "{text}");
    assert_eq!(stand.served(), None);
}

#[test]
fn a_certificate_that_has_expired_when_it_comes_is_served_and_named() {
    let mut stand = Stand::new();
    let expired = pem("a.example", 2019, 2020);
    stand.keeper.obtained(expired.clone());
    assert_eq!(stand.served(), begin(&expired));
    let status = stand.status();
    assert_eq!(status.failed_in_a_row, 1);
    assert!(status.last_failure.unwrap().text.contains("set the clock"));
}

#[test]
fn a_certificate_that_has_expired_when_it_comes_replaces_no_valid_one() {
    let mut stand = Stand::new();
    let (good, expired) = (pem("a.example", 2018, 4000), pem("a.example", 2019, 2020));
    stand.save(&good);
    stand.keeper.take_over();
    stand.keeper.obtained(expired.clone());
    assert_eq!(stand.served(), begin(&good));
    assert_eq!(stand.keeper.common.storage.certificate(&stand.keeper.name).unwrap(), Some(good));
    let status = stand.status();
    assert_eq!((status.obtained, status.failed_in_a_row), (0, 1));
    assert!(status.last_failure.unwrap().text.contains("set the clock"));
    // Nor if another process saved it.
    stand.save(&expired);
    assert!(!stand.keeper.take_over());
    assert_eq!(stand.status().taken_over, 1);
}

#[test]
fn an_order_waits_while_another_process_has_the_lock() {
    let mut stand = Stand::new();
    let name = stand.keeper.name.clone();
    let lock = stand.keeper.common.storage.lock_certificate(&name).unwrap();
    block_on(stand.keeper.order());
    assert_eq!(stand.status().phase, Phase::OrderedElsewhere);
    assert_eq!(stand.status().failed, 0);
    // The other has obtained it.
    let issued = pem("a.example", 2024, 4000);
    stand.save(&issued);
    drop(lock);
    block_on(stand.keeper.order());
    assert_eq!(stand.served(), begin(&issued));
    assert_eq!(stand.status().phase, Phase::Waiting);
    assert!(!stand.is_locked());
}

#[test]
fn an_order_that_is_being_processed_is_gone_on_with_and_its_certificate_served() {
    let hour = Duration::from_secs(3600);
    let slow = Slow::start(&[(hour, "valid")]);
    let (url, roots) = (slow.fake.url("/directory"), slow.fake.roots());
    let mut stand = Stand::at(&url, roots, TempDir::new().unwrap());
    let storage = stand.keeper.common.storage.clone();
    let name = stand.keeper.name.clone();
    block_on(stand.keeper.order());
    let status = stand.status();
    assert_eq!((status.phase, status.failed), (Phase::Ordering, 0));
    assert!(stand.keeper.plan.pause(SystemTime::now()) > Duration::from_secs(60));
    assert!(stand.is_locked(), "no other process orders");
    // Nor does it hold up the orders of other names.
    assert_eq!(stand.keeper.common.orders.available_permits(), 1);

    // The server has made the certificate of the key that is kept.
    let kept = storage.order(&name).unwrap().unwrap();
    let kept: serde_json::Value = serde_json::from_str(&kept).unwrap();
    let key = KeyPair::from_pem(kept["key"].as_str().unwrap()).unwrap();
    let issued = pem_of(&key, "a.example", 2024, 4000);
    slow.set_chain(&issued.chain);
    slow.set_time(SystemTime::UNIX_EPOCH + hour);
    block_on(stand.keeper.order());
    assert_eq!(stand.served(), begin(&issued));
    assert_eq!((stand.status().obtained, stand.status().failed), (1, 0));
    assert!(!stand.is_locked());
    assert_eq!(slow.placed().len(), 1);
    // It is saved, and there is nothing to go on with.
    assert_eq!(storage.certificate(&name).unwrap().unwrap().chain, issued.chain);
    assert_eq!(storage.order(&name).unwrap(), None);
}

#[test]
fn an_order_is_not_gone_on_with_if_its_certificate_is_of_no_use() {
    let mut stand = Stand::new();
    let (storage, name) = (stand.keeper.common.storage.clone(), stand.keeper.name.clone());
    stand.save(&pem("a.example", 2018, 4000));
    stand.keeper.take_over();
    // For another name, and over when it comes.
    for useless in [pem("b.example", 2024, 4000), pem("a.example", 2019, 2020)] {
        storage.save_order(&name, "{}").unwrap();
        stand.keeper.obtained(useless);
        assert_eq!(storage.order(&name).unwrap(), None);
    }
    assert_eq!(stand.status().failed, 2);
}

#[test]
fn after_a_refusal_all_processes_wait() {
    let mut stand = Stand::new();
    let lock = stand.keeper.common.storage.lock_certificate(&stand.keeper.name);
    stand.keeper.lock = lock.unwrap();
    stand.keeper.failed(&Failure::refused("the server is out of sorts"));
    assert!(stand.is_locked());
    // The next attempt is this process's own. It reaches nobody, which nobody counts.
    block_on(stand.keeper.order());
    assert_eq!((stand.status().phase, stand.status().failed), (Phase::Retrying, 2));
    assert!(!stand.is_locked());
}

#[test]
fn a_certificate_ends_the_waiting_of_all() {
    let mut stand = Stand::new();
    for is_found in [true, false] {
        let lock = stand.keeper.common.storage.lock_certificate(&stand.keeper.name);
        stand.keeper.lock = lock.unwrap();
        stand.keeper.failed(&Failure::refused("the server is out of sorts"));
        assert!(stand.is_locked());
        if is_found {
            stand.save(&pem("a.example", 2020, 4000));
            assert!(stand.keeper.take_over());
        } else {
            stand.keeper.obtained(pem("a.example", 2024, 4000));
        }
        assert!(!stand.is_locked());
    }
}

#[test]
fn a_suggestion_that_is_withdrawn_is_told_as_such() {
    let name = "a.example".parse().unwrap();
    let text = news(&name, true, SystemTime::UNIX_EPOCH);
    assert!(text.contains("suggests to renew") && text.contains("from 1970-01-01"), "{text}");
    let text = news(&name, false, SystemTime::UNIX_EPOCH);
    assert!(text.contains("does not suggest any more") && text.contains("from 1970"), "{text}");
}

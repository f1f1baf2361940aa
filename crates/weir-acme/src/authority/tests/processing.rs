//! Orders that the ACME server takes its time for, in virtual time: what the plan says is done at once,
//! and the clocks of both sides are set on.

use std::path::Path;
use std::time::{Duration, SystemTime};

use rcgen::{KeyPair, PublicKeyData};
use tempfile::TempDir;

use super::slow::{ASKED, Slow};
use super::stand::Stand;
use crate::authority::Outcome;
use crate::schedule::plan::{Plan, Step};
use crate::storage::Pem;

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3600);
const NEVER: Duration = Duration::from_secs(1000 * 24 * 3600);

fn start() -> SystemTime {
    SystemTime::UNIX_EPOCH + 20_000 * 24 * HOUR
}

/// A process that looks after one certificate, as a keeper does.
struct Run<'a> {
    slow: &'a Slow,
    stand: Stand,
    plan: Plan,
    now: SystemTime,
    /// What went wrong.
    failures: Vec<String>,
}

impl<'a> Run<'a> {
    /// Starts at `now` with what is in `home`.
    fn new(slow: &'a Slow, home: &Path, now: SystemTime) -> Run<'a> {
        let stand = Stand::new(&slow.fake, home);
        Run { slow, stand, plan: Plan::default(), now, failures: Vec::new() }
    }

    /// Goes on until there is a certificate, or until `end`.
    fn until(&mut self, end: SystemTime) -> Option<Pem> {
        while self.now < end {
            match self.plan.next(self.now) {
                Step::Wait(wait) => self.now += wait,
                Step::Ask => panic!("there is no certificate to ask about"),
                Step::Order => {
                    self.slow.set_time(self.now);
                    match self.stand.order(self.now) {
                        Ok(Outcome::Issued(pem)) => return Some(pem),
                        Ok(Outcome::Processing(wait)) => self.plan.processing(wait, self.now),
                        Err(failure) => {
                            self.failures.push(failure.to_string());
                            self.plan.failed(failure.setback(), self.now, 0.0);
                        }
                    }
                }
            }
        }
        None
    }

    fn is_kept(&self) -> bool {
        self.stand.storage.order(&self.stand.settings.names[0]).unwrap().is_some()
    }
}

/// Whether the request to sign is for the public key of this one.
fn is_for(request: &[u8], key: &str) -> bool {
    let public = KeyPair::from_pem(key).unwrap().subject_public_key_info();
    request.windows(public.len()).any(|part| part == public)
}

#[test]
fn ten_minutes_of_processing_give_one_certificate_of_one_order() {
    let (slow, home) = (Slow::start(&[(10 * MINUTE, "valid")]), TempDir::new().unwrap());
    slow.set_chain("chain");
    let mut run = Run::new(&slow, home.path(), start());
    let pem = run.until(start() + HOUR).expect("a certificate");
    assert_eq!(run.now, start() + 3 * ASKED, "it waits as long as it is told");
    assert_eq!(run.failures, [""; 0]);
    assert_eq!((slow.placed(), slow.fetched()), (vec![start()], 1));
    assert!(slow.requests().len() == 1 && is_for(&slow.requests()[0], &pem.key));
    assert_eq!(pem.chain, "chain");
    // Whoever could not save it gets it once more.
    assert!(run.is_kept());
    run.stand.authority.forget_order(&run.stand.settings.names[0]);
    assert!(!run.is_kept());
}

#[test]
fn a_restart_goes_on_with_the_same_order() {
    let (slow, home) = (Slow::start(&[(10 * MINUTE, "valid")]), TempDir::new().unwrap());
    let mut run = Run::new(&slow, home.path(), start());
    assert_eq!(run.until(start() + 5 * MINUTE), None);
    let mut run = Run::new(&slow, home.path(), run.now);
    let pem = run.until(start() + HOUR).expect("a certificate");
    assert_eq!(run.failures, [""; 0]);
    assert_eq!((slow.placed(), slow.fetched()), (vec![start()], 1));
    assert!(slow.requests().len() == 1 && is_for(&slow.requests()[0], &pem.key));
}

#[test]
fn a_server_that_is_down_for_a_while_goes_on_with_the_same_order() {
    let (slow, home) = (Slow::start(&[(10 * MINUTE, "valid")]), TempDir::new().unwrap());
    let mut run = Run::new(&slow, home.path(), start());
    assert_eq!(run.until(start() + 5 * MINUTE), None);
    slow.set_down(true);
    assert_eq!(run.until(start() + 20 * MINUTE), None);
    assert!(!run.failures.is_empty());
    slow.set_down(false);
    assert!(run.until(start() + 2 * HOUR).is_some());
    assert_eq!(slow.placed(), [start()]);
}

#[test]
fn an_order_that_comes_to_nothing_is_placed_anew_after_the_usual_pause() {
    for (fate, told) in [("invalid", "serverInternal"), ("gone", "malformed")] {
        let slow = Slow::start(&[(5 * MINUTE, fate), (Duration::ZERO, "valid")]);
        let home = TempDir::new().unwrap();
        let mut run = Run::new(&slow, home.path(), start());
        let pem = run.until(start() + HOUR).expect("a certificate");
        assert!(run.failures.len() == 1 && run.failures[0].contains(told), "{:?}", run.failures);
        // It is seen at the second look.
        let again = start() + 2 * ASKED + 5 * MINUTE;
        assert_eq!(slow.placed(), [start(), again], "{fate}");
        let [old, new] = [0, 1].map(|number| is_for(&slow.requests()[number], &pem.key));
        assert!(!old && new, "the new order has a key of its own");
    }
}

#[test]
fn an_order_is_given_up_after_a_day_and_that_is_told() {
    let (slow, home) = (Slow::start(&[(NEVER, "valid")]), TempDir::new().unwrap());
    slow.set_asked(6 * HOUR);
    let mut run = Run::new(&slow, home.path(), start());
    assert_eq!(run.until(start() + 24 * HOUR), None);
    assert_eq!((run.failures.len(), slow.placed().len()), (0, 1));
    assert_eq!(run.until(start() + 25 * HOUR), None);
    assert!(run.failures.len() == 1 && run.failures[0].contains("within a day"));
    assert!(!run.is_kept());
    run.until(start() + 31 * HOUR);
    assert_eq!(slow.placed().len(), 2);
}

#[test]
fn an_order_of_long_ago_is_not_looked_at() {
    let slow = Slow::start(&[(NEVER, "valid"), (Duration::ZERO, "valid")]);
    let home = TempDir::new().unwrap();
    assert_eq!(Run::new(&slow, home.path(), start()).until(start() + MINUTE), None);
    let later = start() + 72 * HOUR;
    assert!(Run::new(&slow, home.path(), later).until(later + MINUTE).is_some());
    assert_eq!(slow.placed(), [start(), later]);
}

//! A run that has too few descriptors. It lowers its process's limit, so it runs in a process of its
//! own: the test starts this program again for itself alone.

use std::process::Command;

use crate::scripted::{count, open, plan, requests};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use weir_stats::Outcome;

/// Set in the process whose limit may be lowered.
const ALONE: &str = "WEIR_LOAD_TEST_ALONE";

#[test]
fn what_cannot_be_sent_for_want_of_descriptors_is_counted_apart() {
    if std::env::var_os(ALONE).is_some() {
        return run_with_few_descriptors();
    }
    let name = "descriptors::what_cannot_be_sent_for_want_of_descriptors_is_counted_apart";
    let program = std::env::current_exe().expect("this test's program");
    let alone = Command::new(program).args(["--exact", name]).env(ALONE, "1").output();
    let alone = alone.expect("a process of its own");
    let text = String::from_utf8_lossy(&alone.stdout);
    assert!(alone.status.success() && text.contains("1 passed"), "{text}");
}

fn run_with_few_descriptors() {
    // The kernel accepts for a listener that does not.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let mut plan = plan(listener.local_addr().expect("an address"));
    (plan.drain, plan.retries) = (0.05, 3);
    let maximum = getrlimit(Resource::Nofile).maximum;
    setrlimit(Resource::Nofile, Rlimit { current: Some(32), maximum }).expect("a lower limit");
    let (report, records) = open(&plan, requests(64));
    assert_eq!(records.len(), 64);
    let unsent = count(&records, Outcome::Unsent);
    assert!((32..64).contains(&unsent), "{unsent} unsent");
    assert_eq!(count(&records, Outcome::Unfinished), 64 - unsent);
    assert_eq!(report.most_open as usize, 64 - unsent);
    // The check raises the soft limit again.
    weir_load::check_limits(1, 1).expect("the hard limit is enough");
    assert_eq!(getrlimit(Resource::Nofile).current, maximum, "raised although 1 needs little");
    let (_, records) = open(&plan, requests(64));
    assert_eq!(count(&records, Outcome::Unfinished), 64);
}

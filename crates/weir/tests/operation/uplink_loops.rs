//! Shows that a client who asks on and on gets no more of the uplink than one who asks once for each
//! connection it has, however it splits what it asks for.

use crate::support::loops::{Again, Loops, download, write_site};
use crate::support::{DEADLINE, Server};

/// While the download of so many bytes goes over `rate`, the others have at most 1.2 times as much on
/// each of their connections.
fn assert_shares_fairly(rate: &str, bytes: usize, again: Again) {
    let site = tempfile::tempdir().expect("a directory");
    write_site(site.path(), bytes);
    let server = Server::of(site.path(), &["--uplink", rate]);
    let loops = Loops::begin(server.address(), again);
    let before = loops.received();
    let download = download(server.address(), DEADLINE);
    let others = loops.received() - before;
    assert!(download.whole, "{again:?}: {download:?} beside {others} bytes");
    let fair = download.received as f64 * again.connections() as f64;
    assert!((others as f64) < 1.2 * fair, "{again:?}: {others} bytes, not {fair}");
}

#[test]
fn ranges_one_after_the_other_are_one_share() {
    assert_shares_fairly("20mbit", 500_000, Again::Ranges);
}

#[test]
fn ranges_on_new_connections_are_one_share() {
    assert_shares_fairly("20mbit", 500_000, Again::RangesAnew);
}

#[test]
fn heads_asked_ahead_are_a_share_for_each_connection() {
    assert_shares_fairly("2mbit", 50_000, Again::Heads);
}

#[test]
fn who_left_before_loosens_nobodys_promise() {
    assert_shares_fairly("20mbit", 500_000, Again::RangesAfterLeaving);
}

//! Shows that `weir uplink` puts everything back, or says what is left to do, when a step fails. All of it
//! needs root.

use std::fs;

use super::{Bench, files};
use crate::support::link::Link;
use crate::support::output_of;

/// The last step fails: `nft` is one that refuses.
#[test]
fn an_installation_that_fails_is_undone() {
    let bench = Bench::new();
    bench.link.tc(&format!("qdisc add dev {} root handle 9: pfifo limit 77", Link::DEVICE));
    let before = bench.root();
    let install = ["--rate", "10mbit", "--mechanism", "htb", "--replace"];
    let told = bench.refused("install", &install, "nft", "*");
    assert!(told.ends_with("no more today; what was done before is undone\n"), "{told}");
    assert_eq!((bench.root(), files(bench.state.path())), (before.clone(), 0));
    // Half of an installation, of which rules may be left.
    assert!(bench.install("10mbit", &["--replace"]).status.success());
    bench.link.tc(&format!("qdisc del dev {} parent 7765:12 handle 7772:", Link::DEVICE));
    let told = bench.refused("install", &install[..4], "nft", "*");
    assert!(told.contains("not undone") && told.contains("delete table"), "{told}");
    assert_eq!((bench.root(), files(bench.state.path())), (before.clone(), 1));
    output_of(bench.command("remove", &[]));
    assert_eq!((bench.root(), bench.tables(), files(bench.state.path())), (before, "".into(), 0));
}

#[test]
fn an_installation_of_which_nothing_was_done_leaves_all_as_it_was() {
    let install = ["--rate", "10mbit", "--mechanism", "htb", "--replace"];
    let bench = Bench::new();
    let told = bench.refused("install", &install, "tc", "'qdisc add'*");
    assert!(told.ends_with("no more today\n"), "{told}");
    assert_eq!(files(bench.state.path()), 0);
    // What is put aside cannot be, and what is remembered of it stays.
    bench.link.tc(&format!("qdisc add dev {} root handle 9: pfifo limit 77", Link::DEVICE));
    let before = bench.root();
    let told = bench.refused("install", &install, "tc", "'qdisc del'*");
    assert!(told.ends_with("no more today\n"), "{told}");
    assert_eq!((bench.root(), files(bench.state.path())), (before.clone(), 0));
    // It is put aside, and cannot be brought back before the next `remove`.
    let told = bench.refused("install", &install, "tc", "'qdisc add'*");
    assert!(told.contains("not undone") && told.contains("pfifo limit 77"), "{told}");
    output_of(bench.command("remove", &[]));
    assert_eq!((bench.root(), files(bench.state.path())), (before, 0));
}

#[test]
fn what_a_removal_could_not_do_the_next_one_does() {
    for state_is_lost in [false, true] {
        let bench = Bench::new();
        bench.link.tc(&format!("qdisc add dev {} root handle 9: pfifo limit 77", Link::DEVICE));
        let before = bench.root();
        assert!(bench.install("10mbit", &["--replace"]).status.success());
        if state_is_lost {
            fs::remove_file(bench.state.path().join("near0.json")).expect("it is there");
        }
        let told = bench.refused("remove", &[], "nft", "*");
        assert!(told.contains("left to do") && told.contains("delete table"), "{told}");
        assert_eq!(bench.root() == before, !state_is_lost);
        assert!(bench.tables().contains("weir-uplink-near0"));
        assert_eq!(files(bench.state.path()) == 1, !state_is_lost);
        output_of(bench.command("remove", &[]));
        assert_eq!((bench.tables(), files(bench.state.path())), ("".into(), 0));
    }
}

#[test]
fn a_queue_that_could_not_be_brought_back_is_remembered() {
    let bench = Bench::new();
    bench.link.tc(&format!("qdisc add dev {} root handle 9: pfifo limit 77", Link::DEVICE));
    let before = bench.root();
    assert!(bench.install("10mbit", &["--replace"]).status.success());
    let told = bench.refused("remove", &[], "tc", "'qdisc add'*");
    assert!(told.contains("left to do") && told.contains("pfifo limit 77"), "{told}");
    // The step after the one that failed is done.
    assert_eq!((bench.tables(), files(bench.state.path())), ("".into(), 1));
    output_of(bench.command("remove", &[]));
    assert_eq!((bench.root(), files(bench.state.path())), (before, 0));
}

#[test]
fn bands_that_somebody_else_took_away_leave_nothing() {
    let bench = Bench::new();
    bench.link.tc(&format!("qdisc add dev {} root handle 9: pfifo limit 77", Link::DEVICE));
    let before = bench.root();
    assert!(bench.install("10mbit", &["--replace"]).status.success());
    bench.link.tc(&format!("qdisc del dev {} root", Link::DEVICE));
    let removed = output_of(bench.command("remove", &[]));
    assert!(removed.contains("earlier queue again: pfifo"), "{removed}");
    assert_eq!((bench.root(), bench.tables(), files(bench.state.path())), (before, "".into(), 0));
}

#[test]
fn rules_of_bands_that_have_gone_do_not_stay_below_bands_without_rules() {
    let bench = Bench::new();
    bench.installed("10mbit");
    bench.link.tc(&format!("qdisc del dev {} root", Link::DEVICE));
    let dry = ["--rate", "10mbit", "--mechanism", "prio", "--dry-run"];
    let script = output_of(bench.command("install", &dry));
    assert!(script.contains("delete table inet weir-uplink-near0"), "{script}");
}

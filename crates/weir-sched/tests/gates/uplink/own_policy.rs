//! A policy that is not weir's own: the gate takes it by its description, and tells it of the paths
//! to clients. docs/policies.md shows how to write one.

use std::time::Duration;

use super::support::calls::{arrive, drain, open};
use super::support::{Link, time};
use weir_sched::policy::{Descriptor, Facts, Needs, Ranked, Rule};
use weir_sched::{Path, PolicyKind};

#[derive(Debug)]
struct NearestClient;

impl Rule for NearestClient {
    type Key = Duration;

    fn key(&self, job: &Facts) -> Duration {
        job.path.round_trip
    }
}

const NEAREST_CLIENT: PolicyKind = PolicyKind::new(&Descriptor {
    name: "nearest-client",
    help: "the client with the shortest round trip first",
    needs: Needs { path_updates: true, ..Needs::SIZES },
    build: |_| Box::new(Ranked::new(NearestClient)),
});

#[test]
fn it_learns_that_the_path_to_a_client_has_changed() {
    let mut gate = Link::exact(NEAREST_CLIENT).gate();
    let mut now = time(0.0);
    let (one, two) = (open(&mut gate, 1), open(&mut gate, 2));
    let far = |millis| Path {
        round_trip: Duration::from_millis(millis),
        window: 1 << 20,
        window_credit: 1 << 20,
    };
    gate.path_changed(one, far(100));
    gate.path_changed(two, far(50));
    let (first, second) = (arrive(&mut gate, now, one, 9000), arrive(&mut gate, now, two, 9000));
    // What it learned while both were here counts, for the one that is here.
    gate.path_changed(one, far(20));
    assert_eq!(drain(&mut gate, &mut now), [first, second]);
    let (first, second) = (arrive(&mut gate, now, one, 9000), arrive(&mut gate, now, two, 9000));
    gate.path_changed(one, far(100));
    assert_eq!(drain(&mut gate, &mut now), [second, first]);
}

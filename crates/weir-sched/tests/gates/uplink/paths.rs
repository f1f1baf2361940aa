//! What the gate is told of paths, its policy sees: round-trip time, window and window credit, those
//! at the arrival of a response and those of every change after it.

use std::cmp::Reverse;
use std::time::Duration;

use super::support::calls::{arrive, grant, open};
use super::support::{Link, time};
use proptest::prelude::*;
use weir_sched::policy::{Descriptor, Facts, Needs, Ranked, Rule};
use weir_sched::{JobId, Path, PolicyKind};

/// Serves by what it sees of the path alone: the most credit first, then the widest window, then the
/// nearest client.
#[derive(Debug)]
struct ByPath;

type Key = (Reverse<u64>, Reverse<u64>, Duration);

fn key(path: Path) -> Key {
    (Reverse(path.window_credit), Reverse(path.window), path.round_trip)
}

impl Rule for ByPath {
    type Key = Key;

    fn key(&self, job: &Facts) -> Key {
        key(job.path)
    }
}

const BY_PATH: PolicyKind = PolicyKind::new(&Descriptor {
    name: "by-path",
    help: "the most window credit first",
    needs: Needs { path_updates: true, ..Needs::SIZES },
    build: |_| Box::new(Ranked::new(ByPath)),
});

#[derive(Clone, Copy, Debug)]
enum Step {
    Changes { flow: usize, path: Path },
    Arrives { flow: usize },
    Granted,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    // Few values, so that paths are equal in part and every field decides at times.
    let path = (0u64..3, 0u64..3, 0u64..3).prop_map(|(millis, window, window_credit)| Path {
        round_trip: Duration::from_millis(millis),
        window,
        window_credit,
    });
    let step = prop_oneof![
        3 => (0usize..6, path).prop_map(|(flow, path)| Step::Changes { flow, path }),
        1 => (0usize..6).prop_map(|flow| Step::Arrives { flow }),
        4 => Just(Step::Granted),
    ];
    prop::collection::vec(step, 1..200)
}

proptest! {
    #[test]
    fn a_policy_sees_what_the_gate_was_told(steps in steps()) {
        let mut gate = Link::exact(BY_PATH).gate();
        let mut now = time(0.0);
        let flows: Vec<_> = (0..6).map(|client| open(&mut gate, client)).collect();
        let mut told = [Path::default(); 6];
        // The responses of each connection that are not sent, with their places in order of arrival.
        let mut here: [Vec<(usize, JobId)>; 6] = Default::default();
        let mut arrivals = 0;
        for step in steps {
            match step {
                Step::Changes { flow, path } => {
                    gate.path_changed(flows[flow], path);
                    told[flow] = path;
                }
                Step::Arrives { flow } => {
                    arrivals += 1;
                    here[flow].push((arrivals, arrive(&mut gate, now, flows[flow], 5000)));
                }
                Step::Granted => {
                    let firsts = here.iter().enumerate().filter_map(|(flow, jobs)| {
                        jobs.first().map(|(order, job)| (key(told[flow]), *order, *job))
                    });
                    let expected = firsts.min_by_key(|(key, order, _)| (*key, *order));
                    let granted = grant(&mut gate, &mut now);
                    prop_assert_eq!(granted.map(|it| it.job), expected.map(|(.., job)| job));
                    if let Some(granted) = granted {
                        let jobs = gate.jobs();
                        gate.used(now, &granted, granted.bytes);
                        if gate.jobs() < jobs {
                            here.iter_mut().for_each(|jobs| jobs.retain(|it| it.1 != granted.job));
                        }
                    }
                }
            }
        }
    }
}

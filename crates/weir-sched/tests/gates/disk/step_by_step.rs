//! The disk gate in worked cases: merging, order, limits, stuck jobs, and that nobody starves.

use std::collections::HashMap;
use std::time::Duration;

use proptest::prelude::*;
use weir_sched::{DiskConfig, DiskGate, DiskJob, DiskNext, Joined, Time};

/// A millisecond of transfer.
const MS: u64 = 60_000;
const KB: u64 = 1024;

fn ms(millis: u64) -> Time {
    Time::from_nanos(millis * 1_000_000)
}

fn gate(under_way: usize) -> DiskGate<u32> {
    DiskGate::new(DiskConfig { under_way, ..DiskConfig::default() })
}

fn join(gate: &mut DiskGate<u32>, key: u32, bytes: u64) -> DiskJob {
    let joined = gate.join(key, bytes, 0, Time::ZERO);
    let new = if let Joined::New(job) = joined { Some(job) } else { None };
    new.expect("the key is new and its place is well")
}

fn merge(gate: &mut DiskGate<u32>, key: u32) {
    assert!(matches!(gate.join(key, 0, 0, Time::ZERO), Joined::Merged(_)));
}

fn start(gate: &mut DiskGate<u32>, now: Time) -> DiskJob {
    let next = gate.next(now);
    let started = if let DiskNext::Start(job) = next { Some(job) } else { None };
    started.expect("a job is queued and a helper is free")
}

/// Starts and ends one job after the other until none is queued.
fn drain(gate: &mut DiskGate<u32>) -> Vec<DiskJob> {
    let mut order = Vec::new();
    while gate.waiting() > 0 {
        let job = start(gate, Time::ZERO);
        gate.done(job);
        order.push(job);
    }
    order
}

#[test]
fn requests_for_one_key_are_one_job() {
    let mut gate = gate(1);
    let job = join(&mut gate, 7, KB);
    assert_eq!(gate.join(7, KB, 0, Time::ZERO), Joined::Merged(job));
    assert_eq!((gate.waiting(), gate.under_way()), (1, 0));
    assert_eq!(gate.next(Time::ZERO), DiskNext::Start(job));
    assert_eq!((gate.waiting(), gate.under_way()), (0, 1));
    // While it runs more may join; none of them starts anything.
    assert_eq!(gate.join(7, KB, 0, Time::ZERO), Joined::Merged(job));
    assert_eq!(gate.next(Time::ZERO), DiskNext::Idle);
    assert_eq!((gate.done(job), gate.merged()), (3, 2));
    // Who comes after that must not get what was read before.
    let next = join(&mut gate, 7, KB);
    assert_ne!(next, job);
    assert_eq!((gate.done(job), gate.leave(job)), (0, false), "the old name means nothing now");
    assert_eq!(gate.done(next), 0, "it has not been started");
    assert_eq!((gate.waiting(), gate.next(Time::ZERO)), (1, DiskNext::Start(next)));
}

#[test]
fn positioning_outweighs_small_sizes_but_not_large_ones() {
    let mut gate = gate(1);
    // 2.17, 2.02 and 12 ms: 10 KB with two waiters come before 1 KB with one.
    let ten = join(&mut gate, 1, 10 * KB);
    let one = join(&mut gate, 2, KB);
    let large = join(&mut gate, 3, 10 * MS);
    merge(&mut gate, 1);
    for _ in 0..4 {
        merge(&mut gate, 3);
    }
    // 2 / 2.17, 1 / 2.02, 5 / 12 waiters each ms.
    assert_eq!(drain(&mut gate), [ten, one, large]);
}

#[test]
fn of_equals_the_older_goes_first() {
    let mut gate = gate(1);
    // One waiter for 2 ms, two for 4 ms, one for 2 ms.
    let first = join(&mut gate, 1, 0);
    let double = join(&mut gate, 2, 2 * MS);
    merge(&mut gate, 2);
    let last = join(&mut gate, 3, 0);
    assert_eq!(drain(&mut gate), [first, double, last]);
}

#[test]
fn orders_exactly_where_floats_would_call_a_tie() {
    let config = DiskConfig {
        positioning: Duration::ZERO,
        bytes_per_second: 1_000_000_000,
        ..Default::default()
    };
    let mut gate = DiskGate::new(config);
    let longer = join(&mut gate, 1, (1 << 60) + 1);
    let shorter = join(&mut gate, 2, 1 << 60);
    assert_eq!(drain(&mut gate), [shorter, longer]);
}

#[test]
fn who_leaves_counts_no_longer() {
    let mut gate = gate(1);
    let left = join(&mut gate, 1, 0);
    let stays = join(&mut gate, 2, 2 * MS);
    merge(&mut gate, 1);
    for _ in 0..2 {
        merge(&mut gate, 2);
    }
    let dropped = join(&mut gate, 3, 0);
    assert!(gate.leave(dropped));
    assert!(!gate.leave(dropped), "only once");
    assert!(!gate.leave(left), "another waits for it");
    // 1 / 2 and 3 / 4 waiters each ms.
    assert_eq!(start(&mut gate, Time::ZERO), stays);
    for _ in 0..3 {
        assert!(!gate.leave(stays), "it runs");
    }
    assert_eq!(gate.done(stays), 0);
    assert_eq!(drain(&mut gate), [left]);
    assert_eq!((gate.waiting(), gate.under_way()), (0, 0));
}

#[test]
fn every_eighth_start_is_the_oldest() {
    let mut gate = gate(1);
    let large = join(&mut gate, 0, 1000 * MS);
    for key in 1..20 {
        join(&mut gate, key, KB);
    }
    let order = drain(&mut gate);
    assert_eq!(order.iter().position(|job| *job == large), Some(7));
}

#[test]
fn only_so_many_run_at_once() {
    let mut gate = gate(2);
    let jobs = [1, 2, 3].map(|key| join(&mut gate, key, KB));
    assert_eq!([start(&mut gate, ms(1)), start(&mut gate, ms(2))], jobs[..2]);
    assert_eq!(gate.next(ms(3)), DiskNext::Full { until: Some(ms(10_001)) });
    gate.done(jobs[0]);
    assert_eq!(start(&mut gate, ms(3)), jobs[2]);
    join(&mut gate, 4, KB);
    assert_eq!(gate.next(ms(3)), DiskNext::Full { until: Some(ms(10_002)) });
}

#[test]
fn a_stuck_job_gives_up_its_helper_and_may_come_back() {
    let config = DiskConfig { under_way: 1, most_stuck: 1, ..Default::default() };
    let mut gate = DiskGate::new(config);
    let [one, two, three] = [1, 2, 3].map(|key| join(&mut gate, key, KB));
    assert_eq!(start(&mut gate, ms(0)), one);
    assert_eq!(gate.next(ms(9_999)), DiskNext::Full { until: Some(ms(10_000)) });
    assert_eq!(start(&mut gate, ms(10_000)), two);
    assert_eq!((gate.under_way(), gate.stuck(), gate.waiting()), (1, 1, 1));
    assert_eq!(gate.join(1, KB, 0, ms(10_000)), Joined::Refused, "it would wait for what hangs");
    // No more than one is written off.
    assert_eq!(gate.next(ms(30_000)), DiskNext::Full { until: None });
    assert_eq!(gate.done(one), 1);
    assert_eq!(start(&mut gate, ms(30_000)), three);
    assert_eq!((gate.under_way(), gate.stuck()), (1, 1), "the second was written off instead");
    assert_eq!((gate.done(two), gate.done(three)), (1, 1));
    assert_eq!((gate.under_way(), gate.stuck()), (0, 0));
}

#[test]
fn a_place_that_hangs_is_refused_until_one_comes_back() {
    let (hung, well) = (5, 6);
    let config = DiskConfig { under_way: 2, stuck_per_place: 2, ..Default::default() };
    let mut gate = DiskGate::new(config);
    let mut add = |key, place, now| gate.join(key, KB, place, now);
    let Joined::New(one) = add(1, hung, ms(0)) else { panic!() };
    let Joined::New(two) = add(2, hung, ms(0)) else { panic!() };
    let Joined::New(queued) = add(3, hung, ms(0)) else { panic!() };
    let Joined::New(other) = add(4, well, ms(0)) else { panic!() };
    assert_eq!([start(&mut gate, ms(0)), start(&mut gate, ms(0))], [one, two]);
    // A new key of the place is refused as soon as the time is up; a queued one may still be joined.
    assert_eq!(gate.join(7, KB, hung, ms(10_000)), Joined::Refused);
    assert_eq!(gate.join(3, KB, hung, ms(10_000)), Joined::Merged(queued));
    assert_eq!(gate.next(ms(10_000)), DiskNext::Refuse(queued));
    assert_eq!(gate.next(ms(10_000)), DiskNext::Start(other));
    assert_eq!(gate.next(ms(10_000)), DiskNext::Idle);
    assert!(matches!(gate.join(8, KB, well, ms(10_000)), Joined::New(_)));
    assert_eq!(gate.done(queued), 0, "it has gone");
    gate.done(two);
    assert!(matches!(gate.join(3, KB, hung, ms(10_000)), Joined::New(_)));
}

#[test]
fn refusing_does_not_wait_for_a_helper() {
    let config = DiskConfig { under_way: 1, stuck_per_place: 1, ..Default::default() };
    let mut gate = DiskGate::new(config);
    let one = join(&mut gate, 1, KB);
    let behind = join(&mut gate, 2, MS);
    let Joined::New(other) = gate.join(3, 0, 1, ms(0)) else { panic!() };
    assert_eq!(gate.next(ms(0)), DiskNext::Start(other));
    gate.done(other);
    assert_eq!(start(&mut gate, ms(0)), one);
    let Joined::New(busy) = gate.join(4, 0, 1, ms(0)) else { panic!() };
    assert_eq!(gate.next(ms(10_000)), DiskNext::Start(busy));
    assert_eq!(gate.next(ms(10_000)), DiskNext::Refuse(behind));
}

proptest! {
    /// A job with so many queued before it starts after at most 8 starts for each of them and
    /// itself, whatever else comes.
    #[test]
    fn nobody_starves(turns in prop::collection::vec((1usize..4, 1usize..4, 0u64..200, any::<bool>()), 1..400)) {
        let mut gate = gate(1);
        let (mut key, mut starts) = (0, 0);
        let mut latest: HashMap<DiskJob, u64> = HashMap::new();
        for (joins, waiters, ms, starting) in turns {
            for _ in 0..joins {
                key += 1;
                let ahead = gate.waiting() as u64;
                let job = join(&mut gate, key, ms * MS);
                for _ in 1..waiters {
                    merge(&mut gate, key);
                }
                latest.insert(job, starts + 8 * (ahead + 1));
            }
            if starting {
                let job = start(&mut gate, Time::ZERO);
                starts += 1;
                latest.remove(&job);
                gate.done(job);
            }
            prop_assert!(latest.values().all(|latest| *latest > starts));
        }
    }
}

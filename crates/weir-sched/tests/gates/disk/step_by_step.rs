//! The disk gate in worked cases: merging, order, limits, late and stuck jobs.

use std::time::Duration;

use weir_sched::{DiskConfig, DiskGate, DiskJob, DiskNext, Joined, Time};

/// A millisecond of transfer.
const MS: u64 = 60_000;
const KB: u64 = 1024;
/// When jobs join, if nothing else is said.
const NOW: Time = Time::from_nanos(100_000_000);

/// So long after [`NOW`].
fn ms(millis: u64) -> Time {
    NOW + Duration::from_millis(millis)
}

/// So long before it.
fn ago(millis: u64) -> Time {
    NOW.before(Duration::from_millis(millis))
}

fn gate(under_way: usize) -> DiskGate<u32> {
    DiskGate::new(fixed(under_way))
}

/// So many run at once, whatever the disk takes.
fn fixed(under_way: usize) -> DiskConfig {
    DiskConfig { under_way, least_under_way: under_way, ..DiskConfig::default() }
}

fn join(gate: &mut DiskGate<u32>, key: u32, bytes: u64) -> DiskJob {
    join_since(gate, key, bytes, NOW)
}

/// A request that has waited for other jobs since then.
fn join_since(gate: &mut DiskGate<u32>, key: u32, bytes: u64, since: Time) -> DiskJob {
    let joined = gate.join(key, bytes, 0, since, NOW);
    let new = if let Joined::New(job) = joined { Some(job) } else { None };
    new.expect("the key is new and its place is well")
}

/// A request of a place of its own that has waited for nothing yet.
fn join_at(gate: &mut DiskGate<u32>, key: u32, now: Time) -> DiskJob {
    let joined = gate.join(key, KB, u64::from(key), now, now);
    let new = if let Joined::New(job) = joined { Some(job) } else { None };
    new.expect("the key is new and its place is well")
}

fn merge(gate: &mut DiskGate<u32>, key: u32) {
    assert!(matches!(gate.join(key, 0, 0, NOW, NOW), Joined::Merged(_)));
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
        let job = start(gate, NOW);
        gate.done(job, NOW);
        order.push(job);
    }
    order
}

#[test]
fn requests_for_one_key_are_one_job() {
    let mut gate = gate(1);
    let job = join(&mut gate, 7, KB);
    assert_eq!(gate.join(7, KB, 0, NOW, NOW), Joined::Merged(job));
    assert_eq!((gate.waiting(), gate.under_way()), (1, 0));
    assert_eq!(gate.next(NOW), DiskNext::Start(job));
    assert_eq!((gate.waiting(), gate.under_way()), (0, 1));
    // While it runs more may join; none of them starts anything.
    assert_eq!(gate.join(7, KB, 0, NOW, NOW), Joined::Merged(job));
    assert_eq!(gate.next(NOW), DiskNext::Idle);
    assert_eq!((gate.done(job, NOW), gate.merged()), (3, 2));
    // Who comes after that must not get what was read before.
    let next = join(&mut gate, 7, KB);
    assert_ne!(next, job);
    assert_eq!(
        (gate.done(job, NOW), gate.leave(job)),
        (0, false),
        "the old name means nothing now"
    );
    assert_eq!(gate.done(next, NOW), 0, "it has not been started");
    assert_eq!((gate.waiting(), gate.next(NOW)), (1, DiskNext::Start(next)));
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
    assert_eq!(start(&mut gate, NOW), stays);
    for _ in 0..3 {
        assert!(!gate.leave(stays), "it runs");
    }
    assert_eq!(gate.done(stays, NOW), 0);
    assert_eq!(drain(&mut gate), [left]);
    assert_eq!((gate.waiting(), gate.under_way()), (0, 0));
}

#[test]
fn the_oldest_have_two_thirds_of_the_disk_time() {
    let mut gate = gate(1);
    // Three of 10 ms, and many of 3 ms, which come first by rank.
    let large = [0, 1, 2].map(|key| join(&mut gate, key, 8 * MS));
    let small: Vec<DiskJob> = (3..20).map(|key| join(&mut gate, key, MS)).collect();
    // After the first small one the oldest has had less than two thirds. Its 10 ms are two thirds
    // until others have had 5 ms, which is when the second small one has started; 20 ms until others
    // have had 10, which is when the fourth has.
    let expected = [
        &small[..1],
        &large[..1],
        &small[1..2],
        &large[1..2],
        &small[2..4],
        &large[2..],
        &small[4..],
    ]
    .concat();
    assert_eq!(drain(&mut gate), expected);
}

#[test]
fn once_nobody_waits_the_oldest_have_no_claim_on_what_was_given_before() {
    let mut gate = gate(1);
    for key in 0..10 {
        join(&mut gate, key, 10 * MS);
        assert_eq!(drain(&mut gate).len(), 1);
    }
    let large = join(&mut gate, 10, 10 * MS);
    let small = join(&mut gate, 11, 0);
    assert_eq!(drain(&mut gate), [small, large]);
}

#[test]
fn a_request_keeps_its_age_from_job_to_job() {
    let mut gate = gate(1);
    let mut large = |key, since| join_since(&mut gate, key, 8 * MS, ago(since));
    // The last one is part of a response that has waited since before the others came.
    let (first, second, later) = (large(1, 5), large(2, 4), large(3, 6));
    let small = join(&mut gate, 4, 0);
    assert_eq!(drain(&mut gate), [small, later, first, second]);
}

#[test]
fn a_job_is_as_old_as_its_oldest_request() {
    let mut gate = gate(1);
    let first = join_since(&mut gate, 1, 8 * MS, ago(5));
    let second = join_since(&mut gate, 2, 18 * MS, ago(4));
    let small = join(&mut gate, 3, 0);
    assert_eq!(gate.join(2, 0, 0, ago(9), NOW), Joined::Merged(second));
    assert_eq!(drain(&mut gate), [small, second, first]);
    // Nobody has waited since a moment that is to come.
    let first = join_since(&mut gate, 1, 8 * MS, ms(500));
    let second = join(&mut gate, 2, 8 * MS);
    let small = join(&mut gate, 3, 0);
    assert_eq!(drain(&mut gate), [small, first, second]);
}

#[test]
fn only_so_many_run_at_once() {
    let mut gate = gate(2);
    let jobs = [1, 2, 3].map(|key| join(&mut gate, key, KB));
    assert_eq!([start(&mut gate, ms(1)), start(&mut gate, ms(2))], jobs[..2]);
    assert_eq!(gate.next(ms(3)), DiskNext::Full { until: Some(ms(10_001)) });
    gate.done(jobs[0], ms(3));
    assert_eq!(start(&mut gate, ms(3)), jobs[2]);
    join(&mut gate, 4, KB);
    assert_eq!(gate.next(ms(3)), DiskNext::Full { until: Some(ms(10_002)) });
}

#[test]
fn a_stuck_job_gives_up_its_helper_and_may_come_back() {
    let config = DiskConfig { most_stuck: 1, ..fixed(1) };
    let mut gate = DiskGate::new(config);
    let [one, two, three] = [1, 2, 3].map(|key| join(&mut gate, key, KB));
    assert_eq!(start(&mut gate, ms(0)), one);
    assert_eq!(gate.next(ms(9_999)), DiskNext::Full { until: Some(ms(10_000)) });
    assert_eq!(start(&mut gate, ms(10_000)), two);
    assert_eq!((gate.under_way(), gate.stuck(), gate.waiting()), (1, 1, 1));
    assert_eq!(
        gate.join(1, KB, 0, ms(10_000), ms(10_000)),
        Joined::Refused,
        "it would wait for what hangs"
    );
    // No more than one is written off.
    assert_eq!(gate.next(ms(30_000)), DiskNext::Full { until: None });
    assert_eq!(gate.done(one, ms(30_000)), 1);
    assert_eq!(start(&mut gate, ms(30_000)), three);
    assert_eq!((gate.under_way(), gate.stuck()), (1, 1), "the second was written off instead");
    let both = [two, three].map(|job| gate.done(job, ms(30_000)));
    assert_eq!(both, [1, 1]);
    assert_eq!((gate.under_way(), gate.stuck()), (0, 0));
}

#[test]
fn a_place_that_hangs_is_refused_until_one_comes_back() {
    let (hung, well) = (5, 6);
    let config = DiskConfig { stuck_per_place: 2, ..fixed(2) };
    let mut gate = DiskGate::new(config);
    let mut add = |key, place, now| gate.join(key, KB, place, now, now);
    let Joined::New(one) = add(1, hung, ms(0)) else { panic!() };
    let Joined::New(two) = add(2, hung, ms(0)) else { panic!() };
    let Joined::New(queued) = add(3, hung, ms(0)) else { panic!() };
    let Joined::New(other) = add(4, well, ms(0)) else { panic!() };
    assert_eq!([start(&mut gate, ms(0)), start(&mut gate, ms(0))], [one, two]);
    // A new key of the place is refused as soon as the time is up; a queued one may still be joined.
    assert_eq!(gate.join(7, KB, hung, ms(10_000), ms(10_000)), Joined::Refused);
    assert_eq!(gate.join(3, KB, hung, ms(10_000), ms(10_000)), Joined::Merged(queued));
    assert_eq!(gate.next(ms(10_000)), DiskNext::Refuse(queued));
    assert_eq!(gate.next(ms(10_000)), DiskNext::Start(other));
    assert_eq!(gate.next(ms(10_000)), DiskNext::Idle);
    assert!(matches!(gate.join(8, KB, well, ms(10_000), ms(10_000)), Joined::New(_)));
    assert_eq!(gate.done(queued, ms(10_000)), 0, "it has gone");
    gate.done(two, ms(10_000));
    assert!(matches!(gate.join(3, KB, hung, ms(10_000), ms(10_000)), Joined::New(_)));
}

#[test]
fn refusing_does_not_wait_for_a_helper() {
    let config = DiskConfig { stuck_per_place: 1, ..fixed(1) };
    let mut gate = DiskGate::new(config);
    let one = join(&mut gate, 1, 8 * MS);
    let behind = join(&mut gate, 2, MS);
    let Joined::New(other) = gate.join(3, 0, 1, ms(0), ms(0)) else { panic!() };
    assert_eq!(gate.next(ms(0)), DiskNext::Start(other));
    gate.done(other, NOW);
    assert_eq!(start(&mut gate, ms(0)), one);
    let Joined::New(busy) = gate.join(4, 0, 1, ms(0), ms(0)) else { panic!() };
    assert_eq!(gate.next(ms(10_000)), DiskNext::Start(busy));
    assert_eq!(gate.next(ms(10_000)), DiskNext::Refuse(behind));
}

#[test]
fn what_runs_for_long_leaves_the_disk_to_others() {
    let config = DiskConfig { under_way: 12, stuck_per_place: 100, ..DiskConfig::default() };
    let mut gate = DiskGate::new(config);
    let jobs: Vec<DiskJob> = (0..20).map(|key| join(&mut gate, key, KB)).collect();
    let mut started = Vec::new();
    let mut start_all = |gate: &mut DiskGate<u32>, now| {
        loop {
            match gate.next(now) {
                DiskNext::Start(job) => started.push(job),
                DiskNext::Full { until } => return (started.len(), until),
                other => panic!("{other:?}"),
            }
        }
    };
    let limit = gate.limit();
    assert!(limit < 12, "there is something to learn");
    // 250 ms later they are late.
    assert_eq!(start_all(&mut gate, ms(0)), (limit, Some(ms(250))));
    assert_eq!(start_all(&mut gate, ms(249)), (limit, Some(ms(250))));
    assert_eq!(start_all(&mut gate, ms(250)), (12, Some(ms(10_000))));
    // No more than twelve run however late they are, until some are written off.
    assert_eq!(start_all(&mut gate, ms(9_999)), (12, Some(ms(10_000))));
    assert_eq!(start_all(&mut gate, ms(10_000)).0, 12 + limit);
    assert_eq!(gate.under_way(), 12);
    assert_eq!(started[..], jobs[..started.len()]);
}

#[test]
fn a_job_that_hangs_for_a_minute_holds_up_nobody_else() {
    let mut gate = DiskGate::new(DiskConfig { under_way: 4, ..DiskConfig::default() });
    let Joined::New(hangs) = gate.join(0, KB, 1, ms(0), ms(0)) else { panic!() };
    assert_eq!(gate.next(ms(0)), DiskNext::Start(hangs));
    let mut now = ms(0);
    // Another job every 10 ms for a minute, each of which takes 4 ms.
    for key in 1..6000 {
        let Joined::New(job) = gate.join(key, KB, 2, now, now) else { panic!("{key} is refused") };
        assert_eq!(gate.next(now), DiskNext::Start(job), "{key}");
        gate.done(job, now + Duration::from_millis(4));
        now += Duration::from_millis(10);
    }
    assert_eq!((gate.under_way(), gate.stuck(), gate.waiting()), (0, 1, 0));
    assert_eq!(gate.done(hangs, now), 1);
    assert_eq!(gate.stuck(), 0);
}

#[test]
fn as_many_that_hang_as_run_at_once_hold_up_others_for_a_quarter_of_a_second_at_most() {
    for pause in [1, 100, 1000, 2500] {
        let mut gate = DiskGate::new(DiskConfig::default());
        let hang = gate.limit() as u32;
        for key in 0..hang {
            join_at(&mut gate, key, ms(0));
            start(&mut gate, ms(0));
        }
        assert!(matches!(gate.next(ms(0)), DiskNext::Idle));
        // Until they count as stuck there is one other request, a while after the last was answered.
        let mut now = ms(0);
        for key in hang.. {
            now += Duration::from_millis(pause);
            let asked = now;
            let job = join_at(&mut gate, key, now);
            while let DiskNext::Full { until } = gate.next(now) {
                now = until.expect("one that hangs will be late");
            }
            let waited = now.since(asked);
            assert!(waited <= DiskConfig::default().late_after, "pause {pause} ms: {waited:?}");
            if gate.stuck() > 0 {
                break;
            }
            now += Duration::from_millis(4);
            assert_eq!(gate.done(job, now), 1);
        }
    }
}

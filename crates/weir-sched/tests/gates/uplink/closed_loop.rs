//! Requests of one client that follow each other share as one: the next response takes over what
//! fair sharing still owes the last, and one that left owes nobody more than it took.

use super::support::calls::{arrive, drain, grant, open};
use super::support::{Link, time};
use weir_sched::{FairnessRecord, FlowId, Gate, JobSpec, ObjectId, Time, policy};

/// A protective gate before 1 MB/s where another client waits for `others` bytes.
fn gate_with_another(others: u64) -> (Gate, Time) {
    let mut gate = Link::exact(policy::PROTECTIVE).gate();
    let other = open(&mut gate, 99);
    arrive(&mut gate, Time::ZERO, other, others);
    (gate, Time::ZERO)
}

/// Sends until the response of `flow` has gone.
fn send_all_of(gate: &mut Gate, now: &mut Time, flow: FlowId) {
    loop {
        let next = grant(gate, now).expect("it waits");
        let jobs = gate.jobs();
        gate.used(*now, &next, next.bytes);
        if next.flow == flow && gate.jobs() < jobs {
            return;
        }
    }
}

/// Sends all that waits; returns what the ledger says of each size.
fn settle(gate: &mut Gate, mut now: Time) -> impl Fn(u64) -> f64 {
    drain(gate, &mut now);
    gate.tick(now + std::time::Duration::from_secs(10));
    assert_eq!(gate.virtual_jobs(), 0);
    let settled: Vec<FairnessRecord> = gate.fairness_records().collect();
    move |size| settled.iter().find(|one| one.size == size).expect("it was sent").won
}

fn assert_near(found: f64, expected: f64) {
    assert!((found - expected).abs() < 0.003, "{found} is not {expected}");
}

#[test]
fn the_next_response_follows_however_it_is_asked() {
    let range = Some(ObjectId(7));
    for (anew, range_of) in [(false, None), (true, None), (false, range), (true, range)] {
        let (mut gate, mut now) = gate_with_another(100_000);
        let flow = open(&mut gate, 1);
        arrive(&mut gate, now, flow, 10_000);
        send_all_of(&mut gate, &mut now, flow);
        // A head alone, and then another response.
        for size in [200, 9_800] {
            let flow = if anew { open(&mut gate, 1) } else { flow };
            gate.arrive(now, JobSpec { flow, tag: 0, size: Some(size), range_of }).unwrap();
            assert_eq!(gate.virtual_jobs(), 2);
            send_all_of(&mut gate, &mut now, flow);
        }
        let won = settle(&mut gate, now);
        // They share with the other as one response of 20 KB: at 20.0, 20.4 and 40 ms. They were
        // sent by 10, 10.2 and 20.
        assert_near(won(10_000), 0.010);
        assert_near(won(200), 0.0102);
        assert_near(won(9_800), 0.020);
    }
}

#[test]
fn another_client_follows_nobody() {
    let (mut gate, mut now) = gate_with_another(100_000);
    let one = open(&mut gate, 1);
    arrive(&mut gate, now, one, 10_000);
    send_all_of(&mut gate, &mut now, one);
    let two = open(&mut gate, 2);
    arrive(&mut gate, now, two, 9_000);
    assert_eq!(gate.virtual_jobs(), 3);
    let won = settle(&mut gate, now);
    // Three share from 10 ms on: what is left of the first, 5 KB, takes until 25 ms.
    assert_near(won(10_000), 0.015);
}

#[test]
fn a_response_follows_its_own_connection_before_others_of_its_client() {
    let (mut gate, mut now) = gate_with_another(200_000);
    let (short, long) = (open(&mut gate, 1), open(&mut gate, 1));
    arrive(&mut gate, now, short, 30_000);
    arrive(&mut gate, now, long, 40_000);
    send_all_of(&mut gate, &mut now, short);
    send_all_of(&mut gate, &mut now, long);
    // At 70 ms each has had 23.3 KB of fair sharing.
    arrive(&mut gate, now, long, 10_000);
    assert_eq!(gate.virtual_jobs(), 3);
    let won = settle(&mut gate, now);
    // Had it followed the short one, that chain and the long one would both be done at 120 ms.
    assert_near(won(30_000), 0.090 - 0.030);
    assert_near(won(40_000), 0.110 - 0.070);
    assert_near(won(10_000), 0.130 - 0.080);
}

#[test]
fn who_departed_is_followed_once_and_the_first_to_finish_first() {
    let (mut gate, mut now) = gate_with_another(200_000);
    let flows = [30_000, 40_000].map(|size| {
        let flow = open(&mut gate, 1);
        arrive(&mut gate, now, flow, size);
        flow
    });
    flows.iter().for_each(|flow| send_all_of(&mut gate, &mut now, *flow));
    for (nth, jobs) in [3, 3, 4, 5].into_iter().enumerate() {
        let flow = open(&mut gate, 1);
        arrive(&mut gate, now, flow, 10_001 + nth as u64);
        assert_eq!(gate.virtual_jobs(), jobs, "the {nth}th");
    }
    let won = settle(&mut gate, now);
    // From 70 ms on five share: the two that follow nobody have 10 KB to go, those they share with
    // 16.7 and 26.7, of which the first 6.7 and 16.7 are of what was sent before.
    assert_near(won(30_000), 0.070 + 5.0 * 0.0067 - 0.030);
    assert_near(won(10_003), 0.070 + 5.0 * 0.010 - 0.100);
    assert_near(won(10_001), 0.070 + 5.0 * 0.010 + 3.0 * 0.0067 - 0.080);
}

#[test]
fn what_a_leaver_was_not_sent_is_not_shared_with_those_who_come_later() {
    let (mut gate, mut now) = gate_with_another(100_000);
    let leaver = open(&mut gate, 1);
    arrive(&mut gate, now, leaver, 20_000);
    let next = grant(&mut gate, &mut now).unwrap();
    assert_eq!(next.flow, leaver);
    gate.used(now, &next, next.bytes);
    now = time(0.001);
    gate.tick(now);
    gate.close(now, leaver);
    // 500 bytes of it are still owed: what it was sent beyond its share.
    assert_eq!(gate.virtual_jobs(), 2);
    let later = open(&mut gate, 2);
    arrive(&mut gate, now, later, 10_000);
    let won = settle(&mut gate, now);
    // Three share for 1.5 ms, then two until 9.5 KB more.
    assert_near(won(10_000), 0.001 + 0.0015 + 0.019 - 0.011);
}

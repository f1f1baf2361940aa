//! Calls that the backend does not answer for long, in virtual time: whose slots go to others, when,
//! and how many at most.

use std::collections::BTreeMap;
use std::time::Duration;

use proptest::prelude::*;
use weir_sched::{
    Abandoned, BackendConfig, BackendGate, Call, CallLimit, CallNext, CallSpec, Time,
};

const MS: Duration = Duration::from_millis(1);
const LONGEST: Duration = Duration::from_secs(3600);
const POLL: u64 = 1;
const QUICK: u64 = 2;
const OTHER: u64 = 1 << 20;

fn ms(millis: u64) -> Time {
    Time::from_nanos(millis * 1_000_000)
}

fn gate(limit: CallLimit) -> BackendGate {
    BackendGate::new(BackendConfig { limit, queue_timeout: LONGEST, ..BackendConfig::default() })
}

fn call(client: u64, kind: u64) -> CallSpec {
    CallSpec { tag: client, client, kind, ..CallSpec::default() }
}

/// Starts what may start.
fn started(gate: &mut BackendGate, now: Time) -> Vec<(Call, u64)> {
    let mut calls = Vec::new();
    while let CallNext::Start { call, tag } = gate.next(now) {
        calls.push((call, tag));
    }
    calls
}

/// As many calls as may be hang, of clients from 1 on, one each.
fn full_of_polls(gate: &mut BackendGate) -> Vec<Call> {
    let calls: Vec<Call> = (1..=8).map(|client| gate.arrive(ms(0), call(client, POLL))).collect();
    assert_eq!(started(gate, ms(0)).len(), 8);
    assert_eq!((gate.limit(), gate.waiting()), (8, 0));
    calls
}

/// Another client asks for what is answered at once; whether it was.
fn quick(gate: &mut BackendGate, now: Time, client: u64) -> bool {
    let waits = gate.arrive(now, call(client, QUICK));
    let started = started(gate, now);
    for (call, _) in &started {
        gate.answered(now + MS, *call);
        gate.ended(now + MS, *call);
    }
    started.iter().any(|(call, _)| *call == waits)
}

#[test]
fn where_one_client_has_all_slots_there_is_one_more_for_others() {
    let mut gate = gate(CallLimit::Auto);
    for _ in 0..8 {
        gate.arrive(ms(0), call(1, POLL));
    }
    assert_eq!(started(&mut gate, ms(0)).len(), 8, "nobody else is there");
    for client in 100..103 {
        gate.arrive(ms(10), call(client, POLL));
    }
    gate.arrive(ms(10), call(1, QUICK));
    let first = started(&mut gate, ms(10));
    assert_eq!((first.len(), first[0].1, gate.under_way()), (1, 100, 9), "one, and of another");
    gate.ended(ms(20), first[0].0);
    assert_eq!(started(&mut gate, ms(20))[0].1, 101, "and the next after it");
    assert_eq!(gate.aside(), 0);
}

#[test]
fn where_nothing_is_answered_one_is_tried_and_its_answer_makes_room_for_others() {
    for leave in [false, true] {
        let mut gate = gate(CallLimit::Auto);
        let polls = full_of_polls(&mut gate);
        if leave {
            polls
                .iter()
                .for_each(|poll| assert_eq!(gate.abandoned(ms(5), *poll), Abandoned::UnderWay));
        }
        let waits = gate.arrive(ms(10), call(100, QUICK));
        assert_eq!(gate.next(ms(10)), CallNext::Full { until: Some(ms(1000)) });
        assert_eq!(started(&mut gate, ms(999)), []);
        assert_eq!(started(&mut gate, ms(1000)), [(waits, 100)]);
        assert_eq!((gate.under_way(), gate.aside()), (9, 1));
        assert!(!quick(&mut gate, ms(1500), 101), "one is tried at a time");
        gate.answered(ms(1510), waits);
        gate.ended(ms(1510), waits);
        let next = started(&mut gate, ms(1510));
        assert_eq!(next.len(), 1, "the other that waits");
        gate.answered(ms(1520), next[0].0);
        gate.ended(ms(1520), next[0].0);
        for client in 102..200 {
            assert!(quick(&mut gate, ms(1500 + client), client));
        }
        assert_eq!(gate.dead_under_way(), if leave { 8 } else { 0 });
        // A call that was set aside and has ended is no end of a slot.
        polls.iter().for_each(|poll| gate.ended(ms(2000), *poll));
        assert_eq!((gate.under_way(), gate.aside(), gate.dead_under_way()), (0, 0, 0));
    }
}

#[test]
fn where_all_calls_are_one_clients_the_last_that_is_another_is_tried() {
    let mut gate = gate(CallLimit::Auto);
    (0..30).for_each(|_| {
        gate.arrive(ms(0), call(1, POLL));
    });
    assert_eq!(started(&mut gate, ms(0)).len(), 8);
    for second in 1..10 {
        let quick = gate.arrive(ms(second * 1000 - 10), call(1, QUICK));
        assert_eq!(started(&mut gate, ms(second * 1000 - 10)), []);
        let now = ms(second * 1000);
        let tried = started(&mut gate, now);
        assert_eq!(tried.first(), Some(&(quick, 1)), "{second} s");
        gate.answered(now, quick);
        gate.ended(now, quick);
        // One more poll takes its place.
        started(&mut gate, now);
    }
}

#[test]
fn a_backend_that_stands_still_gets_few_calls_more() {
    let mut gate = gate(CallLimit::Auto);
    full_of_polls(&mut gate);
    (100..200).for_each(|client| {
        gate.arrive(ms(0), call(client, QUICK));
    });
    let mut at = Vec::new();
    for second in 0..64 {
        started(&mut gate, ms(second * 1000)).iter().for_each(|_| at.push(second));
    }
    assert_eq!(at, [1, 3, 7, 15, 31, 63]);
}

#[test]
fn what_is_long_does_not_give_way_while_only_what_was_there_before_is_answered() {
    let mut gate = gate(CallLimit::Auto);
    let calls = full_of_polls(&mut gate);
    (100..200).for_each(|client| {
        gate.arrive(ms(0), call(client, POLL));
    });
    // One call after the other, each in 300 ms: one at a time, and no call is idle.
    for (round, call) in calls.into_iter().enumerate() {
        let now = ms(300 * (round as u64 + 1));
        gate.answered(now, call);
        gate.ended(now, call);
        assert_eq!(started(&mut gate, now).len(), 1);
    }
    assert_eq!((gate.aside(), gate.under_way()), (0, 8));
}

#[test]
fn a_configured_limit_is_never_exceeded() {
    let mut gate = gate(CallLimit::Fixed(8));
    let polls = full_of_polls(&mut gate);
    polls
        .iter()
        .take(4)
        .for_each(|poll| assert_eq!(gate.abandoned(ms(5), *poll), Abandoned::UnderWay));
    for minute in 0..59 {
        assert!(!quick(&mut gate, ms(minute * 60_000), 100 + minute));
        assert_eq!((gate.under_way(), gate.aside()), (8, 0));
    }
}

#[test]
fn calls_that_are_set_aside_are_bounded_in_all_and_for_each_client() {
    // One client has one set aside, and more where all slots are full and all in them are served.
    for (clients, full, most, least) in
        [(1, true, 113, 60), (1, false, 4, 1), (20, false, 740, 20), (5000, false, 1023, 600)]
    {
        let mut gate = gate(CallLimit::Auto);
        for round in 0..300 {
            let now = ms(round * 1000);
            let missing = if gate.waiting() < 40 { 8 } else { 0 };
            (0..missing).for_each(|number| {
                gate.arrive(now, call(1 + (8 * round + number) % clients, POLL));
            });
            let others = if full { u64::from(gate.limit()) + 2 } else { 1 };
            (0..others).for_each(|other| {
                gate.arrive(now, call(OTHER + other, QUICK));
            });
            // Those that came last are answered first.
            for step in 0..10 {
                let now = now + 100 * step * MS;
                for (call, _) in started(&mut gate, now).iter().rev().filter(|it| it.1 >= OTHER) {
                    gate.answered(now + MS, *call);
                    gate.ended(now + MS, *call);
                }
            }
            assert!(gate.under_way() - gate.aside() <= gate.limit() as usize + 1);
            assert!(gate.aside() <= most, "{clients} clients, {full}: {}", gate.aside());
        }
        assert!(gate.aside() >= least, "{clients} clients, {full}: {}", gate.aside());
    }
}

proptest! {
    #[test]
    fn whoever_hangs_another_is_served_soon(
        polls in prop::collection::vec((1u64..30, 0u64..50, any::<bool>()), 1..80),
    ) {
        let mut gate = gate(CallLimit::Auto);
        let mut now = ms(0);
        let mut under_way = BTreeMap::new();
        for (client, later, leaves) in polls {
            now += Duration::from_millis(later);
            let polls = gate.arrive(now, call(client, POLL));
            for (started, _) in started(&mut gate, now) {
                under_way.insert(under_way.len(), started);
            }
            if leaves {
                gate.abandoned(now, polls);
            }
        }
        // Ten newcomers, one after the other.
        for client in 100..110 {
            let (came, waits) = (now, gate.arrive(now, call(client, QUICK)));
            let mut served = false;
            while !served {
                let until = match gate.next(now) {
                    CallNext::Start { call, .. } if call == waits => {
                        served = true;
                        continue;
                    }
                    CallNext::Start { .. } => continue,
                    CallNext::Full { until } => until,
                    other => return Err(TestCaseError::fail(format!("{other:?}"))),
                };
                now = until.expect("a time");
                prop_assert!(now.since(came) <= 2000 * MS, "it waits");
            }
            prop_assert!(gate.under_way() - gate.aside() <= gate.limit() as usize + 1);
            now += MS;
            gate.answered(now, waits);
            gate.ended(now, waits);
        }
    }
}

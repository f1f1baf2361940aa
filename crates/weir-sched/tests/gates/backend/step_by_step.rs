//! The backend gate in worked cases: limit, order, fairness, patience, time limit, departures.

use std::time::Duration;

use weir_sched::{
    Abandoned, BackendConfig, BackendGate, BackendOrder, Call, CallLimit, CallNext, CallSpec, Time,
};

pub(super) const MS: Duration = Duration::from_millis(1);

pub(super) fn ms(millis: u64) -> Time {
    Time::from_nanos(millis * 1_000_000)
}

/// A gate that lets one call through at a time.
pub(super) fn gate(order: BackendOrder) -> BackendGate {
    let limit = CallLimit::Fixed(1);
    BackendGate::new(BackendConfig { limit, order, ..BackendConfig::default() })
}

/// A client's only call, of route 0.
pub(super) fn one(client: u64) -> CallSpec {
    CallSpec { tag: client, client, ..CallSpec::default() }
}

pub(super) fn start(gate: &mut BackendGate, now: Time) -> (Call, u64) {
    let next = gate.next(now);
    let started = if let CallNext::Start { call, tag } = next { Some((call, tag)) } else { None };
    started.expect("a call waits and a slot is free")
}

/// Starts and ends one call after the other until none waits; returns their tags.
pub(super) fn drain(gate: &mut BackendGate, now: Time) -> Vec<u64> {
    let mut order = Vec::new();
    while gate.waiting() > 0 {
        let (call, tag) = start(gate, now);
        gate.ended(now, call);
        order.push(tag);
    }
    order
}

/// Calls of `route` and `kind` that take so long, one after the other.
pub(super) fn teach(gate: &mut BackendGate, now: &mut Time, route: u32, kind: u64, took: Duration) {
    gate.arrive(*now, CallSpec { route, kind, ..one(1 << 40) });
    let (call, _) = start(gate, *now);
    *now += took;
    gate.answered(*now, call);
    gate.ended(*now, call);
}

/// Clients of `route` that leave after `patience`, twenty of them at once.
pub(super) fn teach_patience(
    gate: &mut BackendGate,
    now: &mut Time,
    route: u32,
    patience: Duration,
) {
    let calls: Vec<Call> =
        (0..20).map(|client| gate.arrive(*now, CallSpec { route, ..one(client) })).collect();
    *now += patience;
    for call in calls {
        assert_eq!(gate.abandoned(*now, call), Abandoned::Waiting);
    }
}

#[test]
fn only_so_many_are_under_way_and_slots_come_back() {
    let limit = CallLimit::Fixed(2);
    let mut gate = BackendGate::new(BackendConfig { limit, ..BackendConfig::default() });
    assert_eq!(gate.next(ms(0)), CallNext::Idle);
    for client in 1..=4 {
        gate.arrive(ms(client), one(client));
    }
    let (first, _) = start(&mut gate, ms(5));
    let (second, tag) = start(&mut gate, ms(5));
    assert_eq!((tag, gate.waiting(), gate.under_way(), gate.limit()), (2, 2, 2, 2));
    // The oldest that waits came at 3 ms and may wait for a minute.
    assert_eq!(gate.next(ms(5)), CallNext::Full { until: Some(ms(60_003)) });
    gate.answered(ms(6), first);
    assert!(matches!(gate.next(ms(6)), CallNext::Full { .. }), "the backend is still sending");
    gate.ended(ms(7), first);
    assert_eq!(start(&mut gate, ms(7)).1, 3);
    gate.failed(ms(8), second);
    gate.failed(ms(8), second);
    assert_eq!(start(&mut gate, ms(8)).1, 4);
    assert_eq!((gate.waiting(), gate.under_way()), (0, 2));
    let counts = gate.counts();
    assert_eq!((counts.started, counts.ended, counts.failed), (4, 1, 1));
}

#[test]
fn who_leaves_while_waiting_is_forgotten_and_who_leaves_later_keeps_the_slot() {
    let mut gate = gate(BackendOrder::Fifo);
    let mut now = ms(0);
    teach(&mut gate, &mut now, 0, 7, 10 * MS);
    let served = gate.arrive(ms(100), one(1));
    let waits = gate.arrive(ms(100), CallSpec { kind: 7, ..one(2) });
    gate.arrive(ms(100), one(3));
    assert_eq!(start(&mut gate, ms(100)).0, served);
    assert_eq!(gate.abandoned(ms(110), waits), Abandoned::Waiting);
    assert_eq!(gate.abandoned(ms(110), waits), Abandoned::Unknown);
    assert_eq!(gate.abandoned(ms(120), served), Abandoned::UnderWay);
    assert_eq!((gate.waiting(), gate.under_way(), gate.dead_under_way()), (1, 1, 1));
    assert!(matches!(gate.next(ms(120)), CallNext::Full { .. }), "its slot is taken");
    assert_eq!(gate.abandoned(ms(130), served), Abandoned::UnderWay, "it is counted once");
    gate.answered(ms(150), served);
    gate.ended(ms(150), served);
    assert_eq!(start(&mut gate, ms(150)).1, 3);
    let counts = gate.counts();
    assert_eq!(
        (counts.abandoned_waiting, counts.abandoned_under_way, gate.dead_under_way()),
        (1, 1, 0)
    );
    let saved = counts.dead_work_saved;
    assert!(saved > 9 * MS && saved <= 10 * MS, "{saved:?}");
    assert_eq!(counts.dead_work_wasted, 30 * MS);
}

#[test]
fn first_and_last_come_first_served() {
    for (order, served) in [
        (BackendOrder::Fifo, [1, 2, 3, 4]),
        (BackendOrder::NewestFirst, [4, 3, 2, 1]),
        (BackendOrder::Adaptive, [1, 2, 3, 4]),
        (BackendOrder::Edf, [1, 2, 3, 4]),
        (BackendOrder::ShortestExpected, [4, 3, 2, 1]),
    ] {
        let mut gate = gate(order);
        for client in 1..=4 {
            gate.arrive(ms(client), one(client));
        }
        assert_eq!(drain(&mut gate, ms(5)), served, "{order}");
    }
}

#[test]
fn earliest_deadline_first() {
    let mut gate = gate(BackendOrder::Edf);
    let mut now = ms(0);
    teach_patience(&mut gate, &mut now, 0, 1000 * MS);
    assert_eq!(now, ms(1000));
    // Without one of its own it is at 1000 + 1000 ms.
    gate.arrive(now, one(1));
    gate.arrive(now, CallSpec { deadline: Some(ms(1900)), ..one(2) });
    gate.arrive(now, CallSpec { deadline: Some(ms(2100)), ..one(3) });
    // Nothing is known of route 1's clients: a minute.
    gate.arrive(now, CallSpec { route: 1, ..one(4) });
    assert_eq!(drain(&mut gate, now), [2, 1, 3, 4]);
}

#[test]
fn shortest_expected_by_kind_and_of_equal_ones_the_newest() {
    let mut gate = gate(BackendOrder::ShortestExpected);
    let mut now = ms(0);
    teach(&mut gate, &mut now, 0, 1, 40 * MS);
    teach(&mut gate, &mut now, 0, 2, 2 * MS);
    // It was seen 2 ms ago, and is a very little less now.
    let long = gate.expected(now, 0, 1).unwrap_or_default();
    assert!(long > 39 * MS && long < 40 * MS, "{long:?}");
    assert_eq!(gate.expected(now, 0, 99), Some(21 * MS), "the mean of its route");
    assert_eq!(gate.expected(now, 5, 1), None);
    for (tag, kind) in [(1, 1), (2, 2), (3, 0), (4, 1), (5, 2), (6, 99)] {
        gate.arrive(now, CallSpec { kind, ..one(tag) });
    }
    assert_eq!(drain(&mut gate, now), [5, 2, 6, 3, 4, 1]);
}

#[test]
fn service_time_is_told_from_waiting_inside_the_backend() {
    let limit = CallLimit::Fixed(2);
    let mut gate = BackendGate::new(BackendConfig { limit, ..BackendConfig::default() });
    gate.arrive(ms(0), CallSpec { kind: 1, ..one(1) });
    gate.arrive(ms(0), CallSpec { kind: 2, ..one(2) });
    let (long, _) = start(&mut gate, ms(0));
    let (short, _) = start(&mut gate, ms(0));
    // One at a time: 50 ms and then 2 ms.
    gate.answered(ms(50), long);
    gate.answered(ms(52), short);
    assert_eq!(gate.expected(ms(50), 0, 1), Some(50 * MS));
    assert_eq!(gate.expected(ms(52), 0, 2), Some(2 * MS));
}

#[test]
fn of_too_many_the_one_that_would_be_served_last_is_refused() {
    for (order, refused) in [
        (BackendOrder::Fifo, 4),
        (BackendOrder::NewestFirst, 1),
        (BackendOrder::ShortestExpected, 3),
        (BackendOrder::Edf, 2),
    ] {
        let limit = CallLimit::Fixed(1);
        let config = BackendConfig { limit, order, max_queue: 3, ..Default::default() };
        let mut gate = BackendGate::new(config);
        let mut now = ms(0);
        for (kind, took) in [(1, 10), (2, 20), (3, 30), (4, 5)] {
            teach(&mut gate, &mut now, 0, kind, took * MS);
        }
        let deadlines = [0, 100, 400, 200, 300];
        for tag in 1..=4 {
            let deadline = Some(now + deadlines[tag as usize] * MS);
            gate.arrive(now, CallSpec { kind: tag, deadline, ..one(tag) });
        }
        let next = gate.next(now);
        let CallNext::Refuse { tag, .. } = next else { panic!("{order}: {next:?}") };
        assert_eq!(tag, refused, "{order}");
        assert!(matches!(gate.next(now), CallNext::Start { .. }));
    }
}

#[test]
fn what_the_queue_needs_at_the_present_pace_is_said_to_who_is_refused() {
    let limit = CallLimit::Fixed(1);
    let config = BackendConfig { limit, max_queue: 50, ..BackendConfig::default() };
    let mut gate = BackendGate::new(config);
    for client in 0..50 {
        gate.arrive(ms(0), one(client));
    }
    for second in [0, 200, 400] {
        let (call, _) = start(&mut gate, ms(second));
        gate.ended(ms(second + 200), call);
    }
    for client in 50..54 {
        gate.arrive(ms(600), one(client));
    }
    // 51 wait, each takes 200 ms.
    let next = gate.next(ms(600));
    let CallNext::Refuse { retry_after, .. } = next else { panic!("{next:?}") };
    assert_eq!(retry_after, 51 * 200 * MS);
}

#[test]
fn a_lesser_priority_number_goes_first() {
    let mut gate = gate(BackendOrder::Adaptive);
    for (tag, priority) in [(1, 2), (2, 1), (3, 2), (4, 0), (5, 1)] {
        gate.arrive(ms(tag), CallSpec { priority, ..one(tag) });
    }
    assert_eq!(drain(&mut gate, ms(10)), [4, 2, 5, 1, 3]);
}

#[test]
fn a_thousand_calls_of_one_client_do_not_delay_the_one_of_another() {
    for order in BackendOrder::ALL {
        let mut gate = gate(order);
        for tag in 0..1000 {
            gate.arrive(ms(1), CallSpec { tag, client: 1, ..CallSpec::default() });
        }
        let (call, _) = start(&mut gate, ms(2));
        gate.arrive(ms(3), CallSpec { tag: 5000, client: 2, ..CallSpec::default() });
        gate.ended(ms(4), call);
        // At most one more of those that were there before.
        let (call, tag) = start(&mut gate, ms(4));
        gate.ended(ms(5), call);
        assert!(tag == 5000 || start(&mut gate, ms(5)).1 == 5000, "{order}");
    }
}

#[test]
fn clients_share_the_service_not_the_calls() {
    let mut gate = gate(BackendOrder::Fifo);
    let mut now = ms(0);
    teach(&mut gate, &mut now, 0, 1, 30 * MS);
    teach(&mut gate, &mut now, 0, 2, 10 * MS);
    for tag in 0..100 {
        gate.arrive(now, CallSpec { tag, client: 1 + tag % 2, kind: 1 + tag % 2, ..one(0) });
    }
    let mut first = Vec::new();
    for _ in 0..40 {
        let (call, tag) = start(&mut gate, now);
        now += if tag % 2 == 0 { 30 * MS } else { 10 * MS };
        gate.ended(now, call);
        first.push(tag);
    }
    let long = first.iter().filter(|tag| *tag % 2 == 0).count();
    assert!((9..=11).contains(&long), "{long} of 40 take three times as long: {first:?}");
}

#[test]
fn with_one_client_or_one_call_each_the_order_alone_decides() {
    for one_client in [true, false] {
        let mut gate = gate(BackendOrder::NewestFirst);
        for tag in 0..100 {
            let client = if one_client { 1 } else { tag };
            gate.arrive(ms(tag), CallSpec { client, ..one(tag) });
        }
        let wanted: Vec<u64> = (0..100).rev().collect();
        assert_eq!(drain(&mut gate, ms(100)), wanted);
    }
}

#[test]
fn what_the_backend_did_not_take_goes_back_to_its_place() {
    let mut gate = gate(BackendOrder::Fifo);
    for client in 1..=3 {
        gate.arrive(ms(client), one(client));
    }
    let (first, _) = start(&mut gate, ms(10));
    gate.requeue(ms(20), first);
    gate.requeue(ms(20), first);
    assert_eq!((gate.waiting(), gate.under_way()), (3, 0));
    assert_eq!(start(&mut gate, ms(20)), (first, 1));
    // It has waited since 1 ms, and left while it was under way: nothing is put back then.
    assert_eq!(gate.abandoned(ms(30), first), Abandoned::UnderWay);
    gate.requeue(ms(40), first);
    assert_eq!((gate.waiting(), gate.under_way(), gate.dead_under_way()), (2, 0, 0));
    assert_eq!(drain(&mut gate, ms(40)), [2, 3]);
    assert_eq!(gate.counts().requeued, 2);
}

#[test]
fn a_burst_of_failures_halves_a_learned_limit() {
    let mut gate = BackendGate::new(BackendConfig::default());
    let limit = gate.limit();
    assert!(limit >= 2);
    let mut fails = |times: u64| {
        for client in 0..times {
            gate.arrive(ms(1), one(client));
            let (call, _) = start(&mut gate, ms(1));
            gate.failed(ms(1), call);
        }
        gate.limit()
    };
    assert_eq!(fails(3), limit, "that can happen");
    assert_eq!(fails(1), limit / 2);
    assert_eq!(fails(100), 1);
}

#[test]
fn limits_and_orders_are_read_as_they_are_written() {
    for order in BackendOrder::ALL {
        assert_eq!(order.to_string().parse(), Ok(order));
    }
    assert!("lifo".parse::<BackendOrder>().is_err_and(|error| error.to_string().contains("edf")));
    for limit in [CallLimit::Auto, CallLimit::Fixed(1), CallLimit::Fixed(300)] {
        assert_eq!(limit.to_string().parse(), Ok(limit));
    }
    for wrong in ["0", "", "-1", "many", "4294967296"] {
        assert!(wrong.parse::<CallLimit>().is_err(), "{wrong}");
    }
}

#[test]
fn a_client_with_one_call_at_a_time_is_like_all_others() {
    let mut gate = gate(BackendOrder::Fifo);
    for client in 1..=4 {
        gate.arrive(ms(client), one(client));
    }
    let (first, _) = start(&mut gate, ms(5));
    gate.ended(ms(6), first);
    // It asks again, and others come after it who have had nothing yet.
    gate.arrive(ms(6), CallSpec { tag: 100, ..one(1) });
    for client in 5..=8 {
        gate.arrive(ms(7), one(client));
    }
    assert_eq!(drain(&mut gate, ms(8)), [2, 3, 4, 100, 5, 6, 7, 8]);
}

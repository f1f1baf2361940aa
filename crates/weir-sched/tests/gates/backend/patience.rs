//! Shows how a backend's gate learns how long clients wait, and what it does with that: it turns the order,
//! and refuses requests that would wait in vain.

use super::step_by_step::{MS, drain, gate, ms, one, start, teach_patience};
use weir_sched::{
    Abandoned, BackendConfig, BackendGate, BackendOrder, Call, CallLimit, CallNext, CallSpec,
};

#[test]
fn adaptive_turns_when_the_oldest_has_waited_most_of_its_patience_and_back_at_a_quarter() {
    let mut gate = gate(BackendOrder::Adaptive);
    let mut now = ms(0);
    teach_patience(&mut gate, &mut now, 0, 4000 * MS);
    assert_eq!(gate.patience(0), Some(4000 * MS));
    let busy = gate.arrive(now, one(0));
    assert_eq!(start(&mut gate, now).0, busy);
    let calls: Vec<Call> =
        [100, 2300, 2400, 2500].map(|at| gate.arrive(now + at * MS, one(u64::from(at)))).into();
    let before = now + 3299 * MS;
    gate.ended(before, busy);
    let (first, tag) = start(&mut gate, before);
    assert_eq!(tag, 100, "the oldest has waited 3199 ms");
    gate.requeue(before, first);
    let turned = now + 3300 * MS;
    let next = gate.next(turned);
    let CallNext::Refuse { call, .. } = next else { panic!("{next:?}") };
    assert_eq!(call, calls[0], "the oldest has waited 3200 ms");
    let (newest, tag) = start(&mut gate, turned);
    assert_eq!(tag, 2500, "the oldest has waited 1000 ms");
    gate.requeue(turned, newest);
    assert_eq!(gate.abandoned(turned, calls[1]), Abandoned::Waiting);
    assert_eq!(drain(&mut gate, turned), [2400, 2500], "the oldest has waited 900 ms");
}

#[test]
fn adaptive_turns_at_half_when_the_newest_would_wait_too_long() {
    // Each call takes 100 ms, so 32 of them take 80 % of the patience.
    for (waiting, later, next) in [(31, 0, 0), (32, 0, 31), (31, 100, 0)] {
        let mut gate = gate(BackendOrder::Adaptive);
        let mut now = ms(0);
        teach_patience(&mut gate, &mut now, 0, 4000 * MS);
        for client in 100..112 {
            gate.arrive(now, one(client));
        }
        for _ in 0..12 {
            let (call, _) = start(&mut gate, now);
            now += 100 * MS;
            gate.ended(now, call);
        }
        for client in 0..waiting {
            gate.arrive(now, one(client));
        }
        // Who comes after all of these keeps nobody waiting.
        for client in 1000..1000 + later {
            gate.arrive(now, CallSpec { priority: 1, ..one(client) });
        }
        assert_eq!(start(&mut gate, now + 2000 * MS).1, next, "{waiting} {later}");
    }
}

#[test]
fn each_route_has_its_own_patience() {
    let mut gate = gate(BackendOrder::Adaptive);
    let mut now = ms(0);
    teach_patience(&mut gate, &mut now, 1, 500 * MS);
    teach_patience(&mut gate, &mut now, 2, 30_000 * MS);
    let routes = [0, 1, 2].map(|route| gate.patience(route));
    assert_eq!(routes, [None, Some(500 * MS), Some(30_000 * MS)]);
    gate.arrive(now, CallSpec { route: 2, ..one(1) });
    gate.arrive(now, CallSpec { route: 1, ..one(2) });
    gate.arrive(now + 200 * MS, CallSpec { route: 2, ..one(3) });
    let (busy, tag) = start(&mut gate, now + 399 * MS);
    assert_eq!(tag, 1);
    // Its clients leave after 500 ms, but nobody is refused within a second.
    assert_eq!(gate.next(now + 400 * MS), CallNext::Full { until: Some(now + 1000 * MS) });
    gate.ended(now + 400 * MS, busy);
    assert_eq!(start(&mut gate, now + 400 * MS).1, 3, "the newest first, by route 1's patience");
}

#[test]
fn who_has_waited_longer_than_nearly_all_endure_is_refused() {
    let mut gate = gate(BackendOrder::Fifo);
    let mut now = ms(0);
    teach_patience(&mut gate, &mut now, 0, 5000 * MS);
    let busy = gate.arrive(now, one(0));
    assert_eq!(start(&mut gate, now).0, busy);
    let waits = gate.arrive(now, one(1));
    let younger = gate.arrive(now + 1000 * MS, one(2));
    // 1.1 times the patience.
    let at = now + 5500 * MS;
    assert_eq!(gate.next(now + 1000 * MS), CallNext::Full { until: Some(at) });
    assert!(matches!(gate.next(now + 5499 * MS), CallNext::Full { .. }));
    // Calls have waited for 5.5 s without a break.
    let refused = CallNext::Refuse { call: waits, tag: 1, retry_after: 5500 * MS };
    assert_eq!(gate.next(at), refused);
    assert_eq!(gate.next(at), CallNext::Full { until: Some(at + 1000 * MS) });
    assert_eq!(
        (gate.abandoned(at, waits), gate.abandoned(at, younger)),
        (Abandoned::Unknown, Abandoned::Waiting)
    );
    assert_eq!(gate.counts().refused, 1);
}

#[test]
fn who_goes_last_is_told_so_while_patience_is_known_from_lately() {
    let mut gate = gate(BackendOrder::Adaptive);
    let mut now = ms(0);
    teach_patience(&mut gate, &mut now, 0, 5000 * MS);
    let busy = gate.arrive(now, one(0));
    assert_eq!(start(&mut gate, now).0, busy);
    gate.arrive(now, one(1));
    // 0.8 times the patience.
    assert_eq!(gate.next(now), CallNext::Full { until: Some(now + 4000 * MS) });
    let refused = gate.next(now + 4000 * MS);
    assert!(matches!(refused, CallNext::Refuse { tag: 1, .. }), "{refused:?}");
    // The last left a minute ago: who knows whether they still do.
    let later = now + 56_000 * MS;
    gate.arrive(later, one(2));
    assert_eq!(gate.next(later), CallNext::Full { until: Some(later + 4000 * MS) });
    let open = gate.next(later + 4000 * MS);
    assert_eq!(open, CallNext::Full { until: Some(later + 5500 * MS) });
}

#[test]
fn until_patience_is_known_the_longest_wait_is_the_limit() {
    let config = BackendConfig {
        limit: CallLimit::Fixed(1),
        queue_timeout: 300 * MS,
        ..BackendConfig::default()
    };
    let mut gate = BackendGate::new(config);
    gate.arrive(ms(0), one(1));
    gate.arrive(ms(0), one(2));
    start(&mut gate, ms(0));
    assert_eq!(gate.next(ms(1)), CallNext::Full { until: Some(ms(300)) });
    // One call waits and none has ended yet: the least there is.
    let next = gate.next(ms(300));
    let CallNext::Refuse { tag: 2, retry_after, .. } = next else { panic!("{next:?}") };
    assert_eq!(retry_after, 1000 * MS);
}

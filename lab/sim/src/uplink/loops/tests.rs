//! What loops may do to a victim under policies that promise, and that the measure tells those who
//! do not.

use weir_sched::{BitRate, policy};

use super::*;

const VICTIM: u64 = 1_000_000;

fn link() -> Link {
    Link::new(BitRate::new(2_000_000).unwrap())
}

fn address(index: usize) -> ClientId {
    ClientId(index as u128)
}

fn client(round_trip_ms: u64) -> Client {
    Client { round_trip: Duration::from_millis(round_trip_ms), ..Client::default() }
}

/// One address that asks `size` on and on.
fn looping(again: Again, connections: usize, size: u64) -> Looping {
    Looping {
        address: address(1),
        connections,
        sizes: Sizes::Always(size),
        again,
        range_of: None,
        client: client(0),
    }
}

fn scene(size: u64, loops: Vec<Looping>) -> Scene {
    let victim = Single { at: 1.0, size, address: address(0), client: client(0) };
    Scene { singles: vec![victim], loops, leavers: Vec::new(), until: 1000.0 }
}

/// The response time of the first single, beyond which it counts as never done.
fn response(policy: PolicyKind, scene: &Scene) -> Option<f64> {
    let finish = link().loops(policy, scene).unwrap().finish[0]?;
    Some(finish.received - scene.singles[0].at)
}

/// How much longer the victim takes than alone.
fn ratio(policy: PolicyKind, scene: &Scene) -> f64 {
    let none = Scene { loops: Vec::new(), leavers: Vec::new(), ..scene.clone() };
    let alone = response(policy, &none).unwrap();
    response(policy, scene).map_or(f64::INFINITY, |beside| beside / alone)
}

const PROMISE: [PolicyKind; 2] = [policy::PROTECTIVE, policy::FSP];

#[test]
fn alone_it_takes_what_its_packets_take() {
    let found = response(policy::PROTECTIVE, &scene(VICTIM, Vec::new())).unwrap();
    let wire = VICTIM + VICTIM.div_ceil(1448) * 66 + 206;
    assert!((found / (wire as f64 / (0.99 * 250_000.0)) - 1.0).abs() < 0.01, "{found}");
}

#[test]
fn a_loop_on_one_connection_is_one_client() {
    let scene = scene(VICTIM, vec![looping(Again::Kept, 1, 16_584)]);
    for policy in PROMISE {
        let found = ratio(policy, &scene);
        assert!((1.5..2.2).contains(&found), "{policy}: {found}");
    }
}

#[test]
fn new_connections_for_each_make_no_more_of_it() {
    for again in [Again::New, Again::Kept] {
        let ranges = Looping { range_of: Some(ObjectId(1)), ..looping(again, 1, 16_584) };
        for policy in PROMISE {
            let found = ratio(policy, &scene(VICTIM, vec![ranges.clone()]));
            assert!((1.5..2.2).contains(&found), "{policy} {again:?}: {found}");
        }
    }
}

#[test]
fn heads_one_after_the_other_are_one_response_each_connection() {
    let scene = scene(100_000, vec![looping(Again::Pipelined, 5, 200)]);
    for policy in PROMISE {
        let found = ratio(policy, &scene);
        assert!((1.5..6.0 * 1.3).contains(&found), "{policy}: {found}");
    }
}

#[test]
fn those_who_left_owe_nobody_anything() {
    for (left_by, stays_ms) in [(1, 0), (2, 0), (2, 100)] {
        let leaver = Leaver {
            at: 0.5,
            stays: Duration::from_millis(stays_ms),
            requests: 100,
            size: 1_000_000_000,
            address: address(left_by),
            client: client(0),
        };
        let beside =
            Scene { leavers: vec![leaver], ..scene(VICTIM, vec![looping(Again::Kept, 1, 16_584)]) };
        for policy in PROMISE {
            let found = ratio(policy, &beside);
            assert!((1.5..2.2).contains(&found), "{policy} {left_by} {stays_ms}: {found}");
        }
    }
}

#[test]
fn the_measure_tells_a_policy_that_lets_loops_pass() {
    let small = looping(Again::Kept, 1, 16_584);
    let scene = scene(VICTIM, vec![small.clone()]);
    assert!(ratio(policy::SRPT, &scene) > 20.0);
    let looped = link().loops(policy::SRPT, &scene).unwrap();
    assert!(looped.responses > 1000, "{looped:?}");
    assert!(looped.single_bytes * 100 < looped.bytes, "{looped:?}");
    // And a gate that follows nobody, under one that does.
    let strange = Looping { again: Again::Stranger, ..small };
    let strange = Scene { loops: vec![strange], ..scene };
    assert!(ratio(policy::PROTECTIVE, &strange) > 4.0);
}

#[test]
fn a_loop_asks_a_round_trip_after_the_last_was_sent() {
    let far = |again| Looping {
        client: client(200),
        sizes: Sizes::Once(vec![1000; 5]),
        ..looping(again, 1, 0)
    };
    // The single keeps the scene going; the loop ends long before.
    let responses = |again, until| {
        let last = Scene { until, ..scene(VICTIM, vec![far(again)]) };
        link().loops(policy::FIFO, &last).unwrap().responses
    };
    for again in [Again::Kept, Again::New, Again::Stranger] {
        // 1000 bytes take 4 ms.
        assert_eq!([1.0, 100.0].map(|until| responses(again, until)), [5, 5], "{again:?}");
    }
    let scene = Scene { loops: vec![far(Again::Kept)], ..scene(1, Vec::new()) };
    let early = Scene { singles: vec![Single { at: 0.45, ..scene.singles[0] }], ..scene.clone() };
    assert_eq!(link().loops(policy::FIFO, &early).unwrap().responses, 3);
    let pipelined = Scene { loops: vec![far(Again::Pipelined)], ..early };
    assert_eq!(link().loops(policy::FIFO, &pipelined).unwrap().responses, 5);
}

#[test]
fn times_that_are_none_are_refused() {
    let good = scene(1, Vec::new());
    for until in [f64::NAN, 0.5, 1e10] {
        let error = link().loops(policy::FAIR, &Scene { until, ..good.clone() }).unwrap_err();
        assert!(error.to_string().starts_with("the end is"), "{error}");
    }
    let leaver = Leaver {
        at: -1.0,
        stays: Duration::ZERO,
        requests: 1,
        size: 1,
        address: address(1),
        client: client(0),
    };
    let wrong = Scene { leavers: vec![leaver], ..good };
    let error = link().loops(policy::FAIR, &wrong).unwrap_err();
    assert!(error.to_string().contains("a leaver's time is -1 s"), "{error}");
}

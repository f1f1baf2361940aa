//! Shows when backends are taken to be well: by calls, by checks, and by the calls that try whether
//! one is back, whatever their clients do.

use std::time::Duration;

use proptest::prelude::*;
use weir_sched::Time;
use weir_sched::health::{Health, PassiveConfig, Trial};

const PASSIVE: PassiveConfig =
    PassiveConfig { max_fails: 3, fail_timeout: Duration::from_secs(10) };

fn at(seconds: u64) -> Time {
    at_ms(seconds * 1000)
}

fn at_ms(ms: u64) -> Time {
    Time::ZERO + Duration::from_millis(ms)
}

fn fail(health: &mut Health, times: &[u64]) {
    for time in times {
        health.call_ended(at(*time), None, false);
    }
}

/// Put out at zero for 10 s.
fn out() -> Health {
    let mut health = Health::new(PASSIVE, None);
    fail(&mut health, &[0, 0, 0]);
    health
}

/// A call of `client` that must be a try.
fn tries(health: &mut Health, now: Time, client: u64) -> Trial {
    health.call_started(now, client).expect("this client may try now")
}

#[test]
fn failures_in_a_row_put_it_out_and_one_call_tries() {
    let mut health = Health::new(PASSIVE, None);
    fail(&mut health, &[1, 2]);
    assert!(health.is_healthy());
    fail(&mut health, &[3]);
    assert!(!health.is_healthy());
    assert!(!health.may_try(at(12), 1));
    // A call that started before does not prolong it.
    fail(&mut health, &[5]);
    let tried = tries(&mut health, at(13), 1);
    assert!(!health.may_try(at(14), 2), "one call, not two");
    health.call_ended(at(14), Some(tried), true);
    assert!(health.is_healthy());
    assert!(!health.may_try(at(100), 2), "there is nothing to try");
}

#[test]
fn two_failed_tries_double_the_time_out_to_a_minute() {
    let mut health = out();
    let mut now = 0;
    for length in [10, 20, 40, 60, 60] {
        assert!(!health.may_try(at(now + length - 1), 1), "after {length}");
        now += length;
        let first = tries(&mut health, at(now), 1);
        health.call_ended(at(now), Some(first), false);
        assert!(!health.may_try(at(now + length - 1), 1), "others first");
        // The second after an eighth of the time, in whole seconds.
        now += length.div_ceil(8);
        let second = tries(&mut health, at(now), 2);
        health.call_ended(at(now), Some(second), false);
        health.call_ended(at(now), Some(second), false);
        health.call_ended(at(now), Some(first), false);
    }
    health.call_ended(at(now), None, true);
    fail(&mut health, &[now, now, now]);
    assert!(health.may_try(at(now + 10), 1), "after a success it begins anew");
}

#[test]
fn a_client_that_is_alone_tries_once_in_the_time_that_it_was_put_out_for() {
    let mut health = out();
    let starts: Vec<_> = (0..100)
        .filter(|now| match health.call_started(at(*now), 1) {
            Some(tried) => {
                health.call_ended(at(*now), Some(tried), false);
                true
            }
            None => false,
        })
        .collect();
    assert_eq!(starts, [10, 20, 40, 60]);
}

#[test]
fn the_more_tries_hang_the_later_the_next_and_those_that_hang_too_long_have_failed() {
    let mut health = out();
    let starts: Vec<_> = (0..4000)
        .filter(|tenth| health.call_started(at_ms(tenth * 100), *tenth).is_some())
        .collect();
    // In tenths of seconds; parts of them are rounded up. From 100 for 10 s, from 326 for 20 s.
    assert_eq!(starts[..6], [100, 113, 138, 188, 288, 488], "{starts:?}");
}

#[test]
fn a_client_that_leaves_gives_its_try_to_others_and_is_not_the_next() {
    let mut health = out();
    let left = tries(&mut health, at(10), 1);
    assert!(!health.may_try(at(10), 2));
    health.client_left(at(10), left);
    assert!(!health.may_try(at(19), 1));
    let tried = tries(&mut health, at(10), 2);
    assert!(!health.may_try(at(11), 3));
    // Its answer counts all the same.
    let mut late = health.clone();
    late.call_ended(at(11), Some(left), true);
    assert!(late.is_healthy());
    health.take_back(at(11), tried);
    assert!(health.may_try(at(11), 2), "as if it had not begun");
}

#[test]
fn failures_far_apart_or_with_a_success_between_do_not_count() {
    let mut health = Health::new(PASSIVE, None);
    fail(&mut health, &[0, 1, 12, 13]);
    assert!(health.is_healthy());
    fail(&mut health, &[22]);
    assert!(!health.is_healthy(), "12, 13 and 22 are within 10 s");
    let mut health = Health::new(PASSIVE, None);
    fail(&mut health, &[0, 1]);
    health.call_ended(at(2), None, true);
    fail(&mut health, &[3, 4]);
    assert!(health.is_healthy());
    let off = PassiveConfig { max_fails: 0, ..PASSIVE };
    let mut health = Health::new(off, None);
    fail(&mut health, &[0; 100]);
    assert!(health.is_healthy());
}

#[test]
fn checks_put_it_out_and_bring_it_back() {
    let mut health = Health::new(PASSIVE, Some((2, 3)));
    for (ok, well) in [
        (false, true),
        (false, true),
        (true, true),
        (false, true),
        (false, true),
        (false, false),
        (true, false),
        (false, false),
        (true, false),
        (true, true),
    ] {
        health.check_ended(ok);
        assert_eq!(health.is_healthy(), well);
    }
    fail(&mut health, &[1, 1, 1]);
    for _ in 0..3 {
        health.check_ended(false);
    }
    assert!(!health.may_try(at(20), 1), "checks say that it is down");
    health.check_ended(true);
    health.check_ended(true);
    assert!(health.is_healthy(), "checks have brought it back");
    let mut unchecked = Health::new(PASSIVE, None);
    for _ in 0..10 {
        unchecked.check_ended(false);
    }
    assert!(unchecked.is_healthy());
}

#[test]
fn it_is_proven_by_the_first_check_that_goes_well() {
    let mut health = Health::new(PASSIVE, Some((2, 3)));
    for (ok, healthy, proven) in [
        (false, true, false),
        (false, true, false),
        (true, true, true),
        (false, true, true),
        (false, true, true),
        (false, false, false),
        (true, false, false),
        (true, true, true),
    ] {
        health.check_ended(ok);
        assert_eq!((health.is_healthy(), health.is_proven()), (healthy, proven));
    }
    assert!(Health::new(PASSIVE, None).is_proven(), "there is nothing to wait for");
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Pass(u64),
    Start(u64),
    End(bool),
    Leave,
    TakeBack,
    Check(bool),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => (0u64..9).prop_map(Step::Pass),
        3 => (0u64..5).prop_map(Step::Start),
        5 => prop::bool::weighted(0.15).prop_map(Step::End),
        1 => Just(Step::Leave),
        1 => Just(Step::TakeBack),
        2 => any::<bool>().prop_map(Step::Check),
    ];
    prop::collection::vec(step, 1..200)
}

/// What a client of a try does on a backend that is well again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Habit {
    Leaves,
    /// Asks for what takes for ever.
    Hangs,
    /// Asks for what makes the backend close the connection.
    Fails,
}

/// At most one client that fails and two that hang, in any order among a few who leave.
fn hostile() -> impl Strategy<Value = Vec<Habit>> {
    (0usize..=1, 0usize..=2, 0usize..=4)
        .prop_map(|(fail, hang, leave)| {
            let each = [(Habit::Fails, fail), (Habit::Hangs, hang), (Habit::Leaves, leave)];
            each.into_iter().flat_map(|(habit, count)| vec![habit; count]).collect::<Vec<_>>()
        })
        .prop_shuffle()
}

proptest! {
    /// Against the rules as they are written down: it is out by calls if, since the last success,
    /// there were ever `max_fails` failures within `fail_timeout`.
    #[test]
    fn does_as_the_rules_say(
        steps in steps(), max_fails in 0u32..5, active in prop::option::of((1u32..4, 1u32..4)),
    ) {
        let mut health = Health::new(PassiveConfig { max_fails, ..PASSIVE }, active);
        let mut now = 0;
        let mut failures: Vec<u64> = Vec::new();
        let (mut up, mut checks) = (true, Vec::new());
        let mut tried = None;
        for step in steps {
            match step {
                Step::Pass(seconds) => now += seconds,
                Step::Start(client) => {
                    let may = health.may_try(at(now), client);
                    let started = health.call_started(at(now), client);
                    prop_assert_eq!(started.is_some(), may);
                    tried = started.or(tried);
                    prop_assert!(!health.may_try(at(now), client), "one try for each client");
                }
                Step::End(ok) => {
                    health.call_ended(at(now), tried.take(), ok);
                    if ok { failures.clear() } else { failures.push(now) }
                }
                Step::Leave => tried.into_iter().for_each(|one| health.client_left(at(now), one)),
                Step::TakeBack => {
                    tried.take().into_iter().for_each(|one| health.take_back(at(now), one));
                }
                Step::Check(ok) => {
                    health.check_ended(ok);
                    checks.push(ok);
                    if let Some((healthy, unhealthy)) = active {
                        let last = |ok, n: u32| {
                            checks.iter().rev().take_while(|one| **one == ok).count() >= n as usize
                        };
                        if up && last(false, unhealthy) {
                            (up, checks) = (false, Vec::new());
                        } else if !up && last(true, healthy) {
                            (up, checks) = (true, Vec::new());
                            failures.clear();
                        }
                    }
                }
            }
            let out = max_fails > 0
                && failures.windows(max_fails as usize).any(|run| run[run.len() - 1] - run[0] <= 10);
            prop_assert_eq!(health.is_healthy(), up && !out, "at {}", now);
            prop_assert!(!(health.is_healthy() && health.may_try(at(now), 1)));
            prop_assert!(!health.may_try(at(now), 1) || up);
            // Whoever waits long enough may always try.
            prop_assert_eq!(health.may_try(at(now + 10_000), 1), up && out);
        }
    }

    /// A backend that is well again is back within the time that it was put out for, from when it
    /// may be tried, for a client that asks now and then, whatever those do who ask before it each
    /// time.
    #[test]
    fn who_leaves_hangs_or_fails_does_not_keep_it_out(hostile in hostile(), stay in 0u64..4) {
        let mut health = out();
        let mut leaving: Vec<(u64, Trial)> = Vec::new();
        let mut back = None;
        for tick in 0..250 {
            let now = at_ms(tick * 100);
            leaving.retain(|(when, tried)| {
                let leaves = *when <= tick;
                if leaves {
                    health.client_left(now, *tried);
                }
                !leaves
            });
            for (client, habit) in hostile.iter().enumerate() {
                let Some(tried) = health.call_started(now, client as u64) else { continue };
                match habit {
                    Habit::Leaves => leaving.push((tick + stay, tried)),
                    Habit::Hangs => {}
                    Habit::Fails => health.call_ended(now, Some(tried), false),
                }
            }
            if let Some(tried) = health.call_started(now, 1000) {
                health.call_ended(now, Some(tried), true);
                back = Some(tick);
                break;
            }
        }
        prop_assert!(back.is_some_and(|tick| tick <= 200), "back at {back:?} with {hostile:?}");
    }

    /// Among calls of ever other clients that all fail, tries come in pairs, which get rarer up to a
    /// pair a minute.
    #[test]
    fn tries_get_rarer(seconds in 60u64..600) {
        let mut health = out();
        let mut starts = Vec::new();
        for now in 0..seconds {
            if let Some(tried) = health.call_started(at(now), now) {
                starts.push(now);
                health.call_ended(at(now), Some(tried), false);
            }
        }
        let firsts: Vec<_> = starts.iter().step_by(2).collect();
        let gaps: Vec<_> = firsts.windows(2).map(|pair| pair[1] - pair[0]).collect();
        prop_assert!(starts[0] == 10 && gaps.is_sorted(), "{starts:?}");
        prop_assert!(gaps.iter().all(|gap| (20..=68).contains(gap)), "{starts:?}");
    }
}

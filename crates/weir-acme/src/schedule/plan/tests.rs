//! A plan against servers that work, fail and talk nonsense, in virtual time.

use proptest::prelude::*;

use super::*;
use crate::schedule::retry::LONGEST_ASKED;

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3600);
const DAY: Duration = Duration::from_secs(24 * 3600);
const REFUSED: Setback = Setback { is_refusal: true, retry_after: None };

fn start() -> SystemTime {
    SystemTime::UNIX_EPOCH + 20_000 * DAY
}

fn life(from: SystemTime, length: Duration) -> Life {
    Life { not_before: from, not_after: from + length }
}

/// Carries the plan out for `span`; `order` says what comes of an order, and tells the plan. Returns
/// when orders were made.
fn run(
    plan: &mut Plan,
    span: Duration,
    mut order: impl FnMut(&mut Plan, SystemTime),
) -> Vec<SystemTime> {
    let mut now = start();
    let mut orders = Vec::new();
    while now < start() + span {
        match plan.next(now) {
            Step::Order => {
                orders.push(now);
                order(plan, now);
                now += Duration::from_secs(1);
            }
            Step::Ask => plan.not_suggested(None, now),
            Step::Wait(wait) => {
                assert!(!wait.is_zero() && wait <= LONGEST_WAIT, "{wait:?}");
                now += wait;
            }
        }
    }
    orders
}

#[test]
fn the_first_certificate_is_ordered_at_once() {
    assert_eq!(Plan::default().next(start()), Step::Order);
}

#[test]
fn a_certificate_is_renewed_in_time_for_ever() {
    let mut plan = Plan::default();
    let mut ends = start();
    let orders = run(&mut plan, 900 * DAY, |plan, now| {
        assert!(ends == start() || now < ends - 25 * DAY, "renewed late");
        ends = now + 90 * DAY;
        assert_eq!(plan.obtained(life(now, 90 * DAY), 0.5, now), Obtained::Good);
    });
    assert_eq!(orders.len(), 15, "900 days by 60.75");
}

#[test]
fn a_server_that_refuses_is_not_asked_more_often_than_it_allows() {
    let orders = run(&mut Plan::default(), 30 * DAY, |plan, now| plan.failed(REFUSED, now, 0.0));
    let in_the_first = |span| orders.iter().filter(|time| **time < start() + span).count();
    assert_eq!(in_the_first(HOUR), 4);
    assert!(in_the_first(DAY) <= 10, "{}", in_the_first(DAY));
    assert!((115..=130).contains(&orders.len()), "four a day: {}", orders.len());
}

#[test]
fn a_failure_keeps_the_old_certificate_and_leaves_many_attempts() {
    let mut plan = Plan::default();
    assert!(plan.found(life(start() - 60 * DAY, 90 * DAY), 0.0, start()));
    let orders = run(&mut plan, 30 * DAY, |plan, now| plan.failed(REFUSED, now, 1.0));
    assert!(orders.len() > 90, "{}", orders.len());
    assert_eq!(plan.life(), Some(life(start() - 60 * DAY, 90 * DAY)));
}

#[test]
fn success_ends_the_back_off() {
    let mut plan = Plan::default();
    for _ in 0..5 {
        plan.failed(REFUSED, start(), 0.0);
    }
    assert!(plan.pause(start()) > HOUR);
    assert_eq!(plan.obtained(life(start(), 90 * DAY), 0.0, start()), Obtained::Good);
    assert_eq!(plan.failures(), 0);
    plan.failed(REFUSED, start(), 0.0);
    assert_eq!(plan.pause(start()), 5 * MINUTE);
}

#[test]
fn a_certificate_that_is_over_when_it_comes_counts_as_refused() {
    // The clock is a year ahead.
    let orders = run(&mut Plan::default(), DAY, |plan, now| {
        let life = life(now - 365 * DAY, 90 * DAY);
        assert_eq!(plan.obtained(life, 0.0, now), Obtained::Late);
    });
    assert!(orders.len() <= 10, "{}", orders.len());
}

#[test]
fn a_certificate_that_is_over_when_it_comes_replaces_none_that_ends_later() {
    let mut plan = Plan::default();
    let (now, old) = (start(), life(start() - 61 * DAY, 90 * DAY));
    assert!(plan.found(old, 0.0, now));
    let over = life(now - 50 * DAY, 40 * DAY);
    assert!(!plan.found(over, 0.0, now));
    assert_eq!((plan.life(), plan.failures()), (Some(old), 0));
    assert_eq!(plan.obtained(over, 0.0, now), Obtained::Useless);
    assert_eq!((plan.life(), plan.failures()), (Some(old), 1));
    assert_eq!(plan.pause(now), 5 * MINUTE);
    // By a clock that is ahead both are over, and the later one is served to clients with a right clock.
    let (ahead, later) = (now + 365 * DAY, life(now, 90 * DAY));
    assert_eq!(plan.obtained(later, 0.0, ahead), Obtained::Late);
    assert_eq!(plan.life(), Some(later));
}

#[test]
fn a_server_that_always_says_now_gets_two_orders_a_day() {
    let mut plan = Plan::default();
    let mut now = start();
    let mut orders = 0;
    while now < start() + 10 * DAY {
        match plan.next(now) {
            Step::Order => {
                orders += 1;
                assert!(orders <= 20, "one after the other");
                assert_eq!(plan.obtained(life(now, 90 * DAY), 0.0, now), Obtained::Good);
            }
            Step::Ask => plan.suggested(Window::new(now - 2 * DAY, now - DAY), None, now),
            Step::Wait(wait) => now += wait,
        }
    }
    assert_eq!(orders, 20);
}

#[test]
fn processes_that_share_a_storage_get_no_more_orders_than_one() {
    // Each plan, and when it is asked next.
    let mut plans = [(Plan::default(), start()); 3];
    let mut kept: Option<Life> = None;
    let mut orders = 0;
    loop {
        let (plan, time) = plans.iter_mut().min_by_key(|(_, time)| *time).unwrap();
        let now = *time;
        if now >= start() + 10 * DAY {
            break;
        }
        if let Some(life) = kept.filter(|life| plan.life() != Some(*life)) {
            assert!(plan.found(life, 0.0, now));
        }
        match plan.next(now) {
            Step::Order => {
                orders += 1;
                kept = Some(life(now, 90 * DAY));
                assert_eq!(plan.obtained(life(now, 90 * DAY), 0.0, now), Obtained::Good);
                // The first one all wait for.
                for (plan, _) in plans.iter_mut().filter(|(plan, _)| plan.life().is_none()) {
                    plan.ordered_elsewhere(now);
                }
            }
            Step::Ask => plan.suggested(Window::new(now - 2 * DAY, now - DAY), None, now),
            Step::Wait(wait) => *time += wait,
        }
    }
    assert!((20..=21).contains(&orders), "two a day: {orders}");
}

#[test]
fn what_is_there_at_the_start_is_renewed_as_soon_as_the_server_suggests_it() {
    let mut plan = Plan::default();
    assert!(plan.found(life(start(), 90 * DAY), 0.0, start()));
    plan.suggested(Window::new(start() - 2 * DAY, start() - DAY), None, start());
    assert_eq!(plan.next(start()), Step::Order);
}

#[test]
fn a_suggestion_is_followed_and_asked_for_again() {
    let mut plan = Plan::default();
    assert!(plan.found(life(start(), 90 * DAY), 0.5, start()));
    assert_eq!(plan.next(start()), Step::Ask);
    plan.suggested(Window::new(start() + DAY, start() + 3 * DAY), Some(HOUR / 2), start());
    assert_eq!(plan.renewal(), Some(start() + 2 * DAY));
    assert_eq!(plan.next(start()), Step::Wait(HOUR / 2));
    assert_eq!(plan.next(start() + HOUR / 2), Step::Ask);
    // It cannot be asked for a while: what it said holds.
    plan.not_suggested(None, start() + HOUR);
    assert_eq!(plan.renewal(), Some(start() + 2 * DAY));
    assert_eq!(plan.next(start() + 2 * DAY), Step::Order);
}

#[test]
fn what_another_process_obtained_ends_the_waiting() {
    let mut plan = Plan::default();
    plan.failed(REFUSED, start(), 0.0);
    plan.ordered_elsewhere(start());
    assert_eq!(plan.next(start()), Step::Wait(WHILE_ANOTHER_ORDERS));
    assert!(plan.found(life(start(), 90 * DAY), 0.0, start()));
    assert_eq!(plan.next(start()), Step::Ask);
    assert_eq!(plan.failures(), 0);
}

#[test]
fn a_clock_that_jumps_ahead_renews_and_one_that_jumps_back_waits() {
    let mut plan = Plan::default();
    assert_eq!(plan.obtained(life(start(), 90 * DAY), 0.0, start()), Obtained::Good);
    plan.not_suggested(None, start());
    assert_eq!(plan.next(start() + 70 * DAY), Step::Order);
    assert_eq!(plan.next(SystemTime::UNIX_EPOCH), Step::Wait(LONGEST_WAIT));
}

#[test]
fn an_order_that_is_being_processed_is_no_failure_and_is_looked_at_later() {
    let mut plan = Plan::default();
    plan.processing(5 * MINUTE, start());
    assert_eq!(plan.failures(), 0);
    assert_eq!(plan.next(start()), Step::Wait(5 * MINUTE));
    assert_eq!(plan.next(start() + 5 * MINUTE), Step::Order);
}

#[derive(Clone, Debug)]
enum Event {
    Jump(u64),
    Pass(u64),
    Found(u64, u64),
    Obtained(u64, u64),
    Suggested(u64, u64, Option<u64>),
    Failed(bool, Option<u64>),
    Processing(u64),
    Elsewhere,
}

fn event() -> impl Strategy<Value = Event> {
    let time = 0u64..8_000_000_000;
    let length = 0u64..400_000_000;
    prop_oneof![
        time.clone().prop_map(Event::Jump),
        (0u64..10_000_000).prop_map(Event::Pass),
        (time.clone(), length.clone()).prop_map(|(from, length)| Event::Found(from, length)),
        (time.clone(), length.clone()).prop_map(|(from, length)| Event::Obtained(from, length)),
        (time, length, proptest::option::of(0u64..))
            .prop_map(|(start, length, again)| Event::Suggested(start, length, again)),
        (any::<bool>(), proptest::option::of(0u64..))
            .prop_map(|(is_refusal, asked)| Event::Failed(is_refusal, asked)),
        (15u64..=24 * 3600).prop_map(Event::Processing),
        Just(Event::Elsewhere),
    ]
}

proptest! {
    /// Whatever happens and however the clock jumps, the plan says something sensible, and whoever
    /// waits as long as it says gets to an order.
    #[test]
    fn no_history_ends_the_renewals(events in proptest::collection::vec(event(), 0..40), draw in 0.0f64..1.0) {
        let seconds = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        let life = |from, length| Life { not_before: seconds(from), not_after: seconds(from + length) };
        let mut plan = Plan::default();
        let mut now = start();
        for event in events {
            match event {
                Event::Jump(to) => now = seconds(to),
                Event::Pass(passed) => now += Duration::from_secs(passed),
                Event::Found(from, length) => {
                    plan.found(life(from, length), draw, now);
                }
                Event::Obtained(from, length) => {
                    plan.obtained(life(from, length), draw, now);
                }
                Event::Suggested(start, length, again) => plan.suggested(
                    Window::new(seconds(start), seconds(start + length)),
                    again.map(Duration::from_secs),
                    now,
                ),
                Event::Failed(is_refusal, asked) => {
                    let retry_after = asked.map(Duration::from_secs);
                    plan.failed(Setback { is_refusal, retry_after }, now, draw);
                }
                Event::Processing(wait) => plan.processing(Duration::from_secs(wait), now),
                Event::Elsewhere => plan.ordered_elsewhere(now),
            }
            if let Step::Wait(wait) = plan.next(now) {
                prop_assert!(!wait.is_zero() && wait <= LONGEST_WAIT);
            }
        }
        let ends = plan.life().map_or(now, |life| life.not_after.max(now));
        now = ends;
        let mut waited = Duration::ZERO;
        while let step @ (Step::Ask | Step::Wait(_)) = plan.next(now) {
            match step {
                Step::Wait(wait) => {
                    now += wait;
                    waited += wait;
                }
                _ => plan.not_suggested(None, now),
            }
            prop_assert!(waited <= 2 * LONGEST_ASKED, "no order after the end of the certificate");
        }
    }
}

//! The promise of `fsp` and of `protective` over each order: nobody finishes later than under exact processor sharing
//! had nobody left, give or take a grant.

use std::time::Duration;

use super::support::{Link, Numbers, PAUSE, Request, mean_response, processor_sharing, request};
use proptest::prelude::*;
use weir_sched::{PolicyKind, policy};

/// A grant of 1 ms that was under way when a job arrived, and rounding.
const ONE_GRANT: f64 = 0.0011;

/// What leavers were not sent is nobody's slack any more, so of those who came before and after
/// them two may change places. Found by trying, not derived: in 20 000 cases 3.4 ms over `swift`, and less
/// than 3 ms over the other orders.
const WITH_LEAVERS: f64 = 0.01;
/// The same over `swift`: `large_ones_that_leave_make_others_late_over_swift_alone` has a trace of 10.2 ms.
const WITH_LEAVERS_OVER_SWIFT: f64 = 0.02;

fn with_leavers(policy: PolicyKind) -> f64 {
    match policy.to_string().as_str() {
        "protective/swift" => WITH_LEAVERS_OVER_SWIFT,
        _ => WITH_LEAVERS,
    }
}

fn promising() -> impl Iterator<Item = PolicyKind> {
    [policy::FSP, policy::PROTECTIVE].iter().chain(PolicyKind::ORDERS).copied()
}

fn traces(leavers: bool) -> impl Strategy<Value = Vec<Request>> {
    let one = (0.0..0.05_f64, 3.0..5.5_f64, 0.0..1.0_f64, 0.0..1.0_f64);
    prop::collection::vec(one, 1..60).prop_map(move |jobs| {
        let mut at = 0.0;
        jobs.into_iter()
            .map(|(gap, log_size, leaves, when)| {
                at += gap;
                let leaves = (leavers && leaves < 0.3).then_some(at + when);
                Request { leaves, ..request(at, 10f64.powf(log_size) as u64) }
            })
            .collect()
    })
}

fn worst_lateness(policy: PolicyKind, requests: &[Request]) -> f64 {
    worst_lateness_on(&Link::exact(policy), requests)
}

fn worst_lateness_on(link: &Link, requests: &[Request]) -> f64 {
    let fair = processor_sharing(requests);
    let finish = link.play(requests);
    let late = finish.iter().zip(fair).filter_map(|(real, fair)| real.map(|real| real - fair));
    late.fold(f64::NEG_INFINITY, f64::max)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn nobody_is_later_than_fair(requests in traces(false)) {
        for policy in promising() {
            let late = worst_lateness(policy, &requests);
            prop_assert!(late <= ONE_GRANT, "{policy}: {late}");
        }
    }

    #[test]
    fn nor_when_sockets_take_less_than_was_granted(requests in traces(false)) {
        for policy in promising() {
            let link = Link { half_of_every: 3, ..Link::exact(policy) };
            let late = worst_lateness_on(&link, &requests);
            prop_assert!(late <= ONE_GRANT, "{policy}: {late}");
        }
    }

    #[test]
    fn nor_when_the_starved_are_relieved(requests in traces(false)) {
        for policy in promising() {
            let starvation_interval = Some(Duration::from_millis(20));
            let late = worst_lateness_on(&Link { starvation_interval, ..Link::exact(policy) }, &requests);
            prop_assert!(late <= ONE_GRANT, "{policy}: {late}");
        }
    }

    #[test]
    fn nor_when_others_leave(requests in traces(true)) {
        for policy in promising() {
            let late = worst_lateness(policy, &requests);
            prop_assert!(late <= with_leavers(policy), "{policy}: {late}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// While slow clients come and go, nobody who keeps up is later than virtual fair sharing of
    /// the bytes that were sent by more than two of the times for which they take nothing; and
    /// those times do not make the slow late, only what they wait for their turn after each.
    #[test]
    fn nobody_pays_for_the_slow(requests in traces(false)) {
        let mut requests = requests;
        for (index, request) in requests.iter_mut().enumerate() {
            // Sizes tell responses apart in the ledger: the slow have odd ones.
            request.size = request.size / 2 * 2 + u64::from(index % 3 == 0);
        }
        let link = Link { slow_every: 3, ..Link::exact(policy::PROTECTIVE) };
        let (_, settled) = link.play_and_settle(&requests);
        prop_assert_eq!(settled.len(), requests.len());
        for one in &settled {
            let pauses = if one.size % 2 == 0 { 0.0 } else { one.size as f64 / 1000.0 };
            let tolerated = PAUSE.as_secs_f64() * (3.0 + pauses / 4.0);
            prop_assert!(one.won >= -tolerated, "{one:?}");
        }
    }
}

#[test]
fn large_ones_that_leave_make_others_late_over_swift_alone() {
    let one = |at: f64, size: u64, leaves: Option<f64>| Request { leaves, ..request(at, size) };
    let requests = [
        one(0.0, 275_086, Some(0.3901)),
        one(0.0, 79_618, Some(0.2763)),
        one(0.0137, 76_937, None),
        one(0.0586, 125_591, Some(0.1552)),
        one(0.0853, 1000, Some(0.0853)),
        one(0.1254, 12_993, Some(0.7191)),
        one(0.1524, 7870, Some(0.6745)),
        one(0.1796, 9914, Some(0.7796)),
        one(0.2143, 11_632, Some(0.8797)),
        one(0.2499, 1000, Some(0.6128)),
        one(0.2688, 7615, Some(1.2072)),
        one(0.3091, 7055, Some(0.5891)),
    ];
    for policy in promising() {
        let late = worst_lateness(policy, &requests);
        match with_leavers(policy) {
            WITH_LEAVERS => assert!(late <= ONE_GRANT, "{policy}: {late}"),
            limit => assert!(late > WITH_LEAVERS && late <= limit, "{policy}: {late}"),
        }
    }
}

#[test]
fn a_leaver_stays_in_the_virtual_server() {
    // The first is served until it leaves. Had the virtual server forgotten it then, the third
    // would share with fewer there, finish before the second, and be sent first: too late for the
    // second, whose fair finish counts the first as staying.
    let unit = 100_000;
    let first = Request { leaves: Some(0.9), ..request(0.0, 10 * unit) };
    let requests = [first, request(0.0, 11 * unit), request(0.9, 6 * unit), request(1.2, 5 * unit)];
    for policy in promising() {
        assert!(worst_lateness(policy, &requests) <= ONE_GRANT, "{policy}");
    }
}

#[test]
fn after_an_idle_time_leavers_do_not_weaken_the_promise() {
    // 300 KB leave at once; fair sharing would still be at them until 0.3 s. What arrives at 1 s
    // has the link for itself, virtually too.
    let gone = Request { leaves: Some(0.01), ..request(0.0, 300_000) };
    let requests = [gone, request(1.0, 100_000), request(1.0, 110_000), request(1.1, 20_000)];
    for policy in promising() {
        assert!(worst_lateness(policy, &requests) <= ONE_GRANT, "{policy}");
    }
}

#[test]
fn a_share_missed_early_is_not_paid_for_late() {
    // Few are here when the first jobs arrive and hundreds when they finish, at twice what the
    // link can do: an error of a grant at the arrival would grow with their number.
    for seed in 0..20 {
        let mut numbers = Numbers(seed);
        let mut at = 0.0;
        let mut next = || {
            at += numbers.unit() * 0.05;
            request(at, 10f64.powf(3.0 + 2.5 * numbers.unit()) as u64)
        };
        let requests: Vec<Request> = (0..600).map(|_| next()).collect();
        for policy in promising() {
            let late = worst_lateness(policy, &requests);
            assert!(late <= ONE_GRANT, "seed {seed} {policy}: {late}");
        }
    }
}

#[test]
fn shortest_first_alone_breaks_the_promise() {
    // That the measure above can fail.
    let requests = Numbers(1).heavy_tailed(1.1, 10.0);
    assert!(worst_lateness(policy::SRPT, &requests) > 0.1);
}

#[test]
fn the_promise_costs_little_of_the_mean() {
    for seed in 1..=3 {
        let mut requests = Numbers(seed).heavy_tailed(1.2, 5.0);
        requests.extend(
            Numbers(seed + 10).heavy_tailed(0.2, 5.0).iter().map(|r| request(r.at + 5.0, r.size)),
        );
        let mean = |policy| mean_response(&requests, &Link::exact(policy).play(&requests));
        let (srpt, protective, fsp, fair) =
            (mean(policy::SRPT), mean(policy::PROTECTIVE), mean(policy::FSP), mean(policy::FAIR));
        assert!(protective <= 1.10 * srpt, "seed {seed}: {protective} {srpt}");
        assert!(fsp <= 1.2 * srpt, "seed {seed}: {fsp} {srpt}");
        assert!(fair >= 2.0 * srpt, "seed {seed}: {fair} {srpt}");
        assert!(worst_lateness(policy::PROTECTIVE, &requests) <= ONE_GRANT, "seed {seed}");
    }
}

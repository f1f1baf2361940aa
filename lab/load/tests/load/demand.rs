//! Open, closed and saturating demand: what may wait for what.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};

use crate::scripted::{Act, Server, answer, count, open, plan, play, request, requests};
use weir_load::{Demand, Live, Step, Users, run};
use weir_stats::Outcome;

#[test]
fn open_demand_starts_whatever_became_of_the_others() {
    // Nobody is answered before all have asked.
    let all = Arc::new(Barrier::new(50));
    let server = Server::start(move |_| Act::Meet(Arc::clone(&all), answer(4)));
    let asked = (0..50).map(|index| request(f64::from(index) * 1e-3, "/", 4)).collect();
    let (report, records) = open(&plan(server.address), asked);
    assert_eq!(count(&records, Outcome::Ok), 50);
    assert_eq!(report.most_open, 50);
    assert!(records.iter().all(|record| record.lag() >= 0.0), "nothing starts early");
}

#[test]
fn the_duration_cuts_an_endless_workload() {
    let server = Server::start(|_| Act::Send(answer(4)));
    let mut plan = plan(server.address);
    plan.duration = Some(0.3);
    let endless = (0..).map(|index| request(f64::from(index) * 1e-3, "/", 4));
    let (_, records) = play(&plan, Demand::Open(Box::new(endless)));
    assert_eq!(count(&records, Outcome::Ok), 300);
    let endless = std::iter::repeat_with(|| request(0.0, "/", 4));
    let (_, records) = play(&plan, Demand::Saturate(Box::new(endless), 3));
    assert!(!records.is_empty());
    assert_eq!(count(&records, Outcome::Ok), records.len());
    assert!(records.iter().all(|record| record.scheduled < 0.3));
}

#[test]
fn a_stuck_server_does_not_prolong_a_saturating_run() {
    let server = Server::start(|_| Act::Stall);
    let mut plan = plan(server.address);
    (plan.duration, plan.drain) = (Some(0.3), 0.02);
    let endless = std::iter::repeat_with(|| request(0.0, "/", 4));
    let (_, records) = play(&plan, Demand::Saturate(Box::new(endless), 3));
    assert_eq!(count(&records, Outcome::Unfinished), 3);
    let (_, records) = play(&plan, Demand::Closed(Box::new(Hasty::new(3))));
    assert_eq!(count(&records, Outcome::Unfinished), 3);
}

#[test]
fn saturation_keeps_so_many_under_way() {
    // Each answer takes 8 requests under way; more than 8 would be seen in `most_open`.
    let eight = Arc::new(Barrier::new(8));
    let server = Server::start(move |_| Act::Meet(Arc::clone(&eight), answer(4)));
    let mut plan = plan(server.address);
    plan.requests_per_connection = 1000;
    let (report, records) = play(&plan, Demand::Saturate(Box::new(requests(800).into_iter()), 8));
    assert_eq!(count(&records, Outcome::Ok), 800);
    assert_eq!((report.most_open, report.connections), (8, 8));
}

/// Users who do not think.
struct Hasty {
    users: u32,
    asked: Arc<AtomicUsize>,
}

impl Hasty {
    fn new(users: u32) -> Hasty {
        Hasty { users, asked: Arc::default() }
    }
}

impl Users for Hasty {
    fn count(&self) -> u32 {
        self.users
    }

    fn next(&mut self, user: u32) -> Step {
        self.asked.fetch_add(1, Ordering::Relaxed);
        let mut request = request(1e9, "/", 4);
        request.client = user;
        Step { think: 0.0, request }
    }
}

#[test]
fn a_closed_loop_has_each_user_once_under_way() {
    // Each answer takes 4 requests under way.
    let four = Arc::new(Barrier::new(4));
    let server = Server::start(move |_| Act::Meet(Arc::clone(&four), answer(4)));
    let mut plan = plan(server.address);
    plan.requests_per_connection = 1000;
    let users = Hasty::new(4);
    let asked = Arc::clone(&users.asked);
    let live = Live::default();
    let mut records = Vec::new();
    let report = run(&plan, Demand::Closed(Box::new(users)), &live, &mut |record| {
        records.push(record);
        if records.len() == 400 {
            live.stop.store(true, Ordering::Relaxed);
        }
    });
    let report = report.expect("a run");
    assert_eq!(report.most_open, 4);
    assert_eq!(count(&records[..400], Outcome::Ok), 400);
    assert!(count(&records[400..], Outcome::Unfinished) <= 4);
    assert_eq!(asked.load(Ordering::Relaxed), 404, "a step after each end, and the first ones");
}

#[test]
fn a_user_thinks_before_he_asks() {
    struct Thinker;
    impl Users for Thinker {
        fn count(&self) -> u32 {
            1
        }
        fn next(&mut self, _: u32) -> Step {
            Step { think: 0.02, request: request(0.0, "/", 4) }
        }
    }
    let server = Server::start(|_| Act::Send(answer(4)));
    let mut plan = plan(server.address);
    plan.duration = Some(0.09);
    let (_, records) = play(&plan, Demand::Closed(Box::new(Thinker)));
    assert!((1..=4).contains(&records.len()), "{records:?}");
    let mut end = 0.0;
    for record in records {
        assert!(record.scheduled >= end + 0.02 - 1e-9, "{record:?} after {end}");
        end = record.last_byte.expect("it is answered");
    }
}

#[test]
fn a_run_can_be_stopped_and_watched() {
    let server = Server::start(|seen| match seen.total {
        0..=4 => Act::Send(answer(4)),
        _ => Act::Stall,
    });
    let plan = plan(server.address);
    let endless = (0..).map(|index| request(f64::from(index) * 1e-3, "/", 4));
    let live = Live::default();
    let mut records = Vec::new();
    let report = std::thread::scope(|scope| {
        scope.spawn(|| {
            while live.complete.load(Ordering::Relaxed) < 5
                || live.started.load(Ordering::Relaxed) < 8
            {
                std::thread::yield_now();
            }
            live.stop.store(true, Ordering::Relaxed);
        });
        run(&plan, Demand::Open(Box::new(endless)), &live, &mut |record| records.push(record))
    });
    let report = report.expect("a run");
    assert_eq!(count(&records, Outcome::Ok), 5);
    assert_eq!(count(&records, Outcome::Unfinished), records.len() - 5);
    let get = |count: &std::sync::atomic::AtomicU64| count.load(Ordering::Relaxed) as usize;
    assert_eq!(get(&live.started), records.len());
    assert_eq!((get(&live.complete), get(&live.failed)), (5, records.len() - 5));
    assert_eq!(get(&live.bytes) as u64, report.head_bytes + report.body_bytes);
    assert_eq!(get(&live.open), 0);
}

#[test]
fn what_cannot_be_run_is_said() {
    let server = Server::start(|_| Act::Send(answer(4)));
    let failure = |plan: &weir_load::Plan, under_way| {
        let demand = Demand::Saturate(Box::new(requests(1).into_iter()), under_way);
        let result = run(plan, demand, &Live::default(), &mut |_| {});
        result.map_err(|error| error.to_string()).expect_err("it cannot be run")
    };
    let good = plan(server.address);
    assert!(failure(&good, 0).contains("at least 1"));
    let hasty = weir_load::Plan { abort_after: Some(0.0), ..good.clone() };
    assert!(failure(&hasty, 1).contains("patience"));
    let endless = weir_load::Plan { drain: f64::NAN, ..good };
    assert!(failure(&endless, 1).contains("drain"));
}

//! Three clients, followed by hand: A comes at 0 and takes 2 s, B at 0.5 and C at 0.6 take 1 s
//! each. They have a patience of 3 s, until 3, 3.5 and 3.6.

use weir_sched::{BackendConfig, BackendOrder};

use super::super::run::run_with;
use super::super::{Model, Tally, model};
use super::{assert_near, bytes_are_seconds, plain_gate};

const CLIENTS: [(f64, f64); 3] = [(0.0, 2.0), (0.5, 1.0), (0.6, 1.0)];

fn run(model: Model) -> Tally {
    let prepared = model.prepare().expect("valid parameters");
    let clients = CLIENTS.map(|(at, size)| (model::time(at), size));
    let tally = run_with(&prepared, clients.into_iter());
    assert_eq!((tally.faults, tally.unfinished), (0, 0));
    assert_eq!(tally.counts.clients, [3, 0, 0, 0]);
    tally
}

#[test]
fn first_come_first_served_works_for_who_has_left() {
    // A until 2, B until 3, C until 4; C leaves at 3.6.
    let tally = run(bytes_are_seconds(3.0, plain_gate(1)));
    assert_eq!((tally.counts.successful[0], tally.counts.timed_out, tally.refused), (2, 1, 0));
    assert_eq!((tally.counts.tries, tally.started, tally.left_under_way), (3, 3, 1));
    assert_near("useful", tally.counts.useful_seconds, 3.0, 1e-6);
    assert_near("wasted", tally.wasted_seconds, 1.0, 1e-6);
    assert_near("busy", tally.counts.busy_seconds, 4.0, 1e-6);
    assert_near("responses", tally.counts.response_seconds, 2.0 + 2.5, 1e-6);
    assert_eq!((tally.limits.as_slice(), tally.most_waiting), ([1].as_slice(), 3));
    assert_near("limit", tally.limit_seconds, 10.0, 1e-6);
}

#[test]
fn newest_first_serves_c_before_b() {
    // C from 2 to 3; B from 3 to 4, leaves at 3.5.
    let gate = BackendConfig { order: BackendOrder::NewestFirst, ..plain_gate(1) };
    let tally = run(bytes_are_seconds(3.0, gate));
    assert_eq!((tally.counts.successful[0], tally.left_under_way), (2, 1));
    assert_near("responses", tally.counts.response_seconds, 2.0 + 2.4, 1e-6);
}

#[test]
fn who_leaves_the_queue_costs_nothing() {
    // B leaves at 2.5 while it is served, C at 2.6 from the queue.
    let tally = run(bytes_are_seconds(2.0 + 1e-9, plain_gate(1)));
    assert_eq!((tally.counts.successful[0], tally.left_under_way, tally.started), (1, 1, 2));
    assert_near("busy", tally.counts.busy_seconds, 3.0, 1e-6);
}

#[test]
fn who_left_asks_again() {
    // C again from 3.6; the first request of C is worked on until 4, the second until 5.
    let tally = run(Model { retries: 1, ..bytes_are_seconds(3.0, plain_gate(1)) });
    assert_eq!(
        (tally.counts.successful[0], tally.counts.tries, tally.counts.tries_timed_out),
        (3, 4, 1)
    );
    assert_near("responses", tally.counts.response_seconds, 2.0 + 2.5 + 4.4, 1e-6);
    assert_near("answers", tally.answer_seconds, 2.0 + 2.5 + 1.4, 1e-6);
    assert_near("wasted", tally.wasted_seconds, 1.0, 1e-6);
}

#[test]
fn a_gap_is_lost_with_a_limit_of_one_and_hidden_with_two() {
    // A is worked on from 0.25 to 2.25, B from 2.5 to 3.5, exactly in time; C is on its way when it
    // leaves.
    let tally = run(Model { gap: 0.25, ..bytes_are_seconds(3.0, plain_gate(1)) });
    assert_eq!((tally.counts.successful[0], tally.left_under_way), (2, 1));
    assert_near("responses", tally.counts.response_seconds, 2.25 + 3.0, 1e-6);
    // B waits for A at the application: from 2.25 to 3.25. C is there at 2.5.
    let tally = run(Model { gap: 0.25, ..bytes_are_seconds(3.0, plain_gate(2)) });
    assert_near("responses", tally.counts.response_seconds, 2.25 + 2.75, 1e-6);
    assert_near("busy", tally.counts.busy_seconds, 4.0, 1e-6);
}

#[test]
fn two_workers_do_two_things_at_a_time() {
    // A until 2, B until 1.5, C from then until 2.5.
    let tally = run(Model { workers: 2, ..bytes_are_seconds(3.0, plain_gate(3)) });
    assert_eq!(tally.counts.successful[0], 3);
    assert_near("responses", tally.counts.response_seconds, 2.0 + 1.0 + 1.9, 1e-6);
}

#[test]
fn who_is_refused_comes_again_if_it_may() {
    let gate = BackendConfig { max_queue: 1, ..plain_gate(1) };
    let tally = run(bytes_are_seconds(3.0, gate));
    assert_eq!((tally.counts.successful[0], tally.refused, tally.counts.tries), (2, 1, 3));
    let again = Model { retries: 1, retry_refused: true, ..bytes_are_seconds(3.0, gate) };
    let tally = run(again);
    assert!(tally.tries_refused >= 1 && tally.counts.tries == 4, "{tally:?}");
    assert_eq!(tally.counts.successful[0] + tally.refused + tally.counts.timed_out, 3);
}

//! Every policy on the worked case: jobs (arrival, size) (0,4) (1,2) (2,1) on a unit server.

use super::support::{LINK, Link, processor_sharing, request};
use weir_sched::{PolicyKind, policy};

const CASE: [(f64, u64); 3] = [(0.0, 4), (1.0, 2), (2.0, 1)];

fn finishes(policy: PolicyKind) -> Vec<f64> {
    let requests = CASE.map(|(at, size)| request(at, size * LINK));
    let finish = Link::exact(policy).play(&requests);
    finish.into_iter().map(|f| (f.expect("nobody leaves") * 100.0).round() / 100.0).collect()
}

#[test]
fn fifo() {
    assert_eq!(finishes(policy::FIFO), [4.0, 6.0, 7.0]);
}

#[test]
fn fair_is_processor_sharing() {
    assert_eq!(finishes(policy::FAIR), [7.0, 6.0, 5.0]);
    let requests = CASE.map(|(at, size)| request(at, size * LINK));
    assert_eq!(processor_sharing(&requests), [7.0, 6.0, 5.0]);
}

#[test]
fn srpt_keeps_the_running_job_on_a_tie() {
    assert_eq!(finishes(policy::SRPT), [7.0, 3.0, 4.0]);
}

#[test]
fn protective_is_srpt_here() {
    assert_eq!(finishes(policy::PROTECTIVE), [7.0, 3.0, 4.0]);
}

#[test]
fn psjf() {
    assert_eq!(finishes(policy::PSJF), [7.0, 4.0, 3.0]);
}

#[test]
fn fsp() {
    assert_eq!(finishes(policy::FSP), [7.0, 4.0, 3.0]);
}

#[test]
fn las() {
    assert_eq!(finishes(policy::LAS), [7.0, 5.0, 3.0]);
}

#[test]
fn bands_serve_the_least_class_first_and_in_order_inside() {
    let requests = [
        request(0.0, 90_000),
        request(0.001, 60_000),
        request(0.002, 4_500),
        request(0.003, 4_000),
    ];
    let finish = Link::exact(policy::BANDS).play(&requests);
    let mut order: Vec<usize> = (0..4).collect();
    order.sort_by(|&a, &b| finish[a].partial_cmp(&finish[b]).unwrap());
    assert_eq!(order, [2, 3, 0, 1]);
}

#[test]
fn ageing_lets_a_large_job_pass_once_it_has_waited() {
    // 100 KB are worth one second of waiting; small jobs keep arriving at load 1.
    let mut requests = vec![request(0.0, 100_000)];
    requests.extend((0..3000).map(|i| request(f64::from(i) * 0.001, 1000)));
    let aged = Link::exact(policy::AGEING).play(&requests)[0].unwrap();
    let starved = Link::exact(policy::SRPT).play(&requests)[0].unwrap();
    assert!(aged < 1.3, "{aged}");
    assert!(starved > 3.0, "{starved}");
}

//! The values of the paper's model at 300 % load, without retries.

use super::{assert_near, paper, results};
use crate::dtoc::Strategy::{self, *};

fn useful(strategy: Strategy, timeout: f64, wanted: f64, within: f64) {
    let found = results(paper(300.0, timeout, strategy, 4000.0), 6).useful_percent;
    assert_near(&format!("{strategy}, {timeout} s"), found, wanted, within);
}

#[test]
fn the_check_at_dequeue() {
    useful(Check, 5.0, 85.6, 1.0);
    useful(Check, 8.0, 95.1, 1.0);
    useful(Check, 9.0, 96.6, 1.0);
    useful(Check, 10.0, 97.8, 1.0);
}

#[test]
fn the_regular_server() {
    useful(Regular, 5.0, 0.0, 0.0);
    useful(Regular, 8.0, 1.9, 0.5);
    useful(Regular, 9.0, 14.4, 1.5);
    useful(Regular, 10.0, 43.6, 3.0);
}

#[test]
fn count_and_work_under_each_strategy() {
    for (strategy, count, count_within, work, work_within) in [
        (Check, 85.6, 1.0, 43.0, 1.5),
        (Abort, 171.0, 1.0, 66.0, 1.5),
        (SrptPurge, 272.0, 1.0, 98.6, 0.6),
        (Lifo, 100.0, 1.5, 99.3, 0.5),
        (Drop, 194.1, 1.5, 98.9, 0.5),
    ] {
        let found = results(paper(300.0, 5.0, strategy, 2000.0), 4);
        let name = strategy.name();
        assert_near(&format!("{name}, count"), found.useful_percent, count, count_within);
        assert_near(&format!("{name}, work"), found.useful_work_percent, work, work_within);
        let in_service = found.in_service_timeout_percent.expect("requests were begun");
        let never = matches!(strategy, SrptPurge | Lifo | Drop);
        assert_eq!(in_service < 0.1, never, "{name}: {in_service} % left in service");
    }
}

#[test]
fn nobody_does_more_than_the_shortest_could() {
    let model = paper(300.0, 5.0, SrptPurge, 2000.0);
    let (law, mean) = (model.law.clone(), model.law.mean());
    // In % of capacity: the requests of the smallest sizes that use up the server.
    let (mut work, mut bound) = (100.0, 0.0);
    for size in law.sizes().expect("36 sizes") {
        let offered = 300.0 * law.mean_of(&|other| f64::from(other == size));
        let taken = offered.min(work * mean / size as f64);
        bound += taken;
        work -= taken * size as f64 / mean;
    }
    assert_near("the bound", bound, 272.9, 0.1);
    let free = results(super::Model { check_cost: 0.0, ..model.clone() }, 4);
    assert_near("without the cost of the check", free.useful_percent, bound, 0.3);
    let paid = free.useful_work_percent - results(model, 4).useful_work_percent;
    assert_near("what 272 checks of 0.05 ms take", paid, 1.36, 0.15);
}

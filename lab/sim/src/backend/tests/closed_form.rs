//! With first come first served, clients who never leave and a fixed limit, an exclusive
//! application is M/G/1, wherever its queue is: in the gate, in the application, or in both.

use weir_workload::law::{Law, carter};
use weir_workload::shape::Shape;

use super::{Model, assert_near, plain_gate, results};
use crate::model::mg1::{Mg1, Order};

fn patient(load: f64, limit: u32, gap: f64) -> Model {
    Model {
        gate: plain_gate(limit),
        gap,
        duration: 1500.0,
        ..Model::new(Shape::constant(load).expect("a load"), f64::INFINITY)
    }
}

#[test]
fn mean_response_times_are_those_of_pollaczek_and_khinchine() {
    let law = carter();
    for (load, limit) in [(0.5, 1), (0.7, 3), (0.7, 100_000)] {
        let model = Mg1::new(&law, load).expect("below 1");
        let wanted =
            model.mean_response(Order::Fifo).expect("a tail that ends") / law.mean() / 100.0;
        let found = results(patient(load, limit, 0.0), 16);
        let mean = found.mean_response_seconds.expect("clients");
        let within = found.mean_response_seconds_ci95.expect("repetitions");
        assert!(within < 0.25 * wanted, "{found:?}");
        assert_near(&format!("load {load}, limit {limit}"), mean, wanted, within);
        assert_eq!(found.success_percent, Some(100.0), "{found:?}");
        assert_near("utilisation", found.utilisation_percent, 100.0 * load, 2.5);
        assert_eq!((found.faults, found.wasted_work_percent), (0, 0.0));
    }
}

#[test]
fn with_a_limit_of_one_a_gap_is_service() {
    let (law, load, gap) = (carter(), 0.5, 0.002);
    let rate = 100.0 * load;
    let service = |size: u64| size as f64 / law.mean() / 100.0 + gap;
    let (first, second) = (law.mean_of(&service), law.mean_of(&|size| service(size).powi(2)));
    let wanted = first + rate * second / (2.0 * (1.0 - rate * first));
    let found = results(patient(load, 1, gap), 16);
    let within = found.mean_response_seconds_ci95.expect("repetitions");
    assert!(within < 0.25 * wanted, "{found:?}");
    assert_near("mean", found.mean_response_seconds.expect("clients"), wanted, within);
    // A limit of two hides most of what that costs.
    let mean = |limit, gap| results(patient(load, limit, gap), 4).mean_response_seconds;
    let [one, two, none] = [(1, gap), (2, gap), (1, 0.0)].map(|(limit, gap)| mean(limit, gap));
    let [one, two, none] = [one, two, none].map(|mean| mean.expect("clients"));
    assert!(two > none && two - none < 0.3 * (one - none), "{one}, {two}, {none}");
}

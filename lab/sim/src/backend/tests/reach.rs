//! What the gate has to reach with clients that leave after 5 s: useful work and fairness to sizes
//! at any overload, nothing refused without, and recovery at once.

use weir_sched::{BackendConfig, BackendOrder};
use weir_workload::shape::Shape;

use super::super::LoadDrop;
use super::{Model, results};

fn at(load: f64, retries: u32) -> Model {
    let shape = Shape::constant(load / 100.0).expect("a load");
    Model { retries, duration: 300.0, ..Model::new(shape, 5.0) }
}

#[test]
fn overload_loses_no_work() {
    for (load, retries) in [(150.0, 0), (300.0, 0), (150.0, 1), (300.0, 1)] {
        let found = results(at(load, retries), 6);
        let case = format!("{load} %, {retries} retries: {found:?}");
        assert!(found.useful_work_percent >= 98.0, "{case}");
        assert!(found.mean_answer_seconds.expect("answers") < 0.3 || load < 300.0, "{case}");
        assert_eq!(found.faults, 0, "{case}");
    }
}

#[test]
fn shortest_expected_answers_more() {
    let gate = BackendConfig { order: BackendOrder::ShortestExpected, ..BackendConfig::default() };
    let found = results(Model { gate, ..at(300.0, 0) }, 6);
    assert!(found.useful_percent >= 200.0, "{found:?}");
    assert!(found.useful_work_percent >= 97.0, "{found:?}");
}

#[test]
fn without_overload_nobody_is_refused() {
    let found = results(at(90.0, 0), 6);
    assert_eq!(found.refused_percent, Some(0.0), "{found:?}");
}

#[test]
fn recovery_is_at_once() {
    let drop = Some(LoadDrop { load: 0.5, watched: 20.0 });
    let found = results(Model { drop, ..at(300.0, 0) }, 16).recovery.expect("newcomers");
    assert!(found.recovery_seconds.is_some_and(|seconds| seconds < 1.0), "{found:?}");
    assert!(found.usual_response_seconds < 0.2, "{found:?}");
}

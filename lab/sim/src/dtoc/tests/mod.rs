//! Carter's model against reference values, a closed form, and what must hold in any case.

mod closed_form;
mod figures;
mod properties;
mod reference;

use weir_workload::shape::Shape;

use super::{Model, Results, Strategy};
use crate::replications;

/// The paper's server at a constant load in %, watched for `duration` after a warm-up that is
/// enough far above capacity.
fn paper(load: f64, timeout: f64, strategy: Strategy, duration: f64) -> Model {
    let shape = Shape::constant(load / 100.0).expect("a load");
    Model { warm_up: 300.0, duration, ..Model::new(shape, timeout, strategy) }
}

fn results(model: Model, repetitions: usize) -> Results {
    let prepared = model.prepare().expect("valid parameters");
    let tallies = replications::run(repetitions, 1, |seed| prepared.run(seed));
    Results::new(prepared.model(), &tallies).expect("repetitions")
}

#[track_caller]
fn assert_near(what: &str, found: f64, wanted: f64, within: f64) {
    assert!((found - wanted).abs() <= within, "{what}: {found}, wanted {wanted} ± {within}");
}

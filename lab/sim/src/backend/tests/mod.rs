//! The application behind the gate against traces followed by hand, closed forms, what must hold in
//! any case, and what the gate has to reach.

mod by_hand;
mod closed_form;
mod properties;
mod reach;

use std::sync::Arc;
use std::time::Duration;

use weir_sched::{BackendConfig, BackendOrder, CallLimit};
use weir_workload::law::Deterministic;
use weir_workload::shape::Shape;

use super::{Model, Results};

/// A gate that lets through as many as `limit` in order of arrival, and refuses nobody.
fn plain_gate(limit: u32) -> BackendConfig {
    BackendConfig {
        limit: CallLimit::Fixed(limit),
        order: BackendOrder::Fifo,
        max_queue: 1_000_000,
        queue_timeout: Duration::from_secs(1_000_000),
    }
}

/// Bytes are seconds: a worker takes a second for a byte.
fn bytes_are_seconds(patience: f64, gate: BackendConfig) -> Model {
    Model {
        law: Arc::new(Deterministic { size: 1.0 }),
        service_rate: 1.0,
        gap: 0.0,
        gate,
        warm_up: 0.0,
        duration: 10.0,
        ..Model::new(Shape::constant(1.0).expect("a load"), patience)
    }
}

fn results(model: Model, repetitions: usize) -> Results {
    let prepared = model.prepare().expect("valid parameters");
    prepared.repeat(repetitions, 1).expect("repetitions")
}

#[track_caller]
fn assert_near(what: &str, found: f64, wanted: f64, within: f64) {
    assert!((found - wanted).abs() <= within, "{what}: {found}, wanted {wanted} ± {within}");
}

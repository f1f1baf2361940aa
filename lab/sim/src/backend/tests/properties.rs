//! What holds whatever the parameters.

use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::{
    Just, ProptestConfig, Strategy, any, prop_assert, prop_assert_eq, prop_oneof, proptest,
};
use weir_sched::{BackendConfig, BackendOrder, CallLimit};
use weir_workload::law::Exponential;
use weir_workload::shape::Shape;

use super::super::model::LONGEST_RETRY_AFTER;
use super::super::{LoadDrop, Model, Tally};
use super::{assert_near, results};
use crate::dtoc;

fn gate() -> impl Strategy<Value = BackendConfig> {
    let limit = prop_oneof![Just(CallLimit::Auto), (1..20_u32).prop_map(CallLimit::Fixed)];
    let order = (0..BackendOrder::ALL.len()).prop_map(|place| BackendOrder::ALL[place]);
    (limit, order, 1..2000_usize, 0.05..60.0_f64).prop_map(|(limit, order, most, longest)| {
        BackendConfig {
            limit,
            order,
            max_queue: most,
            queue_timeout: Duration::from_secs_f64(longest),
        }
    })
}

fn model() -> impl Strategy<Value = Model> {
    (
        (0.1..5.0_f64, 0.02..6.0_f64, 0..4_u32, 1..4_u32),
        (0.0..0.05_f64, 0.0..10.0_f64, gate()),
        (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>()),
    )
        .prop_map(
            |(
                (load, patience, retries, workers),
                (gap, warm_up, gate),
                (steps, retry_refused, one_address, known, drops),
            )| {
                let mut model = Model::new(Shape::constant(load).expect("a load"), patience);
                if !steps {
                    model.law = Arc::new(Exponential { mean: 10.0 });
                }
                Model {
                    workers,
                    gap,
                    retries,
                    retry_refused: retry_refused && retries > 0,
                    one_address,
                    known,
                    gate,
                    warm_up,
                    duration: 20.0,
                    interval: Some(3.0),
                    drop: drops.then_some(LoadDrop { load: 0.4, watched: 5.0 }),
                    ..model
                }
            },
        )
}

fn run(model: &Model, seed: u64) -> Tally {
    model.clone().prepare().expect("valid parameters").run(seed)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn every_client_and_every_request_ends_once(model in model(), seed: u64) {
        let tally = run(&model, seed);
        let clients: u64 = tally.counts.clients.iter().sum();
        let successful: u64 = tally.counts.successful.iter().sum();
        prop_assert_eq!((tally.faults, tally.unfinished), (0, 0));
        prop_assert_eq!(clients, successful + tally.refused + tally.counts.timed_out);
        prop_assert_eq!(tally.counts.tries, successful + tally.tries_refused + tally.counts.tries_timed_out);
        prop_assert_eq!(tally.started, successful + tally.left_under_way);
        prop_assert!(tally.left_under_way <= tally.counts.tries_timed_out);
        prop_assert!(tally.counts.tries <= clients * (u64::from(model.retries) + 1));
        for (successful, clients) in tally.counts.successful.iter().zip(tally.counts.clients) {
            prop_assert!(*successful <= clients);
        }
        let newcomers: u64 = tally.newcomers.iter().map(|step| step.clients).sum();
        prop_assert_eq!(newcomers > 0, model.drop.is_some());
    }

    #[test]
    fn time_and_patience_have_their_bounds(model in model(), seed: u64) {
        let tally = run(&model, seed);
        let (near, successful) = (1.0 + 1e-9, tally.counts.successful.iter().sum::<u64>() as f64);
        let later = if model.retry_refused { LONGEST_RETRY_AFTER } else { 0.0 };
        let whole = model.whole_patience() + f64::from(model.retries) * later;
        prop_assert!(tally.counts.busy_seconds <= tally.counts.seconds * f64::from(model.workers) * near);
        prop_assert!(tally.counts.useful_seconds <= tally.work_seconds * near);
        prop_assert!(tally.counts.useful_seconds <= tally.answer_seconds * near);
        prop_assert!(tally.answer_seconds <= successful * (model.patience + 1e-8));
        prop_assert!(tally.counts.response_seconds <= successful * (whole + 1e-8));
        if let CallLimit::Fixed(limit) = model.gate.limit {
            assert_near("limit", tally.limit_seconds, f64::from(limit) * tally.counts.seconds, 1e-6);
        }
    }

    #[test]
    fn a_seed_is_a_run_and_every_gate_meets_the_same_clients(model in model(), seed: u64) {
        let tally = run(&model, seed);
        prop_assert_eq!(&run(&model, seed), &tally);
        // Those of Carter's model too. The exact moments are rounded to nanoseconds.
        let other = dtoc::Model {
            law: model.law.clone(),
            service_rate: model.capacity(),
            warm_up: model.warm_up,
            duration: model.duration,
            ..dtoc::Model::new(model.shape.clone(), model.patience, dtoc::Strategy::Check)
        };
        let other = other.prepare().expect("valid parameters").run(seed);
        prop_assert_eq!(other.counts.clients, tally.counts.clients);
    }
}

#[test]
fn intervals_follow_the_load() {
    let shape = Shape::parse("50s@0.5,50s@0").expect("a shape");
    let model =
        Model { warm_up: 0.0, duration: 395.0, interval: Some(10.0), ..Model::new(shape, 5.0) };
    let tally = run(&model, 3);
    assert_eq!(tally.counts.intervals.len(), 40);
    for (place, count) in tally.counts.intervals.iter().enumerate() {
        match place % 10 {
            0..=4 => assert!((350..=650).contains(count), "interval {place}: {count}"),
            5 => assert!(*count < 100, "interval {place}: {count}"),
            _ => assert_eq!(*count, 0, "interval {place}"),
        }
    }
}

#[test]
fn below_overload_the_gate_is_not_noticed() {
    let found = results(Model::new(Shape::constant(0.4).expect("a load"), 5.0), 2);
    assert!(found.success_percent.expect("clients") > 99.9, "{found:?}");
    assert_near("utilisation", found.utilisation_percent, 40.0, 3.0);
}

#[test]
fn invalid_parameters_are_refused() {
    let good = Model::new(Shape::constant(3.0).expect("a load"), 5.0);
    let refused = |change: fn(&mut Model), part: &str| {
        let mut model = good.clone();
        change(&mut model);
        let error = model.prepare().expect_err(part).0;
        assert!(error.contains(part), "{part:?} is not in {error}");
    };
    refused(|model| model.patience = 0.0, "patience is 0 seconds");
    refused(|model| model.patience = f64::NAN, "patience is NaN");
    refused(|model| model.workers = 0, "number of workers is 0");
    refused(|model| model.gap = -1.0, "hand-over gap is -1");
    refused(|model| model.duration = 0.0, "duration");
    refused(|model| model.warm_up = f64::INFINITY, "warm-up");
    refused(|model| model.service_rate = 0.0, "service rate");
    refused(|model| model.interval = Some(0.0), "interval");
    refused(|model| model.retries = 1001, "number of retries");
    refused(|model| model.retry_refused = true, "at least one retry");
    refused(|model| (model.service_rate, model.duration) = (1e6, 1e6), "retries included");
    let drop = |load| Some(LoadDrop { load, watched: 10.0 });
    refused(
        |model| model.drop = Some(LoadDrop { load: 0.5, watched: 0.5 }),
        "newcomers are watched",
    );
    let mut model = Model { drop: drop(0.0), ..good.clone() };
    assert!(model.clone().prepare().is_err_and(|error| error.0.contains("load after the drop")));
    model.drop = drop(0.5);
    assert!(model.clone().prepare().is_ok() && good.prepare().is_ok());
    let patient = Model { patience: f64::INFINITY, ..model.clone() };
    assert!(patient.prepare().is_err_and(|error| error.0.contains("with a patience")));
    model.shape = Shape::parse("5s@3,5s@1").expect("a shape");
    assert!(model.prepare().is_err_and(|error| error.0.contains("must be constant")));
}

//! What holds whatever the parameters.

use std::sync::Arc;

use proptest::prelude::{ProptestConfig, any, prop_assert, prop_assert_eq, proptest};
use proptest::strategy::Strategy as Draw;
use weir_workload::law::{self, Exponential};
use weir_workload::shape::Shape;

use super::{Model, paper, results};
use crate::dtoc::Strategy::{self, *};
use crate::dtoc::Tally;
use crate::impatient::{Sizes, Stream};

fn model() -> impl Draw<Value = Model> {
    (
        (0.1..6.0_f64, 0.0..3.0_f64, 0.02..6.0_f64),
        (0..60_usize, 0..4_u32, 0..Strategy::ALL.len(), any::<bool>()),
        (0.0..0.5_f64, 0.0..=1.0_f64, 0.0..20.0_f64),
    )
        .prop_map(
            |((load, other, timeout), (queue, retries, strategy, steps), (cost, above, warm))| {
                let shape = Shape::parse(&format!("7s@{load},3s@{other}")).expect("a shape");
                let mut model = Model::new(shape, timeout, Strategy::ALL[strategy]);
                if !steps {
                    model.law = Arc::new(Exponential { mean: 10.0 });
                }
                Model {
                    queue,
                    retries,
                    check_cost: cost,
                    check_above: above,
                    warm_up: warm,
                    duration: 60.0,
                    interval: Some(7.0),
                    ..model
                }
            },
        )
}

fn run(model: &Model, seed: u64) -> Tally {
    model.clone().prepare().expect("valid parameters").run(seed)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn every_client_and_every_request_ends_once(model in model(), seed: u64) {
        let tally = run(&model, seed);
        let clients: u64 = tally.counts.clients.iter().sum();
        let successful: u64 = tally.counts.successful.iter().sum();
        let refused = tally.refused + tally.refused_again;
        prop_assert_eq!(clients, successful + refused + tally.counts.timed_out);
        prop_assert_eq!(tally.counts.tries, tally.accepted + refused);
        prop_assert_eq!(tally.accepted, successful + tally.counts.tries_timed_out);
        prop_assert_eq!(tally.counts.tries, clients + tally.counts.tries_timed_out - tally.counts.timed_out);
        prop_assert!(tally.counts.tries <= clients * (u64::from(model.retries) + 1));
        prop_assert!(tally.begun >= successful + tally.timed_out_in_service);
        prop_assert!(tally.begun <= tally.accepted);
        for (successful, clients) in tally.counts.successful.iter().zip(tally.counts.clients) {
            prop_assert!(*successful <= clients);
        }
    }

    #[test]
    fn queue_time_and_patience_have_their_bounds(model in model(), seed: u64) {
        let tally = run(&model, seed);
        prop_assert!(tally.longest_queue <= model.queue);
        prop_assert!(tally.counts.busy_seconds <= tally.counts.seconds * (1.0 + 1e-9));
        prop_assert!(tally.check_seconds <= tally.counts.seconds * (1.0 + 1e-9));
        let successful = tally.counts.successful.iter().sum::<u64>() as f64;
        let patience = (f64::from(model.retries) + 1.0) * model.timeout;
        prop_assert!(tally.counts.response_seconds <= successful * patience * (1.0 + 1e-9));
        prop_assert!(tally.counts.useful_seconds <= tally.counts.response_seconds * (1.0 + 1e-9));
        // Those answered came in the window and had at most their patience after it.
        prop_assert!(tally.counts.useful_seconds <= model.duration + patience + 1e-6);
    }

    #[test]
    fn a_seed_is_a_run_and_all_strategies_meet_the_same_clients(model in model(), seed: u64) {
        let tally = run(&model, seed);
        prop_assert_eq!(&run(&model, seed), &tally);
        for strategy in Strategy::ALL {
            let other = run(&Model { strategy, ..model.clone() }, seed);
            prop_assert_eq!(other.counts.clients, tally.counts.clients);
        }
    }

    #[test]
    fn the_table_of_sizes_is_the_law(u in 0.0..1.0_f64) {
        for text in ["carter", "specweb99", "exponential:mean=5"] {
            let law = law::parse(text).expect("a law");
            let sizes = Sizes::new(law.clone());
            prop_assert_eq!(sizes.size(u), law.quantile(u));
        }
    }
}

#[test]
fn below_overload_all_strategies_agree() {
    let regular = results(paper(40.0, 10.0, Regular, 4000.0), 1);
    assert!(regular.success_percent.expect("clients") > 99.99);
    for strategy in Strategy::ALL {
        let found = results(paper(40.0, 10.0, strategy, 4000.0), 1);
        let lost = regular.useful_percent - found.useful_percent;
        assert!(lost.abs() < 0.05, "{strategy} loses {lost} %");
        assert!((found.utilisation_percent - 40.0).abs() < 3.0, "{strategy}: {found:?}");
    }
}

#[test]
fn the_check_is_on_above_its_threshold_only() {
    let on = |load, above| {
        let model = Model { check_above: above, ..paper(load, 5.0, Check, 1000.0) };
        results(model, 1).check_on_percent
    };
    assert!(on(10.0, 0.95) < 0.5, "{} %", on(10.0, 0.95));
    assert!(on(300.0, 0.95) > 99.9);
    assert_eq!(on(300.0, 1.0), 0.0);
    let never = results(Model { check_above: 1.0, ..paper(300.0, 5.0, Check, 1000.0) }, 1);
    assert_eq!(never.useful_percent, 0.0, "without the check the server is a regular one");
    assert_eq!(results(paper(300.0, 5.0, Regular, 1000.0), 1).check_on_percent, 0.0);
}

#[test]
fn intervals_follow_the_load() {
    let shape = Shape::parse("50s@0.5,50s@0").expect("a shape");
    let model = Model::new(shape, 5.0, Check);
    let model = Model { warm_up: 0.0, duration: 395.0, interval: Some(10.0), ..model };
    let tally = run(&model, 3);
    assert_eq!(tally.counts.intervals.len(), 40);
    assert_eq!(
        tally.counts.intervals.iter().sum::<u64>(),
        tally.counts.successful.iter().sum::<u64>()
    );
    for (place, count) in tally.counts.intervals.iter().enumerate() {
        // An answer may take a second into the time without load.
        match place % 10 {
            0..=4 => assert!((350..=650).contains(count), "interval {place}: {count}"),
            5 => assert!(*count < 60, "interval {place}: {count}"),
            _ => assert_eq!(*count, 0, "interval {place}"),
        }
    }
}

#[test]
fn a_series_ends_with_the_window() {
    // The last interval is half as long as the others; answers go on for a timeout after it.
    let model = Model { interval: Some(10.0), ..paper(300.0, 5.0, Check, 205.0) };
    let series = results(model, 8).intervals.expect("a series");
    assert_eq!(series.len(), 21);
    assert!((70.0..100.0).contains(&series[20]), "{series:?}");
}

#[test]
fn a_class_without_clients_has_a_share_too() {
    let law = Arc::new(Exponential { mean: 10.0 });
    let found = results(Model { law, ..paper(50.0, 5.0, Check, 100.0) }, 1);
    assert!(found.success_by_class[0] > 0.9, "{found:?}");
    assert_eq!(found.success_by_class[1..], [0.0; 3]);
}

#[test]
fn streams_follow_their_shape_and_end() {
    let shape = Shape::parse("10s@2,10s@0,10s@0.5").expect("a shape");
    let mut stream = Stream::new(&shape, 100.0, 3000.0, 4);
    let mut counts = [0_u32; 3];
    loop {
        let at = stream.next();
        if at.is_infinite() {
            break;
        }
        counts[(at % 30.0 / 10.0) as usize] += 1;
    }
    let [full, none, half] = counts;
    assert!((f64::from(full) / 200_000.0 - 1.0).abs() < 0.02, "{counts:?}");
    assert_eq!(none, 0);
    assert!((f64::from(half) / 50_000.0 - 1.0).abs() < 0.03, "{counts:?}");
}

#[test]
fn invalid_parameters_are_refused() {
    let good = paper(300.0, 5.0, Check, 1000.0);
    let refused = |change: fn(&mut Model), part: &str| {
        let mut model = good.clone();
        change(&mut model);
        let error = model.prepare().expect_err(part).0;
        assert!(error.contains(part), "{part:?} is not in {error}");
    };
    refused(|model| model.timeout = 0.0, "timeout is 0 seconds");
    refused(|model| model.timeout = f64::NAN, "timeout is NaN");
    refused(|model| model.duration = -1.0, "duration");
    refused(|model| model.warm_up = f64::INFINITY, "warm-up");
    refused(|model| model.service_rate = 0.0, "service rate");
    refused(|model| model.check_cost = -0.1, "check cost");
    refused(|model| model.check_above = 1.1, "threshold");
    refused(|model| model.interval = Some(0.0), "interval");
    refused(|model| (model.service_rate, model.duration) = (1e6, 1e6), "requests");
    refused(|model| (model.retries, model.duration) = (1000, 1e6), "retries included");
    refused(|model| model.retries = u32::MAX, "number of retries");
    refused(|model| model.queue = usize::MAX, "listen queue");
    let vast = law::parse("lognormal:mu=0,sigma=8").expect("a law");
    let error = Model { law: vast, ..good.clone() }.prepare().expect_err("a tail").0;
    assert!(error.contains("shorter tail"), "{error}");
    refused(|model| model.law = law::parse("exponential:mean=1e-320").expect("a law"), "mean");
    assert!(good.prepare().is_ok());
}

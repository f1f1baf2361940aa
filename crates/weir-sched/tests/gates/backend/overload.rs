//! Overload of an application that serves one call at a time and never looks whether its clients
//! are still there (Carter & Cherkasova 1999, Figure 21, patience of 5 s), in virtual time.

use super::application::{Application, Fate, Scene};
use weir_sched::{BackendConfig, BackendOrder, CallLimit};

const WARM_UP: f64 = 30.0;
const SECONDS: f64 = 330.0;

fn overloaded(load: f64, scene: Scene) -> Application {
    let mut application = Application::new(scene);
    application.run(load, SECONDS);
    application
}

#[test]
fn with_the_defaults_all_capacity_is_useful() {
    for load in [1.5, 2.0, 3.0] {
        for retries in [0, 1] {
            let application = overloaded(load, Scene { retries, ..Scene::default() });
            let summary = application.between(WARM_UP, SECONDS - 6.0);
            let what = format!("load {load}, {retries} retries: {summary:?}");
            assert!(summary.work_share >= 0.98, "{what}");
            let all = summary.served.iter().sum::<usize>() as f64
                / summary.asked.iter().sum::<usize>() as f64;
            for class in 0..4 {
                // Three standard errors, and a point for what is left of patience: a long call
                // that is started late is answered too late.
                let noise = 3.0 * (all * (1.0 - all) / summary.asked[class] as f64).sqrt() + 0.01;
                assert!((summary.success(class) - all).abs() < noise, "class {class}: {what}");
            }
            if load == 3.0 {
                assert!(summary.mean_response() < 0.3, "{}: {what}", summary.mean_response());
            }
            let patience = application.gate.patience(0).unwrap_or_default().as_secs_f64();
            assert!((4.9..5.1).contains(&patience), "patience {patience}");
        }
    }
}

#[test]
fn with_sizes_known_twice_as_many_are_served() {
    for retries in [0, 1] {
        let config =
            BackendConfig { order: BackendOrder::ShortestExpected, ..BackendConfig::default() };
        let scene = Scene { config, retries, sizes_known: true, ..Scene::default() };
        let application = overloaded(3.0, scene);
        let summary = application.between(WARM_UP, SECONDS - 6.0);
        assert!(summary.count_share >= 2.0, "{summary:?}");
        assert!(summary.work_share >= 0.97, "{summary:?} {:?}", application.limits);
    }
}

#[test]
fn first_come_first_served_is_what_overload_punishes() {
    // The bars above are not for free: the same queue without an order for overload.
    let config = BackendConfig {
        order: BackendOrder::Fifo,
        limit: CallLimit::Fixed(2),
        ..BackendConfig::default()
    };
    let application = overloaded(3.0, Scene { config, ..Scene::default() });
    let summary = application.between(WARM_UP, SECONDS - 6.0);
    assert!(summary.work_share < 0.95, "{summary:?}");
    assert!(summary.mean_response() > 3.0);
}

#[test]
fn newcomers_are_served_at_once_when_the_load_falls() {
    for retries in [0, 1] {
        let mut application = Application::new(Scene { retries, ..Scene::default() });
        application.run(3.0, 60.0);
        application.run(0.5, 30.0);
        let first = application.between(60.0, 61.0);
        // Who came before the fall leaves until 65 s, comes again and leaves again until 70 s.
        let later = application.between(61.0 + 9.0 * f64::from(retries), 84.0);
        let left: Vec<f64> = application
            .seen
            .iter()
            .filter(|seen| seen.fate == Fate::Abandoned)
            .map(|seen| seen.arrived.as_nanos() as f64 / 1e9)
            .filter(|arrived| *arrived > 65.0)
            .collect();
        assert_eq!(later.refused, 0);
        let (asked, served) = (later.asked.iter().sum::<usize>(), later.served.iter().sum());
        assert_eq!(asked, served, "{later:?} {left:?}");
        assert!(later.mean_response() < 0.2, "{later:?}");
        assert!(first.mean_response() < 1.0, "{first:?}");
    }
}

#[test]
fn below_overload_nobody_is_refused_or_leaves() {
    let mut application = Application::new(Scene::default());
    application.run(0.8, 300.0);
    let mut calls: Vec<f64> = Vec::new();
    for seen in &application.seen {
        match seen.fate {
            Fate::Answered(at) => calls.push(at.since(seen.arrived).as_secs_f64()),
            Fate::Waits => {}
            Fate::Abandoned | Fate::Refused => panic!("{seen:?} {:?}", application.limits),
        }
    }
    // Pollaczek-Khinchine: 0.8 × 10 ms × (1 + 3.7²) / 2 / 0.2 and the service.
    let mean = calls.iter().sum::<f64>() / calls.len() as f64;
    assert!((0.15..0.65).contains(&mean), "mean response {mean}");
}

//! Response times are gathered by size, and policies are compared on the same requests.

use weir_sched::policy::{FAIR, SRPT, SWIFT};

use super::*;
use crate::papers::rawat::scene::{Added, Site};

const SCENE: Scene = Scene::new(Site::Austin, 0.9, 250);

/// A scene whose clients are all as far away.
fn equal(round_trip_ms: u32) -> Scene {
    let added = Added::Constant;
    Scene { round_trip_ms, background_ms: f64::from(round_trip_ms), added, ..SCENE }
}

#[test]
fn a_policy_against_itself_gains_nothing() {
    let trials = Trials::play(&[(SCENE, vec![SRPT])], 2, 10.0).unwrap();
    let found = trials.paired(
        (SRPT, SRPT),
        |_| true,
        |one, other| one.between(0.0, 100.0).seconds() / other.between(0.0, 100.0).seconds(),
    );
    let interval = found.interval.unwrap();
    assert_eq!((interval.low, interval.high, interval.count), (1.0, 1.0, 2));
    let srpt = &trials.pooled(SRPT, |_| true)[0];
    assert_eq!(srpt.share_that_gains(srpt, 0.0), 0.0);
}

#[test]
fn with_equal_round_trips_swift_puts_nobody_before_others_for_distance() {
    let means = |scene: Scene| {
        let trials = Trials::play(&[(scene, vec![SWIFT, SRPT])], 1, 20.0).unwrap();
        let ratio = |of: &dyn Fn(&Times) -> f64| {
            let figure = |swift: &Times, srpt: &Times| of(swift) / of(srpt);
            trials.paired((SWIFT, SRPT), |_| true, figure).middle().unwrap()
        };
        ratio(&|times| times.background.seconds())
    };
    // Far clients go before near ones, which then pay.
    assert!(means(SCENE) > means(equal(250)) * 1.05, "{} {}", means(SCENE), means(equal(250)));
}

#[test]
fn the_small_are_quicker_than_under_fair_sharing() {
    let trials = Trials::play(&[(SCENE, vec![SRPT, FAIR])], 1, 20.0).unwrap();
    let (srpt, fair) = (&trials.pooled(SRPT, |_| true)[0], &trials.pooled(FAIR, |_| true)[0]);
    assert!(srpt.share_that_gains(fair, 0.0) > 0.5);
    // Nothing is quicker than opening a connection and asking.
    assert!(srpt.by_size().all(|(_, mean)| mean > 0.06));
    assert_eq!(srpt.by_size().next().map(|group| group.0), Some(2.5));
}

//! Loads, patience and retries of the comparison, and the cells they make. A quick run has a tenth of
//! all times, and so ten times the rates.

use super::systems::{DIRECT, SHORTEST, WEIR};
use crate::cell::{Cell, Demand, Network, Users};
use crate::choice::Scale;

/// Offered loads, as multiples of the capacity.
pub(super) const LOADS: [f64; 6] = [0.5, 0.9, 1.0, 1.5, 2.0, 3.0];
/// The loads of a quick run.
const QUICK: [f64; 2] = [1.5, 3.0];
/// The loads that the bars are about.
pub(super) const OVERLOADS: [f64; 3] = [1.5, 2.0, 3.0];
/// Seconds that clients wait (Carter 1999, section 4.1); the first is what the bars are about.
pub(super) const PATIENCE: [f64; 3] = [5.0, 8.0, 10.0];
/// Mean service time in seconds (section 3.1: 100 requests a second).
const SERVICE: f64 = 0.010;
/// Multiples of the patience after which counting begins: by then a queue that only grows is longer
/// than anybody waits, at 150 % too.
pub(super) const WARM_UP: f64 = 4.0;
/// Seconds that are counted.
pub(super) const WINDOW: f64 = 60.0;
/// Seconds at half of the capacity afterwards.
const AFTER: f64 = 30.0;
/// The load of the comparison without overload, and seconds for 10,000 arrivals.
pub(super) const STEADY_LOAD: f64 = 0.9;
const STEADY: f64 = 112.0;
/// Who is compared there; the first is what others are divided by.
pub(super) const STEADY_SYSTEMS: [&str; 4] = [DIRECT, WEIR, SHORTEST, "nginx"];

/// The loads of a run.
pub(super) fn loads(scale: Scale) -> Vec<f64> {
    match scale {
        Scale::Quick => QUICK.to_vec(),
        Scale::Full | Scale::Paper => LOADS.to_vec(),
    }
}

/// How often clients ask again.
pub(super) fn retries(scale: Scale) -> Vec<u32> {
    match scale {
        // With a retry a quick run has 6000 connections a second.
        Scale::Quick => vec![0],
        Scale::Full | Scale::Paper => vec![0, 1],
    }
}

/// What a system meets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Conditions {
    pub(super) load: f64,
    /// Seconds.
    pub(super) patience: f64,
    pub(super) retries: u32,
    /// No overload, and nothing afterwards.
    steady: bool,
}

impl Conditions {
    pub(super) fn new(load: f64, patience: f64, retries: u32) -> Conditions {
        Conditions { load, patience, retries, steady: false }
    }

    /// 10,000 arrivals below capacity.
    pub(super) fn steady() -> Conditions {
        Conditions { steady: true, ..Conditions::new(STEADY_LOAD, PATIENCE[0], 0) }
    }

    /// Whether there is a bar for it.
    pub(super) fn is_judged(&self) -> bool {
        self.steady || self.patience == PATIENCE[0] && OVERLOADS.contains(&self.load)
    }

    /// The cell of a system, with seed 0.
    pub(super) fn cell(&self, scale: Scale, system: &str) -> Cell {
        // Divided, so that the times are exact decimals.
        let time = |seconds: f64| seconds / pace(scale);
        let (warm_up, window, after) = match self.steady {
            true => (0.0, STEADY, 0.0),
            false => (WARM_UP * self.patience, WINDOW, AFTER),
        };
        let users = Users {
            abort_after: Some(time(self.patience)),
            retries: self.retries,
            ..Users::default()
        };
        Cell {
            system: system.to_owned(),
            network: Network::default(),
            users,
            demand: Demand::Application {
                service: time(SERVICE),
                load: self.load,
                warm_up: time(warm_up),
                window: time(window),
                after: time(after),
            },
            seed: 0,
        }
    }
}

/// How many times faster than the paper's server a run is.
pub(super) fn pace(scale: Scale) -> f64 {
    match scale {
        Scale::Quick => 10.0,
        Scale::Full | Scale::Paper => 1.0,
    }
}

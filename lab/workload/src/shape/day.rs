//! Days of the World Cup 1998 site: load shapes made of its bytes per hour (UTC), and of its real
//! curve minute by minute. The hours are counted from `wc98-per-minute.csv`.

use std::collections::BTreeMap;

use super::{Period, Shape};
use crate::invalid::Invalid;

/// Bytes by hour ÷ mean, over the four days of 2 to 5 June 1998 (Tuesday to Friday), a week before
/// the first match.
const NORMAL: [f64; 24] = [
    0.846, 0.808, 0.771, 0.795, 0.746, 0.769, 0.824, 0.900, 0.951, 1.002, 1.040, 1.163, 1.191,
    1.214, 1.240, 1.201, 1.209, 1.141, 1.117, 1.125, 1.115, 0.998, 0.951, 0.884,
];

/// Bytes by hour ÷ mean on 30 June 1998, when two matches of the round of sixteen were played: one
/// towards 15 h, the other towards 19 h.
const BUSY: [f64; 24] = [
    0.458, 0.426, 0.383, 0.376, 0.344, 0.352, 0.434, 0.432, 0.429, 0.443, 0.469, 0.505, 0.568,
    0.640, 1.080, 2.079, 2.231, 1.466, 1.249, 1.888, 2.692, 3.491, 0.971, 0.595,
];

/// Steps that an hour is drawn in.
const STEPS: usize = 4;
/// The longest curve, in minutes: more than a year.
const MOST_MINUTES: u64 = 600_000;

impl Shape {
    /// A day without an event, of `seconds` from midnight to midnight, with a mean load of `load`.
    ///
    /// # Errors
    ///
    /// A load or length out of range.
    pub fn normal_day(load: f64, seconds: f64) -> Result<Shape, Invalid> {
        day("normal-day", &NORMAL, load, seconds)
    }

    /// A day with two events, of `seconds` from midnight to midnight, with a mean load of `load`;
    /// its busiest hour has 3.5 times as much.
    ///
    /// # Errors
    ///
    /// A load or length out of range.
    pub fn busy_day(load: f64, seconds: f64) -> Result<Shape, Invalid> {
        day("busy-day", &BUSY, load, seconds)
    }

    /// A real curve, minute by minute, each lasting `seconds`, with a mean load of `load`. The
    /// minutes are (number, requests, bytes) in any order; those missing in between have no load.
    /// A minute's load is in proportion to `work` of its requests and bytes, such as
    /// [`crate::Wire::bytes`] of the mean size times the requests.
    ///
    /// # Errors
    ///
    /// No minutes, no work in them, minutes over a year apart, or a load or length out of range.
    pub fn minutes(
        name: impl Into<String>,
        minutes: impl IntoIterator<Item = (u64, u64, u64)>,
        work: impl Fn(u64, u64) -> f64,
        load: f64,
        seconds: f64,
    ) -> Result<Shape, Invalid> {
        let name = name.into();
        let mut curve: BTreeMap<u64, f64> = BTreeMap::new();
        for (number, requests, bytes) in minutes {
            *curve.entry(number).or_default() += work(requests, bytes);
        }
        let (Some((&first, _)), Some((&last, _))) =
            (curve.first_key_value(), curve.last_key_value())
        else {
            return Err(Invalid(format!("load shape {name} has no minutes")));
        };
        if last - first >= MOST_MINUTES {
            return Err(Invalid(format!(
                "load shape {name} lasts from minute {first} to {last}; give at most {MOST_MINUTES}"
            )));
        }
        let loads = (first..=last).map(|number| curve.get(&number).copied().unwrap_or(0.0));
        let loads: Vec<f64> = loads.collect();
        scaled(name, &loads, load, seconds)
    }
}

/// A day drawn through the middles of its hours.
fn day(name: &str, hours: &[f64; 24], load: f64, seconds: f64) -> Result<Shape, Invalid> {
    let steps = 24 * STEPS;
    let at = |step: usize| {
        let hour = (step as f64 + 0.5) / STEPS as f64 - 0.5 + 24.0;
        let (before, part) = (hour.floor() as usize, hour.fract());
        hours[before % 24] * (1.0 - part) + hours[(before + 1) % 24] * part
    };
    let loads: Vec<f64> = (0..steps).map(at).collect();
    let name = format!("{name}:load={load},seconds={seconds}");
    scaled(name, &loads, load, seconds / steps as f64)
}

/// Periods of `seconds` each whose loads have a mean of `load`.
fn scaled(name: String, loads: &[f64], load: f64, seconds: f64) -> Result<Shape, Invalid> {
    let sum: f64 = loads.iter().sum();
    if !(sum.is_finite() && sum > 0.0) {
        return Err(Invalid(format!("load shape {name} has no period with any load")));
    }
    let factor = load * loads.len() as f64 / sum;
    let periods = loads.iter().map(|one| Period { seconds, load: one * factor }).collect();
    Shape::new(name, periods)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_have_their_mean_length_and_peaks() {
        for (shape, peak) in [
            (Shape::normal_day(0.7, 960.0).expect("a day"), 1.24),
            (Shape::busy_day(0.7, 960.0).expect("a day"), 3.4),
        ] {
            assert!((shape.mean_load() - 0.7).abs() < 1e-9, "{shape}");
            assert!((shape.cycle() - 960.0).abs() < 1e-6, "{shape}");
            let most = shape.periods().iter().map(|period| period.load).fold(0.0, f64::max);
            assert!((most / 0.7 / peak - 1.0).abs() < 0.05, "{shape}: {most}");
            // Smooth: no step of a quarter of an hour is as large as the hourly one it is part of.
            let steepest = shape.periods().windows(2).map(|p| (p[1].load - p[0].load).abs() / 0.7);
            assert!(steepest.fold(0.0, f64::max) < 0.7, "{shape}");
        }
        assert!(Shape::normal_day(0.0, 960.0).is_err());
        assert!(Shape::normal_day(0.7, 0.0).is_err());
    }

    #[test]
    fn minutes_become_periods_and_missing_ones_have_no_load() {
        let minutes = [(10, 1, 100), (13, 2, 500), (11, 1, 200)];
        let shape = Shape::minutes(
            "curve",
            minutes,
            |requests, bytes| (100 * requests + bytes) as f64,
            0.5,
            2.0,
        )
        .expect("a curve");
        let loads: Vec<f64> = shape.periods().iter().map(|period| period.load).collect();
        assert_eq!(loads.len(), 4);
        for (load, expected) in loads.iter().zip([200.0, 300.0, 0.0, 700.0]) {
            assert!((load - expected * 0.5 / 300.0).abs() < 1e-12, "{loads:?}");
        }
        assert!((shape.cycle() - 8.0).abs() < 1e-12);
    }

    #[test]
    fn curves_that_make_no_sense_are_refused() {
        let of = |minutes: &[(u64, u64, u64)]| {
            Shape::minutes("curve", minutes.iter().copied(), |_, bytes| bytes as f64, 0.5, 1.0)
        };
        assert!(of(&[]).is_err_and(|e| e.0.contains("no minutes")));
        assert!(of(&[(1, 0, 0)]).is_err());
        assert!(of(&[(0, 1, 1), (u64::MAX, 1, 1)]).is_err_and(|e| e.0.contains("at most")));
    }
}

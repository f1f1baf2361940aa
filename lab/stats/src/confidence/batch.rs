//! Batch means: an interval for the mean of one long run.
//!
//! **What it cannot do.** Response times of neighbours are correlated (they waited in the same
//! queue), so they are first averaged in batches, and the batches are taken as independent. That
//! holds only when batches are much longer than the correlation lasts. Under overload it does not:
//! the backlog of one period is in all of it, and with heavy tails correlation lasts for all time
//! scales. Then the interval is too narrow. [`BatchMeans::correlation`] tells: well above 0 means
//! fewer, longer batches, and a batch should hold whole cycles of the load. Independent seeds
//! ([`super::mean_interval`]) have no such doubt and are what comparisons use.

use serde::{Deserialize, Serialize};

use super::{Interval, mean_interval};
use crate::samples::mean;
use crate::size::groups;

/// The interval of the mean of one run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct BatchMeans {
    /// The mean of the batch means and its half width; `count` is the number of batches.
    pub interval: Interval,
    /// Correlation of each batch mean with the next, from −1 to 1 (lag-1 autocorrelation); `None`
    /// with fewer than three batches or if all are equal. Above 2/√batches it is no accident, and
    /// the interval is too narrow.
    pub correlation: Option<f64>,
}

/// Divides values in the order of time (leave out the warm-up first) into `batches` of equal
/// number, give or take one, and takes the interval of their means (Law, "Simulation Modeling and
/// Analysis", section 9.5.3; 20 to 30 batches are usual). `None` with fewer than two batches, fewer
/// values than batches, or a value that is not finite.
pub fn batch_means(values: &[f64], batches: usize) -> Option<BatchMeans> {
    if values.len() < batches {
        return None;
    }
    let means: Option<Vec<f64>> =
        groups(values.len(), batches).map(|batch| mean(values[batch].iter().copied())).collect();
    let means = means?;
    Some(BatchMeans { interval: mean_interval(&means)?, correlation: correlation(&means) })
}

/// Lag-1 autocorrelation; `None` for fewer than three values or equal ones.
fn correlation(values: &[f64]) -> Option<f64> {
    let mean = mean(values.iter().copied())?;
    let all: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let next: f64 = values.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum();
    let found = next / all;
    (values.len() > 2 && found.is_finite()).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_are_averaged_first() {
        // Within each batch 0 and 2; the batch means are 1, 3, 5.
        let values = [0.0, 2.0, 2.0, 4.0, 4.0, 6.0];
        let found = batch_means(&values, 3).unwrap();
        assert_eq!((found.interval.mean, found.interval.count), (3.0, 3));
        // Sample variance 4: 4.30265 × √(4 / 3) = 4.96828.
        assert!((found.interval.half_width - 4.96828).abs() < 1e-4);
    }

    #[test]
    fn correlation_tells_trends_from_noise() {
        let rising: Vec<f64> = (0..100).map(f64::from).collect();
        assert!(batch_means(&rising, 20).unwrap().correlation.unwrap() > 0.8);
        let alternating: Vec<f64> = (0..20).map(|i| f64::from(i % 2)).collect();
        assert!(batch_means(&alternating, 20).unwrap().correlation.unwrap() < -0.8);
        assert_eq!(batch_means(&[1.0; 20], 10).unwrap().correlation, None);
    }

    #[test]
    fn too_little_has_no_interval() {
        assert_eq!(batch_means(&[], 0), None);
        assert_eq!(batch_means(&[1.0, 2.0], 1), None);
        assert_eq!(batch_means(&[1.0, 2.0], 3), None);
        assert_eq!(batch_means(&[1.0, f64::INFINITY], 2), None);
    }

    #[test]
    fn independent_values_are_covered_as_often_as_promised() {
        // 400 runs of 300 values from 0 to 1 of a small generator; 95 % of the intervals should
        // hold 0.5. Fewer than 365 or more than 395 of 400 has a chance below one in a thousand,
        // and the seeds are fixed.
        let mut state = 88_172_645_463_325_252_u64;
        let mut value = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        let held = (0..400).filter(|_| {
            let values: Vec<f64> = (0..300).map(|_| value()).collect();
            let interval = batch_means(&values, 20).unwrap().interval;
            interval.low() <= 0.5 && 0.5 <= interval.high()
        });
        let held = held.count();
        assert!((365..=395).contains(&held), "{held} of 400");
    }
}

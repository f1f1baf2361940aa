//! The interval of a mean of independent values, by Student's t distribution.

use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, StudentsT};

use super::CONFIDENCE;
use crate::Welford;

/// A mean that is known to within `half_width` either way, with 95 % confidence.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// The mean of the values.
    pub mean: f64,
    /// Half the width of the interval around it, in the unit of the values.
    pub half_width: f64,
    /// How many values it rests on.
    pub count: u64,
}

impl Interval {
    /// The lower end.
    pub fn low(&self) -> f64 {
        self.mean - self.half_width
    }

    /// The upper end.
    pub fn high(&self) -> f64 {
        self.mean + self.half_width
    }
}

/// The interval of the mean of independent values that are roughly normal, such as one figure of
/// several seeds. `None` with fewer than two, or if one is not finite.
pub fn mean_interval(values: &[f64]) -> Option<Interval> {
    if values.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let counted: Welford = values.iter().copied().collect();
    let error = (counted.sample_variance()? / counted.count() as f64).sqrt();
    let half_width = t(counted.count() - 1)? * error;
    let mean = counted.mean()?;
    (mean.is_finite() && half_width.is_finite()).then_some(Interval {
        mean,
        half_width,
        count: counted.count(),
    })
}

/// How many standard errors an interval of [`CONFIDENCE`] reaches to either side, for so many
/// degrees of freedom; `None` for none.
///
/// The quantile is found by halving with the distribution function: `inverse_cdf` of statrs 0.18
/// misses some table values by 2 % (its own tests say so).
fn t(freedom: u64) -> Option<f64> {
    let distribution = StudentsT::new(0.0, 1.0, freedom as f64).ok()?;
    let target = 0.5 + CONFIDENCE / 2.0;
    // The widest is 12.706, with one degree of freedom.
    let (mut low, mut high) = (0.0, 16.0);
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if distribution.cdf(middle) < target { low = middle } else { high = middle }
    }
    Some((low + high) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t_is_what_tables_say() {
        let table = [
            (1, 12.7062),
            (2, 4.30265),
            (3, 3.18245),
            (4, 2.77645),
            (9, 2.26216),
            (29, 2.04523),
            (100, 1.98397),
            (1_000_000, 1.95997),
        ];
        for (freedom, expected) in table {
            let found = t(freedom).unwrap();
            assert!((found - expected).abs() < 1e-4, "{freedom}: {found}");
        }
        assert_eq!(t(0), None);
    }

    #[test]
    fn five_seeds() {
        // Mean 10, sample variance 2.5: 2.77645 × √(2.5 / 5) = 1.96325.
        let found = mean_interval(&[8.0, 9.0, 10.0, 11.0, 12.0]).unwrap();
        assert_eq!((found.mean, found.count), (10.0, 5));
        assert!((found.half_width - 1.96325).abs() < 1e-4, "{found:?}");
        assert_eq!(found.low() + found.high(), 20.0);
    }

    #[test]
    fn too_few_or_no_numbers_have_no_interval() {
        assert_eq!(mean_interval(&[]), None);
        assert_eq!(mean_interval(&[1.0]), None);
        assert_eq!(mean_interval(&[1.0, f64::NAN]), None);
        assert_eq!(mean_interval(&[f64::MAX, f64::MAX, -f64::MAX]), None);
    }
}

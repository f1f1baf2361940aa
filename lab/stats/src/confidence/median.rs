//! An interval for the median of a few runs that assumes nothing about their distribution.

use serde::{Deserialize, Serialize};

use super::CONFIDENCE;

/// The median of a few values and an interval for it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MedianInterval {
    /// The middle value, or the mean of the two in the middle.
    pub median: f64,
    /// The lower end: one of the values.
    pub low: f64,
    /// The upper end: one of the values.
    pub high: f64,
    /// The confidence that the interval really has: at least 0.95 if that can be had. From fewer
    /// than six values it cannot: five have 0.9375 from the least to the largest, three 0.75, one 0.
    pub coverage: f64,
    /// How many values.
    pub count: usize,
}

/// The interval of the median of independent values by their ranks: the true median lies below the
/// kth least or above the kth largest of n values with probability 2 P(Binomial(n, ½) < k). Taken
/// is the narrowest with 95 %, or the whole range. `None` without values or if one is not finite.
pub fn median_interval(values: &[f64]) -> Option<MedianInterval> {
    if values.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let count = sorted.len();
    // Probability that exactly `left_out` of the values are below the median, and its sum so far.
    // The former by its binary logarithm: for many values it is less than a float can be.
    let mut log_exactly = -(count as f64);
    let mut outside = log_exactly.exp2();
    let mut left_out = 0;
    while 2 * (left_out + 1) < count {
        let log_next = log_exactly + ((count - left_out) as f64 / (left_out + 1) as f64).log2();
        let next = log_next.exp2();
        if 1.0 - 2.0 * (outside + next) < CONFIDENCE {
            break;
        }
        log_exactly = log_next;
        outside += next;
        left_out += 1;
    }
    let (low, high) = (*sorted.get(left_out)?, *sorted.get(count - 1 - left_out)?);
    let middle = (sorted.get((count - 1) / 2)?, sorted.get(count / 2)?);
    let coverage = 1.0 - 2.0 * outside;
    Some(MedianInterval { median: middle.0 / 2.0 + middle.1 / 2.0, low, high, coverage, count })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_seeds_have_their_range_and_its_true_coverage() {
        let found = median_interval(&[5.0, 1.0, 4.0, 2.0, 3.0]).unwrap();
        assert_eq!((found.median, found.low, found.high), (3.0, 1.0, 5.0));
        assert_eq!(found.coverage, 0.9375);
    }

    #[test]
    fn more_values_leave_out_the_ends() {
        // Tables of the sign test: 8 values leave out none (0.9922), 9 one each side (0.9609), 20
        // five (0.9586).
        for (count, left_out, coverage) in
            [(6, 0, 0.96875), (8, 0, 0.9922), (9, 1, 0.9609), (20, 5, 0.9586)]
        {
            let values: Vec<f64> = (0..count).map(f64::from).collect();
            let found = median_interval(&values).unwrap();
            assert_eq!(found.low, f64::from(left_out), "{count}");
            assert_eq!(found.high, f64::from(count - 1 - left_out), "{count}");
            assert!((found.coverage - coverage).abs() < 1e-4, "{count}: {}", found.coverage);
        }
    }

    #[test]
    fn many_values_have_a_narrow_interval() {
        // The normal approximation leaves out 2500 - 1.96 sqrt(5000) / 2 = 2430.7 on each side.
        let values: Vec<f64> = (0..5000).map(f64::from).collect();
        let found = median_interval(&values).unwrap();
        assert!((2428.0..=2433.0).contains(&found.low), "{found:?}");
        assert_eq!(found.high, 4999.0 - found.low);
        assert!((0.95..0.954).contains(&found.coverage), "{found:?}");
    }

    #[test]
    fn the_median_of_two_is_between_them() {
        assert_eq!(median_interval(&[1.0, 2.0]).unwrap().median, 1.5);
        let one = median_interval(&[7.0]).unwrap();
        assert_eq!((one.low, one.median, one.high, one.coverage), (7.0, 7.0, 7.0, 0.0));
        assert_eq!(median_interval(&[]), None);
        assert_eq!(median_interval(&[1.0, f64::NAN]), None);
    }
}

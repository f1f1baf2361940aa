//! Mean and variance in one pass and constant memory (Welford 1962; merging after Chan, Golub and
//! LeVeque 1979). Summaries, streaming figures and intervals use it.

use serde::{Deserialize, Serialize};

/// A mean and a variance that grow with each value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Welford {
    count: u64,
    mean: f64,
    squares: f64,
}

impl Welford {
    /// Counts `value`, which must be finite.
    pub fn add(&mut self, value: f64) {
        self.count += 1;
        let before = value - self.mean;
        self.mean += before / self.count as f64;
        self.squares += before * (value - self.mean);
    }

    /// Counts everything that `other` counted.
    pub fn merge(&mut self, other: &Welford) {
        if other.count == 0 {
            return;
        }
        let count = self.count + other.count;
        let apart = other.mean - self.mean;
        let share = other.count as f64 / count as f64;
        self.mean += apart * share;
        self.squares += other.squares + apart * apart * self.count as f64 * share;
        self.count = count;
    }

    /// Values counted.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Their mean; `None` without any.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then_some(self.mean)
    }

    /// Their variance, the mean squared deviation from the mean (divided by n, as every variance of
    /// response times here); `None` without any.
    pub fn variance(&self) -> Option<f64> {
        (self.count > 0).then(|| self.squares / self.count as f64)
    }

    /// The variance of what they are a sample of (divided by n − 1); `None` with fewer than two.
    pub fn sample_variance(&self) -> Option<f64> {
        (self.count > 1).then(|| self.squares / (self.count - 1) as f64)
    }
}

impl Extend<f64> for Welford {
    fn extend<T: IntoIterator<Item = f64>>(&mut self, values: T) {
        values.into_iter().for_each(|value| self.add(value));
    }
}

impl FromIterator<f64> for Welford {
    fn from_iter<T: IntoIterator<Item = f64>>(values: T) -> Welford {
        let mut counted = Welford::default();
        counted.extend(values);
        counted
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn nothing_has_no_mean_and_one_value_no_sample_variance() {
        let mut counted = Welford::default();
        assert_eq!((counted.mean(), counted.variance()), (None, None));
        counted.add(3.0);
        assert_eq!((counted.mean(), counted.variance()), (Some(3.0), Some(0.0)));
        assert_eq!(counted.sample_variance(), None);
    }

    #[test]
    fn a_worked_case() {
        let counted: Welford = [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0].into_iter().collect();
        assert_eq!((counted.mean(), counted.variance()), (Some(5.0), Some(4.0)));
        assert_eq!(counted.sample_variance(), Some(32.0 / 7.0));
    }

    proptest! {
        #[test]
        fn parts_merge_into_the_whole(
            values in prop::collection::vec(-1e3..1e3_f64, 1..100),
            cut in 0_usize..100,
        ) {
            let cut = cut.min(values.len());
            let mut merged: Welford = values[..cut].iter().copied().collect();
            merged.merge(&values[cut..].iter().copied().collect());
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            let variance =
                values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / values.len() as f64;
            prop_assert!((merged.mean().unwrap() - mean).abs() < 1e-9);
            prop_assert!((merged.variance().unwrap() - variance).abs() < 1e-6);
        }
    }
}

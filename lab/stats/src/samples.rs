//! Exact percentiles of values that are all kept, for summaries and experiments.

/// Values in ascending order. Those that are not finite are left out: a response that never came
/// has no response time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Samples(Vec<f64>);

impl Samples {
    /// Sorts the values, O(n log n).
    pub fn new(values: impl IntoIterator<Item = f64>) -> Samples {
        let mut values: Vec<f64> = values.into_iter().filter(|value| value.is_finite()).collect();
        values.sort_unstable_by(f64::total_cmp);
        Samples(values)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The values, ascending.
    pub fn sorted(&self) -> &[f64] {
        &self.0
    }

    /// The percentile `share` (0.99 is the 99th) by nearest rank: the smallest value that a share
    /// of the values does not exceed, always one that occurred. 0 is the least value, 1 the
    /// largest. `None` without values or when `share` is not from 0 to 1.
    pub fn percentile(&self, share: f64) -> Option<f64> {
        self.0.get(rank(share, self.0.len())?).copied()
    }

    /// Half do not exceed it: `percentile(0.5)`.
    pub fn median(&self) -> Option<f64> {
        self.percentile(0.5)
    }

    /// The mean; `None` without values.
    pub fn mean(&self) -> Option<f64> {
        mean(self.0.iter().copied())
    }
}

/// Index of the value of nearest rank, ⌈share × count⌉ counted from 1.
fn rank(share: f64, count: usize) -> Option<usize> {
    if count == 0 || !(0.0..=1.0).contains(&share) {
        return None;
    }
    let exact = share * count as f64;
    // 0.07 × 100 is a little more than 7 in binary; that is still rank 7.
    let whole = exact.round();
    let rank = if (exact - whole).abs() <= 1e-12 * exact { whole } else { exact.ceil() };
    Some((rank as usize).clamp(1, count) - 1)
}

/// The mean; `None` of nothing.
pub(crate) fn mean(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let (count, sum) =
        values.into_iter().fold((0_u64, 0.0), |(n, sum), value| (n + 1, sum + value));
    (count > 0).then(|| sum / count as f64)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn percentiles_are_values_that_occurred() {
        let samples = Samples::new((1..=100).rev().map(f64::from));
        for percent in 1..=100_u32 {
            let share = f64::from(percent) / 100.0;
            assert_eq!(samples.percentile(share), Some(f64::from(percent)), "{percent} %");
        }
        assert_eq!(samples.percentile(0.0), Some(1.0));
        assert_eq!(samples.percentile(0.001), Some(1.0));
        assert_eq!(samples.percentile(0.991), Some(100.0));
        assert_eq!(Samples::new([7.0]).percentile(0.99), Some(7.0));
    }

    #[test]
    fn no_values_or_no_share_is_none() {
        let none = Samples::new([f64::NAN, f64::INFINITY]);
        assert!(none.is_empty());
        assert_eq!((none.median(), none.mean()), (None, None));
        let one = Samples::new([1.0]);
        assert_eq!((one.percentile(f64::NAN), one.percentile(1.01)), (None, None));
        assert_eq!(one.percentile(-0.01), None);
    }

    proptest! {
        #[test]
        fn a_percentile_is_the_least_value_that_the_share_does_not_exceed(
            values in prop::collection::vec(0_u8..20, 1..60),
            thousandths in 1_usize..=1000,
        ) {
            let found = Samples::new(values.iter().map(|&v| f64::from(v)))
                .percentile(thousandths as f64 / 1000.0)
                .unwrap();
            let up_to = |limit: f64| values.iter().filter(|&&v| f64::from(v) <= limit).count();
            prop_assert!(up_to(found) * 1000 >= thousandths * values.len());
            prop_assert!(up_to(found - 1.0) * 1000 < thousandths * values.len());
        }
    }
}

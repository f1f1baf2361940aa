//! Percentiles of any number of values in little memory. Unlike a histogram of whole numbers it
//! needs no unit: values of any size are known to the same share of themselves.

/// Bits of the fraction that tell bins apart: 256 bins to each factor of 2, each 0.4 % wide or less.
const FRACTION: u32 = 8;
/// Bins are added so many at a time.
const MORE: u64 = 1024;

/// Counts positive values by size.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Spread {
    /// From bin `first`: how many, and their sum.
    bins: Vec<(u64, f64)>,
    first: u64,
    count: u64,
    least: f64,
    most: f64,
}

impl Spread {
    /// Counts `value`, which is above 0 and finite.
    pub fn add(&mut self, value: f64) {
        self.least = if self.count == 0 { value } else { self.least.min(value) };
        self.most = self.most.max(value);
        self.count += 1;
        let bin = self.bin(value.to_bits() >> (f64::MANTISSA_DIGITS - 1 - FRACTION));
        bin.0 += 1;
        bin.1 += value;
    }

    fn bin(&mut self, bin: u64) -> &mut (u64, f64) {
        if self.bins.is_empty() {
            self.first = bin;
        }
        if bin < self.first {
            let first = bin.saturating_sub(MORE);
            self.bins.splice(0..0, std::iter::repeat_n((0, 0.0), (self.first - first) as usize));
            self.first = first;
        }
        let at = (bin - self.first) as usize;
        if at >= self.bins.len() {
            self.bins.resize(at + MORE as usize, (0, 0.0));
        }
        &mut self.bins[at]
    }

    /// Counts everything that `other` counted.
    pub fn merge(&mut self, other: &Spread) {
        if other.count == 0 {
            return;
        }
        self.least = if self.count == 0 { other.least } else { self.least.min(other.least) };
        self.most = self.most.max(other.most);
        self.count += other.count;
        for (bin, (count, sum)) in (other.first..).zip(&other.bins).filter(|(_, bin)| bin.0 > 0) {
            let mine = self.bin(bin);
            mine.0 += count;
            mine.1 += sum;
        }
    }

    /// The largest value; `None` without any.
    pub fn max(&self) -> Option<f64> {
        (self.count > 0).then_some(self.most)
    }

    /// The value that a share (from 0 to 1) of the values does not exceed, by nearest rank and
    /// within 0.4 %: the mean of the values that are as close to it. `None` without any.
    pub fn percentile(&self, share: f64) -> Option<f64> {
        let rank = ((share * self.count as f64).ceil() as u64).clamp(1, self.count.max(1));
        let mut seen = 0;
        let (count, sum) = self.bins.iter().find(|(count, _)| {
            seen += count;
            seen >= rank
        })?;
        Some((sum / *count as f64).clamp(self.least, self.most))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn equal_values_are_exact_and_nothing_has_no_percentile() {
        let mut spread = Spread::default();
        assert_eq!((spread.percentile(0.5), spread.max()), (None, None));
        for _ in 0..3 {
            spread.add(1.7);
        }
        assert_eq!((spread.percentile(0.5), spread.max()), (Some(1.7), Some(1.7)));
    }

    proptest! {
        #[test]
        fn percentiles_are_those_of_the_sorted_values(
            logs in prop::collection::vec(-250.0..250.0_f64, 1..200),
            cut in 0_usize..200,
            share in 0.0..=1.0_f64,
        ) {
            let mut values: Vec<f64> = logs.iter().map(|log| log.exp()).collect();
            let cut = cut.min(values.len());
            let (mut spread, mut other) = (Spread::default(), Spread::default());
            values[..cut].iter().for_each(|value| spread.add(*value));
            values[cut..].iter().for_each(|value| other.add(*value));
            spread.merge(&other);
            values.sort_by(f64::total_cmp);
            let rank = ((share * values.len() as f64).ceil() as usize).max(1);
            let found = spread.percentile(share).unwrap();
            prop_assert!((found / values[rank - 1] - 1.0).abs() < 0.004, "{found}");
            prop_assert_eq!(spread.max(), values.last().copied());
        }
    }
}

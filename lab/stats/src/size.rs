//! Dividing responses by size: bins that are even on a logarithmic scale, and groups of equal
//! number in the order of size. Figures by size are made of them.

use std::ops::Range;

/// Bins of size, so many to each factor of 10. The first holds empty bodies only; where bins are
/// narrower than a byte they merge.
#[derive(Clone, Debug, PartialEq)]
pub struct SizeBins {
    /// The least size of each bin, ascending from 0.
    from: Vec<u64>,
}

impl SizeBins {
    /// Bins whose bounds are 1, 10, 100 and so on with `per_factor` bins between each; 0 counts as
    /// 1 and more than 1000 as 1000.
    pub fn new(per_factor: u32) -> SizeBins {
        let per_factor = per_factor.clamp(1, 1000);
        let mut from = vec![0];
        // 10¹⁹ is the largest power of 10 below 2⁶⁴.
        for power in (0..20).map(|exponent| 10_u64.pow(exponent)) {
            for step in 0..per_factor {
                let times = 10_f64.powf(f64::from(step) / f64::from(per_factor));
                // Beyond 2⁶⁴ this stays at the largest size there is.
                let bound = if step == 0 { power } else { (power as f64 * times).ceil() as u64 };
                if from.last().is_some_and(|&last| bound > last) {
                    from.push(bound);
                }
            }
        }
        SizeBins { from }
    }

    /// How many bins there are.
    pub fn count(&self) -> usize {
        self.from.len()
    }

    /// The bin of a size, from 0 to [`SizeBins::count`] less 1.
    pub fn index(&self, size: u64) -> usize {
        // The first bin begins at 0, so at least one begins at or before any size.
        self.from.partition_point(|&from| from <= size) - 1
    }

    /// The least size of a bin, and the least size that is too large for it (`None` for the last).
    /// `None` if there is no such bin.
    pub fn bounds(&self, bin: usize) -> Option<(u64, Option<u64>)> {
        self.from.get(bin).map(|&from| (from, self.from.get(bin + 1).copied()))
    }
}

/// Divides `count` ranks into `groups` of equal number, give or take one, in order. With fewer
/// ranks than groups some are empty.
pub fn groups(count: usize, groups: usize) -> impl Iterator<Item = Range<usize>> {
    // Wide, so that the product cannot overflow.
    let bound =
        move |group: usize| (group as u128 * count as u128 / groups.max(1) as u128) as usize;
    (0..groups).map(move |group| bound(group)..bound(group + 1))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn bounds_are_powers_of_ten_and_what_lies_between() {
        let bins = SizeBins::new(1);
        for power in 0..20 {
            let bound = 10_u64.pow(power);
            assert_eq!(bins.index(bound), bins.index(bound - 1) + 1, "10^{power}");
        }
        let bins = SizeBins::new(4);
        assert_eq!(bins.bounds(0), Some((0, Some(1))));
        assert_eq!(bins.bounds(bins.index(5)), Some((4, Some(6))));
        assert_eq!(bins.bounds(bins.index(1000)), Some((1000, Some(1779))));
        assert_eq!(bins.index(u64::MAX), bins.count() - 1);
        assert_eq!(bins.bounds(bins.count()), None);
    }

    #[test]
    fn bins_narrower_than_a_byte_merge() {
        let bins = SizeBins::new(100);
        assert_eq!(bins.bounds(1), Some((1, Some(2))));
        assert_eq!(bins.bounds(2), Some((2, Some(3))));
    }

    #[test]
    fn groups_cover_all_ranks_once() {
        assert_eq!(groups(10, 4).collect::<Vec<_>>(), [0..2, 2..5, 5..7, 7..10]);
        assert_eq!(groups(1, 3).collect::<Vec<_>>(), [0..0, 0..0, 0..1]);
        assert_eq!(groups(5, 0).count(), 0);
    }

    proptest! {
        #[test]
        fn every_size_is_within_the_bounds_of_its_bin(size: u64, per_factor in 0_u32..50) {
            let bins = SizeBins::new(per_factor);
            let (from, below) = bins.bounds(bins.index(size)).unwrap();
            prop_assert!(from <= size && below.is_none_or(|below| size < below));
        }
    }
}

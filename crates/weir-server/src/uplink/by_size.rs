//! Which band of the kernel a response belongs to, by what it has left. In the course of time it learns
//! where bands should end. Used by [`super::classes`].

use std::cell::{Cell, RefCell};

use weir_sched::RecentSizes;

use super::bands::RESPONSE_PRIORITIES;
use crate::config::BandCutoffs;

/// Where bands end.
type Cutoffs = [u64; RESPONSE_PRIORITIES.len() - 1];

/// After how many responses cutoffs are learned anew; before the first time they are the paper's.
const LEARN_EVERY: u32 = 1_000;

/// See the module.
#[derive(Debug)]
pub(super) struct BySize {
    cutoffs: Cell<Cutoffs>,
    /// What they are learned from, unless they are fixed.
    sizes: Option<RefCell<RecentSizes>>,
    /// Responses since they were learned.
    news: Cell<u32>,
}

impl BySize {
    pub(super) fn new(cutoffs: BandCutoffs) -> BySize {
        let (cutoffs, sizes) = match cutoffs {
            BandCutoffs::Fixed(cutoffs) => (cutoffs, None),
            BandCutoffs::Learned => (BandCutoffs::PAPER, Some(RefCell::default())),
        };
        BySize { cutoffs: Cell::new(cutoffs), sizes, news: Cell::new(0) }
    }

    /// A response of `bytes` is about to be sent.
    pub(super) fn begins(&self, bytes: u64) {
        let Some(sizes) = &self.sizes else { return };
        let mut sizes = sizes.borrow_mut();
        sizes.add(bytes);
        self.news.set(self.news.get() + 1);
        if self.news.get() >= LEARN_EVERY
            && let Some(cutoffs) = learned(&sizes)
        {
            self.news.set(0);
            self.cutoffs.set(cutoffs);
        }
    }

    /// The SO_PRIORITY of a response that has `left` bytes left.
    pub(super) fn priority(&self, left: u64) -> u32 {
        RESPONSE_PRIORITIES[self.cutoffs.get().partition_point(|cutoff| *cutoff <= left)]
    }

    /// How many of the `left` bytes can be sent before the response belongs to an earlier band.
    pub(super) fn to_cutoff(&self, left: u64) -> u64 {
        let below = self.cutoffs.get().into_iter().rev().find(|cutoff| *cutoff <= left);
        below.map_or(left, |cutoff| left - cutoff + 1)
    }
}

/// Cutoffs such that all bands carry the same number of bytes, but the first ends at the median at the
/// latest, and the last begins no later than where a hundredth of the responses are larger: with heavy
/// tails, bands of equal bytes alone would not tell small responses from middling ones, and the largest
/// would be alone behind all others (Schroeder & Harchol-Balter 2003, section 2.2, gives both bounds; what
/// is between matters little there).
fn learned(sizes: &RecentSizes) -> Option<Cutoffs> {
    let bands = RESPONSE_PRIORITIES.len() as f64;
    // A cutoff is the first size of the next band.
    let by_bytes = |band: f64| sizes.below_by_bytes(band / bands).map(|size| size + 1);
    let by_count = |share: f64| sizes.below_by_count(share).map(|size| size + 1);
    let first = by_bytes(1.0)?.min(by_count(0.5)?);
    let last = by_bytes(4.0)?.min(by_count(0.99)?).max(first);
    let between = |band: f64| by_bytes(band).map(|size| size.clamp(first, last));
    Some([first, between(2.0)?, between(3.0)?, last])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_papers_classes_are_those_of_remaining_size() {
        let classes = BySize::new(BandCutoffs::Fixed(BandCutoffs::PAPER));
        for (left, priority) in [
            (1, 5),
            (999, 5),
            (1_000, 4),
            (1_999, 4),
            (2_000, 3),
            (5_000, 2),
            (49_999, 2),
            (50_000, 1),
            (u64::MAX, 1),
        ] {
            assert_eq!(classes.priority(left), priority, "{left}");
        }
    }

    #[test]
    fn bands_have_equal_bytes_within_the_median_and_the_largest_hundredth() {
        let classes = BySize::new(BandCutoffs::Learned);
        // Nearly all bytes are in the largest; by bytes alone, everything else would have one band.
        for turn in 0..LEARN_EVERY {
            classes.begins(match turn % 100 {
                0 => 1_000_000_000,
                1..=50 => 300,
                _ => 8_000,
            });
        }
        let of = |left| classes.priority(left);
        assert_eq!([300, 8_000, 1_000_000_000].map(of), [5, 4, 1]);
        let classes = BySize::new(BandCutoffs::Learned);
        for size in 1..=LEARN_EVERY {
            classes.begins(u64::from(size) * 100);
        }
        // Equal shares of bytes end at sqrt(n / 5) of the largest size.
        let of = |left| classes.priority(left);
        assert_eq!([40_000, 60_000, 74_000, 84_000, 97_000].map(of), [5, 4, 3, 2, 1]);
    }

    #[test]
    fn until_enough_responses_are_known_the_papers_classes_hold() {
        let classes = BySize::new(BandCutoffs::Learned);
        classes.begins(10);
        assert_eq!([999, 50_000].map(|left| classes.priority(left)), [5, 1]);
    }

    proptest! {
        #[test]
        fn a_response_that_stops_at_cutoffs_has_each_band_once_and_in_order(
            sizes in prop::collection::vec(1..10_000_000_u64, 1000..1100),
            size in 1..10_000_000_u64,
        ) {
            let classes = BySize::new(BandCutoffs::Learned);
            sizes.iter().for_each(|&size| classes.begins(size));
            let (mut left, mut priorities) = (size, Vec::new());
            while left > 0 {
                let piece = classes.to_cutoff(left);
                prop_assert!(piece > 0 && piece <= left);
                // All of the piece is in one band.
                prop_assert_eq!(classes.priority(left), classes.priority(left - piece + 1));
                priorities.push(classes.priority(left));
                left -= piece;
            }
            prop_assert!(priorities.is_sorted_by(|a, b| a < b), "{priorities:?}");
        }
    }
}

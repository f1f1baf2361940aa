//! Which band of the kernel a response belongs to by SWIFT: its 15 priorities of responses, by what is left
//! and the round trip, merged into the kernel's bands. Used by [`super::classes`].

use std::cell::{Cell, RefCell};

use weir_sched::RecentSizes;
use weir_sched::policy::{SizeCutoffs, SwiftLevels, swift_band};

use super::bands::RESPONSE_PRIORITIES;
use super::progress::Progress;

/// Over how many steps it is looked for the end of a band: no more is handed to the kernel at once anyway.
const LOOK_AHEAD: u64 = 64;

/// See the module.
#[derive(Debug)]
pub(super) struct BySwift {
    levels: RefCell<SwiftLevels>,
    /// What its cutoffs of sizes are learned from.
    sizes: RefCell<RecentSizes>,
    /// Responses since they were learned.
    news: Cell<u64>,
}

impl Default for BySwift {
    fn default() -> BySwift {
        let levels = RefCell::new(SwiftLevels::new(SizeCutoffs::WORLD_CUP));
        BySwift { levels, sizes: RefCell::default(), news: Cell::new(0) }
    }
}

impl BySwift {
    /// A response of `bytes` is about to be sent.
    pub(super) fn begins(&self, bytes: u64) {
        let mut sizes = self.sizes.borrow_mut();
        sizes.add(bytes);
        self.news.set(self.news.get() + 1);
        if self.news.get() >= SwiftLevels::RELEARN
            && let Some(cutoffs) = SizeCutoffs::of(&sizes)
        {
            self.news.set(0);
            self.levels.replace(SwiftLevels::new(cutoffs));
        }
    }

    /// The SO_PRIORITY of a response that is so far.
    pub(super) fn priority(&self, response: Progress) -> u32 {
        RESPONSE_PRIORITIES[self.band(response, sent(response))]
    }

    /// How many bytes, to the end of a step, can be sent in the band that the response has.
    pub(super) fn to_cutoff(&self, response: Progress) -> u64 {
        let sent = sent(response);
        let band = self.band(response, sent);
        let first = SwiftLevels::STEP - sent % SwiftLevels::STEP;
        let ends = (0..LOOK_AHEAD).map(|step| first + step * SwiftLevels::STEP);
        let mut ends = ends.take_while(|end| *end < response.left);
        ends.find(|end| self.band(response, sent + end) != band)
            .unwrap_or(first + (LOOK_AHEAD - 1) * SwiftLevels::STEP)
            .min(response.left)
    }

    /// The band of responses, from 0, once `sent` bytes are sent.
    fn band(&self, response: Progress, sent: u64) -> usize {
        let level = self.levels.borrow().level_after(response.size, sent, response.round_trip);
        usize::from(swift_band(level, RESPONSE_PRIORITIES.len() as u8))
    }
}

/// Bytes that are sent; none, while nobody knows how many there are.
fn sent(response: Progress) -> u64 {
    response.size - response.left.min(response.size)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;

    fn at(size: u64, left: u64, millis: u64) -> Progress {
        Progress { size, left, round_trip: Duration::from_millis(millis) }
    }

    #[test]
    fn of_two_responses_of_one_size_the_far_one_has_the_earlier_band() {
        let classes = BySwift::default();
        for (size, near, far) in [(500, 4, 5), (10_000, 2, 3), (100_000, 1, 3), (800_000, 1, 4)] {
            let of = |millis| classes.priority(at(size, size, millis));
            assert_eq!((of(5), of(400)), (near, far), "{size}");
        }
    }

    #[test]
    fn cutoffs_follow_the_sizes_that_are_sent() {
        let classes = BySwift::default();
        let priority = || classes.priority(at(5_000, 5_000, 1));
        let before = priority();
        (1..SwiftLevels::RELEARN).for_each(|_| classes.begins(20_000));
        assert_eq!(priority(), before);
        classes.begins(20_000);
        assert!(priority() > before, "{before}");
    }

    proptest! {
        #[test]
        fn all_of_a_piece_is_in_one_band_and_pieces_end_with_steps(
            size in prop_oneof![1..100_000_u64, 1..2_000_000_u64, Just(u64::MAX)],
            millis in 0..500_u64,
        ) {
            let classes = BySwift::default();
            let mut left = size;
            for _ in 0..1_000 {
                if left == 0 {
                    break;
                }
                let piece = classes.to_cutoff(at(size, left, millis));
                prop_assert!(piece > 0 && piece <= left);
                let of = |left| classes.priority(at(size, left, millis));
                prop_assert_eq!(of(left), of(left - piece + 1));
                prop_assert!(piece == left || (size - left + piece) % SwiftLevels::STEP == 0);
                left -= piece;
            }
        }
    }
}

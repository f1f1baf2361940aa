//! SWIFT: 16 priorities by size and round-trip time, first come first served inside one; of two
//! responses alike in size the one for the farther client goes first. M. Rawat and A. Kshemkalyani,
//! *SWIFT: Scheduling in Web Servers for Fast Response Time* (NCA 2003). For comparison with that paper.
//!
//! The paper takes the round trip from the request; here it comes from the path. The priority is
//! found anew after every 8192 bytes (section 3.2.3, step 5). Sizes are bytes on the wire. What the
//! paper leaves open is in [`SwiftChoices`], and [`VARIANTS`] are policies that choose otherwise. By
//! what is left, a far response loses priority as it falls below 500 KB and below 20 KB, where the
//! round trip has less weight.

mod levels;
mod variants;

use super::ranked::{Facts, Ranked, Rule};
use super::{Choice, Descriptor, Needs, PolicyKind};
use crate::sizes::RecentSizes;

pub use levels::{
    SizeCutoffs, SwiftBasis, SwiftChoices, SwiftLevels, SwiftRounding, swift_band,
};
pub(super) use variants::VARIANTS;

/// See the module.
pub const SWIFT: PolicyKind = PolicyKind::new(&Descriptor {
    name: "swift",
    help: "16 priorities by what is left and the round trip, the small and the far first",
    needs: NEEDS,
    build: |_| Box::new(Ranked::new(Swift::new(SwiftChoices::PAPER))),
});

/// The priority may fall by service.
const NEEDS: Needs = Needs { bytes: true, choice: Choice::Grant, ..Needs::SIZES };

#[derive(Debug)]
pub(super) struct Swift {
    levels: SwiftLevels,
    recent: RecentSizes,
    /// Responses until the cutoffs are learned.
    unlearned: u64,
}

impl Swift {
    pub(super) fn new(choices: SwiftChoices) -> Swift {
        let levels = SwiftLevels::with(choices, SizeCutoffs::WORLD_CUP);
        Swift { levels, recent: RecentSizes::default(), unlearned: SwiftLevels::RELEARN }
    }
}

impl Rule for Swift {
    type Key = u8;

    fn arrives(&mut self, size: u64) {
        self.recent.add(size);
        self.unlearned -= 1;
        if self.unlearned == 0 {
            self.unlearned = SwiftLevels::RELEARN;
            let cutoffs = SizeCutoffs::of(&self.recent).unwrap_or(SizeCutoffs::WORLD_CUP);
            self.levels = SwiftLevels::with(self.levels.choices(), cutoffs);
        }
    }

    fn key(&self, job: &Facts) -> u8 {
        self.levels.level_after(job.size, job.attained, job.path.round_trip)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::Path;

    fn rule() -> Swift {
        Swift::new(SwiftChoices::PAPER)
    }

    fn job(size: u64, attained: u64) -> Facts {
        let path = Path { round_trip: Duration::from_millis(1), ..Path::default() };
        Facts { size, remaining: size - attained, attained, path, ..Facts::default() }
    }

    #[test]
    fn the_priority_changes_only_after_each_8192_bytes() {
        let keys: Vec<u8> = (0..30_000).map(|sent| rule().key(&job(30_000, sent))).collect();
        for sent in 1..keys.len() {
            let changes = keys[sent] != keys[sent - 1];
            assert!(!changes || sent % 8192 == 0, "after {sent} bytes");
        }
        assert!(keys[8192 * 3] < keys[0]);
        let initial = Swift::new(SwiftChoices { basis: SwiftBasis::Initial, ..SwiftChoices::PAPER });
        assert_eq!(initial.key(&job(30_000, 29_000)), keys[0]);
    }

    #[test]
    fn cutoffs_follow_the_sizes_that_arrive() {
        let mut rule = rule();
        let before = rule.key(&job(5_000, 0));
        for _ in 0..SwiftLevels::RELEARN - 1 {
            rule.arrives(20_000);
        }
        assert_eq!(rule.key(&job(5_000, 0)), before);
        rule.arrives(20_000);
        // It is among the smaller half, and the near has the lowest class of round trips.
        assert_eq!((before, rule.key(&job(5_000, 0))), (9, 4));
    }
}

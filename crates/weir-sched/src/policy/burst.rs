//! The least that can be sent without waiting first: what is left, or what the congestion window takes
//! of it now, whichever is less.
//!
//! Where windows are open, a round trip adds the same time after the last byte whatever the order, and
//! least remaining size first has the least mean. Where a window is smaller than what the link carries
//! in a round trip, a response must wait for acknowledgements in between. To send such a burst first
//! costs the others the time of the burst alone, and the wait that follows passes while they are sent.

use super::ranked::{Facts, Ranked, Rule};
use super::{Choice, Descriptor, Needs, PolicyKind};

/// See the module.
pub const BURST: PolicyKind = PolicyKind::new(&Descriptor {
    name: "burst",
    help: "the least left, or the least that the window takes at once, first",
    // A response whose window is full is as long as it is again.
    needs: Needs { path_updates: true, choice: Choice::Grant, ..Needs::SIZES },
    build: |_| Box::new(Ranked::new(Burst)),
});

#[derive(Debug)]
pub(super) struct Burst;

impl Rule for Burst {
    type Key = u64;

    fn key(&self, job: &Facts) -> u64 {
        // What was granted since the window was read is gone from it.
        match job.path.window_credit.saturating_sub(job.since_told) {
            0 => job.remaining,
            credit => credit.min(job.remaining),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Path;

    fn key(remaining: u64, window_credit: u64, since_told: u64) -> u64 {
        let path = Path { window_credit, ..Path::default() };
        Burst.key(&Facts { remaining, path, since_told, ..Facts::default() })
    }

    #[test]
    fn what_the_window_takes_counts_less_what_was_granted_since() {
        assert_eq!(key(100_000, 14_000, 0), 14_000);
        assert_eq!(key(98_600, 14_000, 1_400), 12_600);
        assert_eq!(key(5_000, 14_000, 0), 5_000);
    }

    #[test]
    fn without_credit_what_is_left_counts() {
        assert_eq!(key(100_000, 0, 0), 100_000);
        assert_eq!(key(86_000, 14_000, 14_000), 86_000);
    }
}

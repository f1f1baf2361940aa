//! The order of disk work: most waiters for the least disk time first. Used by the gate's queue.

use std::cmp::Ordering;

/// What a queued job is ranked by. The least goes first: the one with the most waiters for each
/// nanosecond of disk time, the older of equals.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rank {
    pub(super) waiters: usize,
    /// Nanoseconds of disk time, at least one.
    pub(super) expected: u64,
    /// No two jobs have the same; the older has the smaller.
    pub(super) number: u64,
}

impl Ord for Rank {
    fn cmp(&self, other: &Rank) -> Ordering {
        // Quotients multiplied out: rounded ones could call unequal jobs equal.
        let mine = self.waiters as u128 * u128::from(other.expected);
        let others = other.waiters as u128 * u128::from(self.expected);
        others.cmp(&mine).then(self.number.cmp(&other.number))
    }
}

impl PartialOrd for Rank {
    fn partial_cmp(&self, other: &Rank) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Rank {
    fn eq(&self, other: &Rank) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Rank {}

//! Whose turn it is: the job that most requests wait for, or the one that has waited longest. The
//! gate asks before each start.

/// Disk time by rank for each unit by age: a third of all goes to the oldest.
const BY_RANK: i128 = 2;

/// The disk time that was given since the queue was last empty.
#[derive(Debug, Default)]
pub(super) struct Turns {
    /// Nanoseconds given by rank, less [`BY_RANK`] times those given by age.
    owed: i128,
}

impl Turns {
    /// Whether less than a third of the disk time went to the oldest.
    pub(super) fn is_oldest_due(&self) -> bool {
        self.owed > 0
    }

    /// The first by rank starts and is expected to take so many nanoseconds.
    pub(super) fn gave_by_rank(&mut self, expected: u64) {
        self.owed += i128::from(expected);
    }

    /// The oldest starts, likewise.
    pub(super) fn gave_by_age(&mut self, expected: u64) {
        self.owed -= BY_RANK * i128::from(expected);
    }

    /// Nobody waits any more, so nothing is owed.
    pub(super) fn nobody_waits(&mut self) {
        self.owed = 0;
    }
}

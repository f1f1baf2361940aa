//! Whose turn it is: the job that most requests wait for, or the one that has waited longest. The
//! gate asks before each start.

/// Disk time by age for each unit by rank: two thirds of all go to the oldest. By the number of jobs that
/// wait, the longest response in lasting overload was half as long again with a half, and twice as long
/// with a third, and no mean was clearly shorter (docs/performance.md, "A slow disk").
const BY_AGE: i128 = 2;

/// The disk time that was given since the queue was last empty.
#[derive(Debug, Default)]
pub(super) struct Turns {
    /// [`BY_AGE`] times the nanoseconds given by rank, less those given by age.
    owed: i128,
}

impl Turns {
    /// Whether less than two thirds of the disk time went to the oldest.
    pub(super) fn is_oldest_due(&self) -> bool {
        self.owed > 0
    }

    /// The first by rank starts and is expected to take so many nanoseconds.
    pub(super) fn gave_by_rank(&mut self, expected: u64) {
        self.owed += BY_AGE * i128::from(expected);
    }

    /// The oldest starts, likewise.
    pub(super) fn gave_by_age(&mut self, expected: u64) {
        self.owed -= i128::from(expected);
    }

    /// Nobody waits any more, so nothing is owed.
    pub(super) fn nobody_waits(&mut self) {
        self.owed = 0;
    }
}

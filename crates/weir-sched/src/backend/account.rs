//! What one client of a backend has and has had, for [`super::clients`].

use std::time::Duration;

use crate::time::Time;

/// Means of how long slots are taken forget with a weight of one in so many.
pub(super) const MEMORY: u32 = 64;
pub(super) const OWN_MEMORY: u32 = 8;

/// A mean that forgets, in seconds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Mean {
    pub(super) seconds: f64,
    pub(super) seen: u32,
}

impl Mean {
    pub(super) fn add(&mut self, took: Duration, memory: u32) {
        self.seen = (self.seen + 1).min(memory);
        self.seconds += (took.as_secs_f64() - self.seconds) / f64::from(self.seen);
    }
}

/// What a client has and has had.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Account {
    pub(super) held: u32,
    pub(super) aside: u32,
    pub(super) waiting: u32,
    /// Its slots' time, in nanoseconds of virtual time.
    pub(super) tag: u64,
    /// Since when none of its calls waits.
    pub(super) quiet: Time,
    /// How long its calls had slots.
    pub(super) took: Mean,
}

impl Account {
    pub(super) fn is_here(&self) -> bool {
        self.held > 0 || self.waiting > 0
    }
}

//! A mean of times in which old ones fade. Used for how long calls take, how long they have slots,
//! and from when on a call is long.

use std::time::Duration;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Mean {
    nanos: f64,
    seen: u32,
}

impl Mean {
    /// Adds a time. The first `memory` ones weigh alike; later ones have a weight of one in so many.
    pub(super) fn add(&mut self, took: Duration, memory: u32) {
        self.seen = (self.seen + 1).min(memory);
        self.nanos += (took.as_nanos() as f64 - self.nanos) / f64::from(self.seen);
    }

    /// Zero if nothing is known.
    pub(super) fn nanos(&self) -> f64 {
        self.nanos
    }

    /// Zero if nothing is known.
    pub(super) fn duration(&self) -> Duration {
        Duration::from_nanos(self.nanos as u64)
    }

    /// If anything is known.
    pub(super) fn known(self) -> Option<Mean> {
        (self.seen > 0).then_some(self)
    }
}

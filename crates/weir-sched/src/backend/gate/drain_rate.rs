//! How fast calls end while others wait, and for how long some have waited without a break. The
//! gate takes from it the `Retry-After` of those who are refused, and how long the newest call
//! would have to wait.

use std::time::Duration;

use crate::time::Time;

/// The mean time between ends forgets with a weight of one in so many.
const MEMORY: u32 = 64;
const LEAST: Duration = Duration::from_secs(1);
const MOST: Duration = Duration::from_secs(60);

/// How fast a backend gets through what waits for it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct DrainRate {
    /// Mean nanoseconds between two ends while calls waited.
    between: f64,
    seen: u32,
    /// When a call last ended, if calls waited then.
    last_end: Option<Time>,
    /// From when on there have always been calls that wait.
    crowded_since: Option<Time>,
}

impl DrainRate {
    /// So many calls wait now.
    pub(super) fn waiting(&mut self, now: Time, waiting: usize) {
        if waiting == 0 {
            self.crowded_since = None;
        } else if self.crowded_since.is_none() {
            self.crowded_since = Some(now);
        }
    }

    /// A call ended and so many wait.
    pub(super) fn ended(&mut self, now: Time, waiting: usize) {
        if let Some(last) = self.last_end {
            self.seen = (self.seen + 1).min(MEMORY);
            let nanos = now.since(last).as_nanos() as f64;
            self.between += (nanos - self.between) / f64::from(self.seen);
        }
        self.last_end = (waiting > 0).then_some(now);
    }

    /// After how long so many will have had their turn.
    pub(super) fn drained(&self, waiting: usize) -> Duration {
        Duration::from_nanos((self.between * waiting as f64) as u64)
    }

    /// After how long someone who is refused may try again with hope.
    pub(super) fn retry_after(&self, now: Time, waiting: usize) -> Duration {
        let drained = self.drained(waiting);
        let lasted = self.crowded_since.map(|since| now.since(since)).unwrap_or_default();
        drained.max(lasted).clamp(LEAST, MOST)
    }
}

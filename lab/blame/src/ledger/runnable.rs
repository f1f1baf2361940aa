//! Burstiness: for how long which part of the tasks was runnable (Ruan & Pai 2006,
//! section 3.2). The ledger tells it the time before each change.

/// Time by runnable ÷ all tasks.
#[derive(Debug, Default)]
pub(super) struct Runnable {
    /// Tasks of which it is known whether they are runnable.
    pub(super) known: usize,
    /// Of these, those that are.
    pub(super) runnable: usize,
    /// Nanoseconds: none runnable, up to a tenth, up to two tenths, …
    bins: [u64; 11],
    /// Nanoseconds, each times the share that was runnable.
    weighted: f64,
    at: u64,
}

impl Runnable {
    pub(super) fn new(at: u64) -> Runnable {
        Runnable { at, ..Runnable::default() }
    }

    /// The counts held until now, in nanoseconds that never go back. The time counts if all of so many
    /// tasks are known: after a gap the busy ones are known first, and would pass for all.
    pub(super) fn advance(&mut self, now: u64, tasks: usize) {
        if self.known > 0 && self.known == tasks {
            // Exact, for 3 of 10 tasks are 0.3 and no more.
            let bin = (10 * self.runnable).div_ceil(self.known).min(10);
            let time = now.saturating_sub(self.at);
            self.bins[bin] += time;
            self.weighted += time as f64 * self.runnable as f64 / self.known as f64;
        }
        self.at = now;
    }

    /// Shares of the time in which all tasks were known; none without such.
    pub(super) fn shares(&self) -> Option<[f64; 11]> {
        let all = self.covered()?;
        Some(self.bins.map(|time| time as f64 / all))
    }

    /// The share of the tasks that was runnable, on average over the same time.
    pub(super) fn mean(&self) -> Option<f64> {
        Some(self.weighted / self.covered()?)
    }

    /// Nanoseconds in which all tasks were known, if there were any.
    fn covered(&self) -> Option<f64> {
        let all: u64 = self.bins.iter().sum();
        (all > 0).then_some(all as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_falls_into_the_bin_of_its_share() {
        let mut found = Runnable::new(100);
        // Before all tasks are known time does not count.
        found.advance(150, 10);
        (found.known, found.runnable) = (4, 4);
        found.advance(180, 10);
        found.known = 10;
        for (runnable, nanoseconds) in [(0, 10), (1, 20), (3, 5), (8, 25), (9, 30), (10, 10)] {
            found.runnable = runnable;
            found.advance(found.at + nanoseconds, 10);
        }
        let expected = [0.1, 0.2, 0.0, 0.05, 0.0, 0.0, 0.0, 0.0, 0.25, 0.3, 0.1];
        assert_eq!(found.shares(), Some(expected));
        let mean = (20.0 + 3.0 * 5.0 + 8.0 * 25.0 + 9.0 * 30.0 + 10.0 * 10.0) / 10.0 / 100.0;
        assert!((found.mean().unwrap() - mean).abs() < 1e-12, "{found:?}");
        let none = Runnable::new(0);
        assert_eq!((none.shares(), none.mean()), (None, None));
    }
}

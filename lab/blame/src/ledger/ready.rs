//! How many events are ready when event loops wake. The ledger counts each return of a wait here.

use std::collections::BTreeMap;

use crate::report::Distribution;

/// More ready events than this are told as a share, as by Ruan & Pai (2006, section
/// 3.1).
const MANY: u64 = 100;

/// Counts of the numbers that waits returned.
#[derive(Debug, Default)]
pub(super) struct Ready {
    counts: BTreeMap<u64, u64>,
    empty: u64,
    failed: u64,
}

impl Ready {
    /// A wait returned `value`: so many events, none, or an error if negative.
    pub(super) fn add(&mut self, value: i64) {
        match u64::try_from(value) {
            Err(_) => self.failed += 1,
            Ok(0) => self.empty += 1,
            Ok(events) => *self.counts.entry(events).or_default() += 1,
        }
    }

    pub(super) fn distribution(&self) -> Distribution {
        let count: u64 = self.counts.values().sum();
        let share = |part: f64| if count == 0 { 0.0 } else { part / count as f64 };
        let sum: f64 =
            self.counts.iter().map(|(&events, &times)| events as f64 * times as f64).sum();
        let many: u64 = self.counts.range(MANY + 1..).map(|(_, times)| times).sum();
        Distribution {
            count,
            empty: self.empty,
            failed: self.failed,
            mean: share(sum),
            median: self.percentile(count.div_ceil(2)),
            p90: self.percentile((count * 9).div_ceil(10)),
            max: self.counts.keys().next_back().copied().unwrap_or(0),
            above_100: share(many as f64),
            counts: self.counts.iter().map(|(&events, &times)| (events, times)).collect(),
        }
    }

    /// The value of this rank, counted from 1; 0 if there is none.
    fn percentile(&self, rank: u64) -> u64 {
        let mut passed = 0;
        let reached = self.counts.iter().find(|(_, times)| {
            passed += **times;
            passed >= rank
        });
        reached.map_or(0, |(&events, _)| events)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_numbers_that_occurred() {
        let mut ready = Ready::default();
        // Nine of 1, 80 of 2, ten of 150, one of 700; and what is no wake.
        for (value, times) in [(1, 9), (2, 80), (150, 10), (700, 1), (0, 3), (-4, 2)] {
            (0..times).for_each(|_| ready.add(value));
        }
        let found = ready.distribution();
        assert_eq!((found.count, found.empty, found.failed), (100, 3, 2));
        assert_eq!((found.median, found.p90, found.max), (2, 150, 700));
        assert_eq!((found.mean, found.above_100), (23.69, 0.11));
        assert_eq!(found.counts, [(1, 9), (2, 80), (150, 10), (700, 1)]);
    }

    #[test]
    fn nothing_is_zero_and_no_nonsense() {
        assert_eq!(Ready::default().distribution(), Distribution::default());
    }
}

//! A figure of ours: its median over the seeds, an interval, and what is known of the runs behind it.
//! `Runs` makes them from outcomes; rows, tables and plots print them.

use std::collections::BTreeSet;

use serde::Serialize;
use weir_stats::confidence::{MedianInterval, median_interval};

/// The median of a figure over the seeds, and an interval that holds the true median.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// Median.
    pub middle: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Seeds; 0 of what is computed and has none.
    pub count: usize,
}

impl Interval {
    /// From one value per seed; those that are not finite are left out. By ranks, since times are
    /// skewed and seeds are few: of five seeds it is from least to most, which holds the true median
    /// with 94 %.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Interval> {
        let finite: Vec<f64> = values.into_iter().filter(|value| value.is_finite()).collect();
        let found = median_interval(&finite)?;
        let MedianInterval { median, low, high, count, .. } = found;
        Some(Interval { middle: median, low, high, count })
    }
}

/// What we found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ours {
    /// Over the seeds whose runs count; `None` without any.
    pub interval: Option<Interval>,
    /// Seeds whose runs do not count, or not in the phase that the figure is of.
    pub left_out: usize,
    /// The largest share of requests without a whole response in one of the runs: those who waited
    /// in vain are in no response time.
    pub incomplete: f64,
    /// Commits of the weir that was measured, more than one if the runs are of several builds; none
    /// of what is simulated or computed.
    pub commits: BTreeSet<String>,
}

impl Ours {
    /// Nothing, as when nothing was run.
    pub(crate) fn none() -> Ours {
        Ours { interval: None, left_out: 0, incomplete: 0.0, commits: BTreeSet::new() }
    }

    /// What is computed, without seeds: the same each time.
    pub(crate) fn computed(value: f64) -> Ours {
        let only = |interval: Interval| Interval { count: 0, ..interval };
        Ours { interval: Interval::of([value]).map(only), ..Ours::none() }
    }

    /// The same, judged by the most over the seeds: what must never happen.
    pub(crate) fn worst(self) -> Ours {
        let worst = |interval: Interval| Interval { middle: interval.high, ..interval };
        Ours { interval: self.interval.map(worst), ..self }
    }

    /// The median.
    pub(crate) fn middle(&self) -> Option<f64> {
        self.interval.map(|interval| interval.middle)
    }
}

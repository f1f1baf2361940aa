//! What the phases of a server of files on a slow disk showed, as it is kept: response times of all and
//! of certainly cached requests, service inversion, and what the disk and the server did. The run of
//! such a cell makes them, the experiments on disks report them. Times are milliseconds.

use serde::{Deserialize, Serialize};
use weir_stats::composition::Composition;

use crate::cell::{Load, Phase, What};

/// A server's phases, in order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FilesOutcome {
    /// The highest rate at which the server kept up, in requests per second; absent if no phase needed it,
    /// or it kept up with none of those that were tried.
    pub capacity: Option<f64>,
    /// Why it is not higher; absent if no phase needed it.
    #[serde(default)]
    pub search_end: Option<SearchEnd>,
    /// nginx's in the same conditions; absent if no phase needed it, or it kept up with none.
    pub nginx: Option<f64>,
    /// Share of the requests that are for hot files, at the highest rate of an open loop.
    pub hot_share: f64,
    /// The phases.
    pub phases: Vec<PhaseOutcome>,
}

/// What ended the search for a server's capacity from above.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SearchEnd {
    /// The server did not keep up with the next higher rate.
    Server,
    /// The clients were late with the next higher rate: the server may bear more.
    Clients,
    /// No rate was tried that is much higher: the server may bear more.
    Bracket,
}

/// One phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PhaseOutcome {
    /// What it was.
    pub phase: Phase,
    /// Requests per second asked for; none in saturation.
    pub offered: Option<f64>,
    /// Requests that came.
    pub requests: usize,
    /// Complete responses per second of the phase.
    pub per_second: f64,
    /// Megabits of complete bodies per second of the phase.
    pub megabits: f64,
    /// Share of the requests without a complete response.
    pub incomplete: f64,
    /// Response times of all.
    pub all: Times,
    /// Response times of hot requests: small files that are asked for at least once a second, which a
    /// page cache that goes by use has. In saturation none are told apart.
    pub hot: Times,
    /// Service inversion (Ruan & Pai, section 4.2) of the response times in microseconds; absent with
    /// fewer than two.
    pub inversion: Option<f64>,
    /// Sizes by decile of response time (Ruan & Pai, section 4.1); absent without responses.
    pub composition: Option<Composition>,
    /// Operations of the disk per 1000 requests.
    pub reads_per_1000: f64,
    /// Operations of the disk per second of the phase, until the last response.
    pub reads_per_second: f64,
    /// Share of the same time in which the disk was busy.
    pub busy: f64,
    /// How often the scan has read all files; absent without one.
    pub scanned: Option<f64>,
    /// What the server's wakes and processes showed; absent where they were not watched or cannot be.
    pub observed: Option<Observed>,
    /// The most disk jobs of weir that were queued or under way at once, asked once a second in
    /// saturation; absent for other phases and servers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting: Option<u64>,
    /// Why it does not count; none if it does.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub invalid: Vec<String>,
}

/// Response times of some requests. Those that had no complete response are in none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Times {
    /// How many.
    pub count: usize,
    /// Their mean; 0 without any.
    pub mean: f64,
    /// The time that each whole per cent of them does not exceed, from 0 (the least) to 100 (the
    /// longest): 101 values, or none.
    pub percentiles: Vec<f64>,
}

impl Times {
    /// A percentile, 0 to 100; not a number without any response.
    pub fn at(&self, percent: usize) -> f64 {
        self.percentiles.get(percent).copied().unwrap_or(f64::NAN)
    }

    /// Their mean; not a number without any response.
    pub fn mean(&self) -> f64 {
        if self.count == 0 { f64::NAN } else { self.mean }
    }

    /// The share, in whole per cent, that took at most so long.
    pub fn within(&self, ms: f64) -> f64 {
        match self.percentiles.len() {
            0 => f64::NAN,
            _ => {
                self.percentiles.partition_point(|time| *time <= ms).saturating_sub(1) as f64
                    / 100.0
            }
        }
    }
}

/// A server's wakes and processes while it was watched (`weir-lab blame`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Observed {
    /// Events that a wake of an event loop returned; absent of a server that has no such loop.
    pub ready: Option<Ready>,
    /// Shares of the time in which so many of the server's processes or threads could run: none of
    /// them, then up to each tenth of all; absent where it was never known of all of them.
    pub runnable: Option<[f64; 11]>,
    /// The share of them that could run, on average.
    pub mean_runnable: Option<f64>,
    /// Events that were lost while it was watched; with any, the phase does not count.
    pub lost_events: u64,
}

/// Ready events per wake.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ready {
    /// Mean.
    pub mean: f64,
    /// Median.
    pub median: f64,
    /// Most.
    pub most: f64,
    /// Share of the wakes with more than 100.
    pub above_100: f64,
    /// Each number that occurred and how often, ascending; none in outcomes without them.
    #[serde(default)]
    pub counts: Vec<(u64, u64)>,
}

impl Ready {
    /// The least number that this share of the wakes does not exceed; not a number without wakes.
    pub(crate) fn at(&self, share: f64) -> f64 {
        let all: u64 = self.counts.iter().map(|(_, times)| times).sum();
        let mut so_far = 0;
        let reaches = |(_, times): &&(u64, u64)| {
            so_far += times;
            so_far as f64 >= share * all as f64
        };
        self.counts.iter().find(reaches).map_or(f64::NAN, |(events, _)| *events as f64)
    }
}

impl PhaseOutcome {
    /// One that could not be run.
    pub(crate) fn void(phase: Phase, reason: String) -> PhaseOutcome {
        PhaseOutcome {
            phase,
            offered: None,
            requests: 0,
            per_second: 0.0,
            megabits: 0.0,
            incomplete: 0.0,
            all: Times::default(),
            hot: Times::default(),
            inversion: None,
            composition: None,
            reads_per_1000: 0.0,
            reads_per_second: 0.0,
            busy: 0.0,
            scanned: None,
            observed: None,
            waiting: None,
            invalid: vec![reason],
        }
    }
}

impl FilesOutcome {
    /// Why some phases do not count, each reason once.
    pub(crate) fn why_invalid(&self) -> Vec<String> {
        let mut reasons: Vec<String> =
            self.phases.iter().flat_map(|phase| phase.invalid.clone()).collect();
        reasons.sort();
        // The same reason in several phases is one.
        reasons.dedup_by_key(|reason| reason.split(':').next().map(str::to_owned));
        reasons
    }

    /// The phase of a load on the whole set, or of another part of it; its first round.
    pub fn phase(&self, load: Load, what: What) -> Option<&PhaseOutcome> {
        self.phases.iter().find(|found| found.phase == Phase { load, what })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_within_a_time_is_read_from_the_percentiles() {
        let percentiles = (0..=100).map(f64::from).collect();
        let times = Times { count: 1000, mean: 50.0, percentiles };
        assert_eq!((times.within(10.0), times.within(10.5), times.within(1e9)), (0.1, 0.1, 1.0));
        assert_eq!((times.within(-1.0), times.at(95), times.at(101).is_nan()), (0.0, 95.0, true));
        let none = Times::default();
        assert!(none.within(1.0).is_nan() && none.at(50).is_nan() && none.mean().is_nan());
    }
}

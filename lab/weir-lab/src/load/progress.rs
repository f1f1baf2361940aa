//! The state of a run while it goes on, and a line a second for output that is not a terminal. Made
//! by the [`tally`](super::tally), shown by the [`session`](super::session) and the view.

use crate::words::{bits, count, maybe_time, time};

/// What is known now. Times without a unit in their name are seconds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Snapshot {
    /// Since the start.
    pub(crate) elapsed: f64,
    /// How long requests are to be sent, if that is known.
    pub(crate) duration: Option<f64>,
    /// Requests whose time has come; `None` in a closed loop, where that is not known.
    pub(crate) scheduled: Option<u64>,
    pub(crate) started: u64,
    pub(crate) complete: u64,
    pub(crate) failed: u64,
    pub(crate) open: u64,
    /// Bytes of responses per second, over the last second or so.
    pub(crate) bytes_per_second: f64,
    pub(crate) mean_ms: Option<f64>,
    pub(crate) p50_ms: Option<f64>,
    pub(crate) p90_ms: Option<f64>,
    pub(crate) p99_ms: Option<f64>,
    pub(crate) p999_ms: Option<f64>,
    pub(crate) max_ms: Option<f64>,
    pub(crate) lag_p99_ms: Option<f64>,
    pub(crate) lag_max_ms: Option<f64>,
    pub(crate) read_lag_p99_ms: Option<f64>,
    pub(crate) read_lag_max_ms: Option<f64>,
    /// Failed requests by outcome, those that happened.
    pub(crate) failures: Vec<(&'static str, u64)>,
    /// Mean response time by the second in which requests should have started, oldest first;
    /// 0 without any.
    pub(crate) means_ms: Vec<f64>,
}

impl Snapshot {
    /// The line of progress.
    pub(crate) fn line(&self) -> String {
        let of = self.duration.map(|d| format!(" of {}", time(d * 1e3))).unwrap_or_default();
        let failures: Vec<String> =
            self.failures.iter().map(|(name, n)| format!("{} {name}", count(*n))).collect();
        let failures = match failures.is_empty() {
            true => String::new(),
            false => format!(" ({})", failures.join(", ")),
        };
        format!(
            "{:.0} s{of}: {} started, {} complete, {} failed{failures}, {} open, {}, median {}, \
             p99 {}, start lag p99 {}, read lag p99 {}",
            self.elapsed,
            count(self.started),
            count(self.complete),
            count(self.failed),
            count(self.open),
            bits(self.bytes_per_second * 8.0),
            maybe_time(self.p50_ms),
            maybe_time(self.p99_ms),
            maybe_time(self.lag_p99_ms),
            maybe_time(self.read_lag_p99_ms),
        )
    }
}

//! Whether a generator kept its own schedule: a percentile of latency is no measurement of the
//! server when the generator's start lag is more than a hundredth of it. Streaming figures and the
//! view of `weir-lab load` judge by it.

use serde::{Deserialize, Serialize};

/// The part of a latency that lag may be.
pub const TOLERANCE: f64 = 0.01;

/// The percentile of lag that is compared with every percentile of latency.
pub const LAG_SHARE: f64 = 0.99;

/// One reported percentile of latency beside the generator's lag.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// Which percentile, as a share: 0.99 is the 99th.
    pub share: f64,
    /// Its value in seconds.
    pub latency: f64,
    /// 99th percentile of the start lag in seconds; `None` if it is not known.
    pub lag: Option<f64>,
    /// Whether the lag is known and at most [`TOLERANCE`] of the latency.
    pub valid: bool,
}

/// A verdict on each (share, latency in seconds) that is reported, given the 99th percentile of the
/// start lag in seconds. A lag that is not finite is not known, and then nothing is valid; a
/// latency that is not finite is not reported.
pub fn judge(reported: impl IntoIterator<Item = (f64, f64)>, lag: f64) -> Vec<Verdict> {
    let lag = Some(lag).filter(|lag| lag.is_finite());
    let reported = reported.into_iter().filter(|(_, latency)| latency.is_finite());
    let verdict = |(share, latency)| {
        let valid = lag.is_some_and(|lag| lag <= TOLERANCE * latency);
        Verdict { share, latency, lag, valid }
    };
    reported.map(verdict).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lag_of_more_than_a_hundredth_voids_a_percentile() {
        let found = judge([(0.5, 0.1), (0.9, 0.2), (0.99, 0.5)], 0.002);
        assert_eq!(found.iter().map(|v| v.valid).collect::<Vec<_>>(), [false, true, true]);
    }

    #[test]
    fn an_unknown_lag_voids_everything_and_no_latency_is_no_report() {
        let found = judge([(0.5, 0.1), (0.9, f64::NAN)], f64::NAN);
        assert_eq!(found, [Verdict { share: 0.5, latency: 0.1, lag: None, valid: false }]);
    }
}

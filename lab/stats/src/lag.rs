//! Whether a generator kept its own schedule: a percentile of latency is no measurement of the
//! server when the generator's start lag is more than a hundredth of it. It does not measure lag.

use serde::{Deserialize, Serialize};

use crate::{Record, Samples};

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

/// Verdicts on exact percentiles of the records' response times. Empty without a complete response:
/// nothing is reported then.
pub fn judge_records(records: &[Record], shares: &[f64]) -> Vec<Verdict> {
    let latency = Samples::new(records.iter().filter_map(Record::response_time));
    let lag = Samples::new(records.iter().map(Record::lag));
    let lag = lag.percentile(LAG_SHARE).unwrap_or(f64::NAN);
    judge(shares.iter().filter_map(|&share| Some((share, latency.percentile(share)?))), lag)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Outcome;
    use crate::record::tests::record;

    #[test]
    fn lag_of_more_than_a_hundredth_voids_a_percentile() {
        let found = judge([(0.5, 0.1), (0.9, 0.2), (0.99, 0.5)], 0.002);
        assert_eq!(found.iter().map(|v| v.valid).collect::<Vec<_>>(), [false, true, true]);
    }

    #[test]
    fn lag_of_records_is_its_99th_percentile() {
        let mut records: Vec<Record> =
            (0..100).map(|i| record(f64::from(i), 1, Outcome::Ok, Some(0.1))).collect();
        // One late start in a hundred is above the 99th percentile, two are not.
        records[7].started += 0.05;
        assert!(judge_records(&records, &[0.5])[0].valid);
        records[8].started += 0.05;
        let found = judge_records(&records, &[0.5]);
        assert!(!found[0].valid && (found[0].lag.unwrap() - 0.05).abs() < 1e-9, "{found:?}");
    }

    #[test]
    fn an_unknown_lag_voids_everything_and_no_latency_is_no_report() {
        let found = judge([(0.5, 0.1), (0.9, f64::NAN)], f64::NAN);
        assert_eq!(found, [Verdict { share: 0.5, latency: 0.1, lag: None, valid: false }]);
    }

    #[test]
    fn nothing_reported_nothing_judged() {
        assert!(judge_records(&[], &[0.5]).is_empty());
        assert!(judge_records(&[record(0.0, 1, Outcome::Reset, None)], &[0.5]).is_empty());
    }
}

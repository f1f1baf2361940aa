//! What a stretch of load came to: counts, errors and response times, from the records of the load
//! generator.

use std::collections::BTreeMap;

use serde::Serialize;
use weir_load::Handshakes;
use weir_peers::{Error, Result};
use weir_stats::{Outcome as End, Record, Samples};
use weir_workload::file_set::HOT;

/// Results of one run of the client.
pub(crate) struct Outcome {
    /// Responses that came whole and right, late ones too.
    pub(crate) requests: u64,
    /// Of these, those that came before load ended.
    pub(crate) in_time: u64,
    /// Body bytes of those in time.
    pub(crate) bytes_in_time: u64,
    /// Seconds of load.
    pub(crate) seconds: f64,
    /// Requests without a right response, by what there was instead.
    pub(crate) errors: BTreeMap<&'static str, u64>,
    /// Those of them that nothing excuses: wrong answers, as opposed to none.
    pub(crate) wrong: u64,
    /// Response times.
    pub(crate) all: Percentiles,
    /// Those of hot files.
    pub(crate) hot: Percentiles,
    /// From when a request should have started to when the client came to it.
    pub(crate) lag: Percentiles,
    /// Share of the processor time that the hypervisor stole.
    pub(crate) steal: f64,
    /// The handshakes of TLS.
    pub(crate) handshakes: Option<Handshakes>,
}

/// Milliseconds.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Percentiles {
    pub(crate) count: u64,
    pub(crate) p50: f64,
    pub(crate) p90: f64,
    pub(crate) p99: f64,
    pub(crate) max: f64,
}

impl Percentiles {
    /// Of times in seconds; zeros of none.
    fn of(seconds: impl Iterator<Item = f64>) -> Percentiles {
        let samples = Samples::new(seconds);
        let at = |share| samples.percentile(share).unwrap_or(0.0) * 1e3;
        let (p50, p90, p99) = (at(0.5), at(0.9), at(0.99));
        Percentiles { count: samples.len() as u64, p50, p90, p99, max: at(1.0) }
    }
}

impl Outcome {
    /// Of the records of `seconds` of load, after which responses were waited for `drain` seconds: what
    /// never came has taken until then. What failed has no response time.
    pub(crate) fn of(records: &[Record], seconds: f64, drain: f64, steal: f64) -> Outcome {
        let right = || records.iter().filter(|record| record.outcome == End::Ok);
        let in_time = || right().filter(|record| record.last_byte.is_some_and(|at| at <= seconds));
        let time = |record: &Record| match record.outcome {
            End::Unfinished => Some(seconds + drain - record.scheduled),
            _ => record.response_time(),
        };
        let mut errors = BTreeMap::new();
        let mut wrong = 0;
        for record in records {
            if let Some((why, is_wrong)) = failure(record.outcome) {
                *errors.entry(why).or_default() += 1;
                wrong += u64::from(is_wrong);
            }
        }
        Outcome {
            requests: right().count() as u64,
            in_time: in_time().count() as u64,
            bytes_in_time: in_time().map(|record| record.size).sum(),
            seconds,
            errors,
            wrong,
            all: Percentiles::of(records.iter().filter_map(time)),
            hot: Percentiles::of(records.iter().filter(|r| r.class == HOT).filter_map(time)),
            lag: Percentiles::of(records.iter().map(Record::lag)),
            steal,
            handshakes: None,
        }
    }

    /// Right responses per second of load.
    pub(crate) fn rate(&self) -> f64 {
        self.in_time as f64 / self.seconds.max(1e-9)
    }

    /// An error unless there were right answers and nothing else.
    pub(crate) fn check(&self, of: &str) -> Result<()> {
        if self.errors.is_empty() && self.requests > 0 {
            return Ok(());
        }
        Err(Error(format!("{of}: {} right responses, and {:?}", self.requests, self.errors)))
    }
}

/// What there was instead of a right response, and whether no timing can excuse it.
fn failure(end: End) -> Option<(&'static str, bool)> {
    match end {
        End::Ok => None,
        End::Status => Some(("status other than 200", true)),
        End::Wrong => Some(("wrong content or length", true)),
        End::Refused => Some(("connection refused", true)),
        End::Unsent => Some(("cannot connect", true)),
        End::Short | End::Reset => Some(("cut off", false)),
        End::Unfinished | End::Abandoned => Some(("unanswered", false)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(scheduled: f64, outcome: End, last_byte: Option<f64>, class: u16) -> Record {
        Record {
            scheduled,
            started: scheduled,
            connected: None,
            first_byte: None,
            last_byte,
            size: 100,
            class,
            outcome,
            attempts: 1,
        }
    }

    #[test]
    fn late_responses_count_but_not_for_the_rate() {
        let records = [
            record(0.0, End::Ok, Some(0.5), HOT),
            record(1.0, End::Ok, Some(2.5), 0),
            record(1.5, End::Unfinished, None, 0),
        ];
        let outcome = Outcome::of(&records, 2.0, 20.0, 0.0);
        assert_eq!((outcome.requests, outcome.in_time, outcome.bytes_in_time), (2, 1, 100));
        assert_eq!((outcome.rate(), outcome.wrong, outcome.hot.count), (0.5, 0, 1));
        assert_eq!((outcome.all.p50, outcome.all.max), (1500.0, 20_500.0));
        assert_eq!(outcome.errors["unanswered"], 1);
        assert!(outcome.check("x").is_err());
    }

    #[test]
    fn only_wrong_answers_are_wrong() {
        let ends = [End::Short, End::Unfinished, End::Status, End::Wrong];
        let records = ends.map(|end| record(0.0, end, None, 0));
        assert_eq!(Outcome::of(&records, 1.0, 1.0, 0.0).wrong, 2);
    }
}

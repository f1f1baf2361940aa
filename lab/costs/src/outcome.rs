//! What a stretch of load came to: counts, errors and response times, from the records of the load
//! generator.

use std::collections::BTreeMap;

use weir_load::Handshakes;
use weir_peers::{Error, Result};
use weir_stats::{Outcome as End, Record, Samples};

use crate::machine::{MOST_LAG_MS, MOST_STEAL};

/// Results of one run of the client.
pub(crate) struct Outcome {
    /// Responses that came whole and right, late ones too.
    pub(crate) requests: u64,
    /// Of these, those that came before load ended.
    pub(crate) in_time: u64,
    /// Seconds of load.
    pub(crate) seconds: f64,
    /// Requests without a right response, by what there was instead.
    pub(crate) errors: BTreeMap<&'static str, u64>,
    /// Median of the response times in milliseconds; 0 of none.
    pub(crate) p50: f64,
    /// Their 99th percentile.
    pub(crate) p99: f64,
    /// The longest of them.
    pub(crate) longest: f64,
    /// 99th percentile of the time from when a request should have started to when the client came to it,
    /// and of that for which reading its response late held it up, together and in milliseconds.
    pub(crate) lag_p99: f64,
    /// Share of the processor time that the hypervisor stole.
    pub(crate) steal: f64,
    /// The handshakes of TLS.
    pub(crate) handshakes: Option<Handshakes>,
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
        for why in records.iter().filter_map(|record| failure(record.outcome)) {
            *errors.entry(why).or_default() += 1;
        }
        let times = Samples::new(records.iter().filter_map(time));
        let lags = Samples::new(records.iter().map(Record::whole_lag));
        Outcome {
            requests: right().count() as u64,
            in_time: in_time().count() as u64,
            seconds,
            errors,
            p50: milliseconds(&times, 0.5),
            p99: milliseconds(&times, 0.99),
            longest: milliseconds(&times, 1.0),
            lag_p99: milliseconds(&lags, 0.99),
            steal,
            handshakes: None,
        }
    }

    /// Right responses per second of load.
    pub(crate) fn rate(&self) -> f64 {
        self.in_time as f64 / self.seconds.max(1e-9)
    }

    /// Whether the machine left the client alone: one that is late itself does not measure the server.
    pub(crate) fn is_on_time(&self) -> bool {
        self.steal <= MOST_STEAL && self.lag_p99 <= MOST_LAG_MS
    }

    /// An error unless there were right answers and nothing else.
    pub(crate) fn check(&self, of: &str) -> Result<()> {
        if self.errors.is_empty() && self.requests > 0 {
            return Ok(());
        }
        Err(Error(format!("{of}: {} right responses, and {:?}", self.requests, self.errors)))
    }
}

/// A percentile of times in seconds, in milliseconds.
fn milliseconds(seconds: &Samples, share: f64) -> f64 {
    seconds.percentile(share).unwrap_or(0.0) * 1e3
}

/// What there was instead of a right response.
fn failure(end: End) -> Option<&'static str> {
    match end {
        End::Ok => None,
        End::Status => Some("status other than 200"),
        End::Wrong => Some("wrong content or length"),
        End::Refused => Some("connection refused"),
        End::Unsent => Some("cannot connect"),
        End::Short | End::Reset => Some("cut off"),
        End::Unfinished | End::Abandoned => Some("unanswered"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(scheduled: f64, outcome: End, last_byte: Option<f64>) -> Record {
        Record {
            scheduled,
            started: scheduled,
            connected: None,
            first_byte: None,
            last_byte,
            size: 100,
            class: 0,
            outcome,
            attempts: 1,
            read_lag: 0.0,
        }
    }

    #[test]
    fn late_responses_count_but_not_for_the_rate() {
        let records = [
            record(0.0, End::Ok, Some(0.5)),
            record(1.0, End::Ok, Some(2.5)),
            record(1.5, End::Unfinished, None),
        ];
        let outcome = Outcome::of(&records, 2.0, 20.0, 0.0);
        assert_eq!((outcome.requests, outcome.in_time, outcome.rate()), (2, 1, 0.5));
        assert_eq!((outcome.p50, outcome.p99, outcome.longest), (1500.0, 20_500.0, 20_500.0));
        assert_eq!(outcome.lag_p99, 0.0);
        assert_eq!(outcome.errors["unanswered"], 1);
        assert!(outcome.check("x").is_err());
    }

    #[test]
    fn a_late_client_and_stolen_time_spoil_a_stretch() {
        let stretch = |started: f64, read_lag: f64, steal: f64| {
            let late = Record { started, read_lag, ..record(0.0, End::Ok, Some(0.1)) };
            Outcome::of(&[late], 1.0, 1.0, steal).is_on_time()
        };
        assert!(stretch(0.0009, 0.0, 0.01) && stretch(0.0, 0.0009, 0.01));
        assert!(!stretch(0.0011, 0.0, 0.0) && !stretch(0.0, 0.0011, 0.0));
        assert!(!stretch(0.0, 0.0, 0.02));
    }
}

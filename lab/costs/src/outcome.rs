//! What a stretch of load came to: counts, errors and response times. Knows
//! nothing of how the load was made.

use std::collections::BTreeMap;
use std::time::Duration;

use hdrhistogram::Histogram;
use serde::Serialize;

use crate::Result;

/// No response came before the end of the drain.
pub(crate) const UNANSWERED: &str = "unanswered";

/// Results of one run of the client.
pub(crate) struct Outcome {
    /// Responses that came whole and right, late ones too.
    pub(crate) requests: u64,
    /// Of these, those that came before load ended.
    pub(crate) in_time: u64,
    /// Body bytes of those in time.
    pub(crate) bytes_in_time: u64,
    pub(crate) seconds: f64,
    pub(crate) errors: BTreeMap<&'static str, u64>,
    pub(crate) all: Times,
    /// Response times of targets marked hot.
    pub(crate) hot: Times,
    /// From when a request should have started to when the client came to it.
    pub(crate) lag: Times,
}

impl Outcome {
    pub(crate) fn new() -> Result<Outcome> {
        Ok(Outcome {
            requests: 0,
            in_time: 0,
            bytes_in_time: 0,
            seconds: 0.0,
            errors: BTreeMap::new(),
            all: Times::new()?,
            hot: Times::new()?,
            lag: Times::new()?,
        })
    }

    pub(crate) fn fail(&mut self, why: &'static str) {
        *self.errors.entry(why).or_default() += 1;
    }

    pub(crate) fn rate(&self) -> f64 {
        self.in_time as f64 / self.seconds.max(1e-9)
    }

    /// Wrong answers, as opposed to none: no timing can excuse them.
    pub(crate) fn wrong(&self) -> u64 {
        let excused = [crate::connection::CUT_OFF, UNANSWERED];
        self.errors.iter().filter(|(why, _)| !excused.contains(why)).map(|(_, count)| count).sum()
    }

    /// Nothing but right answers, or what else there was.
    pub(crate) fn check(&self, of: &str) -> Result<()> {
        if self.errors.is_empty() && self.requests > 0 {
            return Ok(());
        }
        Err(format!("{of}: {} right responses, and {:?}", self.requests, self.errors))
    }
}

/// Times in microseconds, to three digits, up to ten minutes.
pub(crate) struct Times(Histogram<u64>);

/// Milliseconds.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Percentiles {
    pub(crate) count: u64,
    pub(crate) p50: f64,
    pub(crate) p90: f64,
    pub(crate) p99: f64,
    pub(crate) max: f64,
}

impl Times {
    fn new() -> Result<Times> {
        let histogram = Histogram::new_with_bounds(1, 600_000_000, 3);
        histogram.map(Times).map_err(|e| format!("cannot make a histogram: {e}"))
    }

    pub(crate) fn add(&mut self, time: Duration) {
        self.0.saturating_record(time.as_micros() as u64);
    }

    pub(crate) fn percentiles(&self) -> Percentiles {
        let at = |share| self.0.value_at_quantile(share) as f64 / 1e3;
        let (p50, p90, p99) = (at(0.5), at(0.9), at(0.99));
        Percentiles { count: self.0.len(), p50, p90, p99, max: self.0.max() as f64 / 1e3 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_milliseconds() {
        let mut times = Times::new().unwrap();
        (1..=1000).for_each(|ms| times.add(Duration::from_millis(ms)));
        let p = times.percentiles();
        assert_eq!(p.count, 1000);
        for (is, should) in [(p.p50, 500.0), (p.p90, 900.0), (p.p99, 990.0), (p.max, 1000.0)] {
            assert!((is / should - 1.0).abs() < 0.002, "{is} for {should}");
        }
    }

    #[test]
    fn only_wrong_answers_are_wrong() {
        let mut outcome = Outcome::new().unwrap();
        outcome.fail(UNANSWERED);
        assert_eq!(outcome.wrong(), 0);
        outcome.fail("wrong content");
        assert_eq!(outcome.wrong(), 1);
        assert!(outcome.check("x").is_err());
    }
}

//! A run second by second: what was asked in each second, and how it went. Only sums are kept. The
//! experiments plot it, and `weir-lab load` shows it live.

use serde::{Deserialize, Serialize};

use crate::Record;

/// Seconds a series can have (eleven days); later requests are counted in [`Series::outside`].
pub const MOST_SECONDS: usize = 1_000_000;

/// The requests that were scheduled in one second of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Second {
    /// Requests: those that were complete and those that failed.
    pub requests: u64,
    /// Those with outcome [`crate::Outcome::Ok`].
    pub complete: u64,
    /// Those with any other outcome.
    pub failed: u64,
    /// Mean response time in seconds of the complete ones; `None` without any.
    pub mean: Option<f64>,
    /// The longest response time in seconds.
    pub max: Option<f64>,
}

/// A series by scheduled second, built record by record in any order. It grows with the length of
/// the run, not with the number of requests.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Series {
    seconds: Vec<Second>,
    outside: u64,
}

impl Series {
    /// The series of all `records`.
    pub fn of<'a>(records: impl IntoIterator<Item = &'a Record>) -> Series {
        let mut series = Series::default();
        records.into_iter().for_each(|record| series.add(record));
        series
    }

    /// Counts one record.
    pub fn add(&mut self, record: &Record) {
        let at = record.scheduled;
        if !(0.0..MOST_SECONDS as f64).contains(&at) {
            self.outside += 1;
            return;
        }
        let index = at as usize;
        if index >= self.seconds.len() {
            self.seconds.resize(index + 1, Second::default());
        }
        let second = &mut self.seconds[index];
        second.requests += 1;
        match record.response_time().filter(|time| time.is_finite()) {
            Some(time) => {
                second.complete += 1;
                let mean = second.mean.unwrap_or(0.0);
                second.mean = Some(mean + (time - mean) / second.complete as f64);
                second.max = Some(second.max.map_or(time, |max| max.max(time)));
            }
            None => second.failed += 1,
        }
    }

    /// Second by second from the start of the run to the last that has a request.
    pub fn seconds(&self) -> &[Second] {
        &self.seconds
    }

    /// Requests that are in no second: scheduled before the start, after [`MOST_SECONDS`], or at a
    /// time that is no number.
    pub fn outside(&self) -> u64 {
        self.outside
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Outcome;
    use crate::record::tests::record;

    #[test]
    fn requests_count_in_the_second_they_were_scheduled() {
        let series = Series::of(&[
            record(2.5, 1, Outcome::Ok, Some(4.0)),
            record(0.0, 1, Outcome::Ok, Some(1.0)),
            record(2.999, 1, Outcome::Ok, Some(2.0)),
            record(2.0, 1, Outcome::Reset, None),
            record(2.0, 1, Outcome::Status, Some(9.0)),
        ]);
        let [first, second, third] = series.seconds() else { panic!("{series:?}") };
        assert_eq!((first.requests, first.complete, first.mean), (1, 1, Some(1.0)));
        assert_eq!(*second, Second::default());
        assert_eq!((third.requests, third.complete, third.failed), (4, 2, 2));
        assert_eq!((third.mean, third.max), (Some(3.0), Some(4.0)));
        assert_eq!(series.outside(), 0);
    }

    #[test]
    fn times_beyond_any_run_are_counted_and_take_no_memory() {
        let times = [-0.5, f64::NAN, f64::INFINITY, 1e18];
        let records = times.map(|at| record(at, 1, Outcome::Reset, None));
        let series = Series::of(&records);
        assert_eq!((series.seconds().len(), series.outside()), (0, 4));
    }
}

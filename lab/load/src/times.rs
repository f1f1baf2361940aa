//! The distribution of times that the generator takes of itself, for its report: how late it started
//! requests (the start lag) and read responses (the read lag), and how long handshakes took.

use hdrhistogram::Histogram;

use crate::error::Error;

/// An hour in nanoseconds: more is counted as an hour.
const MOST: u64 = 3_600_000_000_000;

/// A distribution of times, to three digits.
pub(crate) struct Times(Histogram<u64>);

impl Times {
    pub(crate) fn new() -> Result<Times, Error> {
        let histogram = Histogram::new_with_bounds(1, MOST, 3)
            .map_err(|e| Error(format!("cannot make a histogram of times: {e}")))?;
        Ok(Times(histogram))
    }

    /// Something took so many seconds.
    pub(crate) fn add(&mut self, seconds: f64) {
        self.0.saturating_record((seconds * 1e9) as u64);
    }

    /// How many there are.
    pub(crate) fn count(&self) -> u64 {
        self.0.len()
    }

    /// 50th, 99th and 99.9th percentile and the most, in seconds; zeros of nothing.
    pub(crate) fn percentiles(&self) -> [f64; 4] {
        [0.5, 0.99, 0.999, 1.0].map(|q| match self.0.is_empty() {
            true => 0.0,
            false => self.0.value_at_quantile(q) as f64 / 1e9,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_in_seconds() {
        let mut times = Times::new().expect("bounds are right");
        assert_eq!((times.percentiles(), times.count()), ([0.0; 4], 0));
        for index in 1..=1000 {
            times.add(f64::from(index) * 1e-6);
        }
        assert_eq!(times.count(), 1000);
        for (value, expected) in times.percentiles().into_iter().zip([500e-6, 990e-6, 999e-6, 1e-3])
        {
            assert!((value / expected - 1.0).abs() < 2e-3, "{value} is not {expected}");
        }
    }
}

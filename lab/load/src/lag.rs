//! How late the generator itself started requests (the start lag), for its report.

use hdrhistogram::Histogram;

use crate::error::Error;

/// An hour in nanoseconds: more is counted as an hour.
const MOST: u64 = 3_600_000_000_000;

/// The distribution of start lags, to three digits.
pub(crate) struct Lags(Histogram<u64>);

impl Lags {
    pub(crate) fn new() -> Result<Lags, Error> {
        let histogram = Histogram::new_with_bounds(1, MOST, 3)
            .map_err(|e| Error(format!("cannot make the histogram of start lags: {e}")))?;
        Ok(Lags(histogram))
    }

    /// A request started so many seconds late.
    pub(crate) fn add(&mut self, seconds: f64) {
        self.0.saturating_record((seconds * 1e9) as u64);
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
        let mut lags = Lags::new().expect("bounds are right");
        assert_eq!(lags.percentiles(), [0.0; 4]);
        for index in 1..=1000 {
            lags.add(f64::from(index) * 1e-6);
        }
        for (value, expected) in lags.percentiles().into_iter().zip([500e-6, 990e-6, 999e-6, 1e-3])
        {
            assert!((value / expected - 1.0).abs() < 2e-3, "{value} is not {expected}");
        }
    }
}

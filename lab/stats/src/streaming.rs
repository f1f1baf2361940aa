//! The figures of a run of any length in constant memory: each record is counted and forgotten. For
//! `weir-lab load`. Percentiles are within 0.1 % here; [`crate::summary`] has them exactly, from
//! records that are kept.

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

use crate::size::SizeBins;
use crate::summary::SizeBin;
use crate::{Outcome, Record, Welford};

/// Significant digits of the histograms.
const DIGITS: u8 = 3;

/// Seconds above which a histogram says this much (a hundred days), so that its memory is bounded.
const MOST: f64 = 8_640_000.0;

/// Bins of size to each factor of 10: one is 2.3 % wide.
const BINS_PER_FACTOR: u32 = 100;

/// Counts records. Memory is flat: about a megabyte whatever the number of records (and 48 bytes
/// for each client class).
#[derive(Clone, Debug)]
pub struct Streaming {
    /// Response times of complete responses in nanoseconds.
    latency: Histogram<u64>,
    times: Welford,
    /// The same without the lag: from when the request did start to when the response can have been there.
    on_time: Histogram<u64>,
    /// Start lag in nanoseconds: it is compared with a hundredth of a latency.
    lag: Histogram<u64>,
    /// Read lag of complete responses, likewise.
    read_lag: Histogram<u64>,
    /// Start lag and read lag of complete responses together, in seconds.
    lags: Welford,
    outcomes: [u64; Outcome::ALL.len()],
    attempts: u64,
    bytes: u64,
    /// By class, up to the highest seen.
    classes: Vec<Class>,
    bins: SizeBins,
    sums: Vec<Sums>,
    unusable: u64,
}

/// What was counted of one client class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Class {
    /// Requests.
    pub requests: u64,
    /// Bytes of complete response bodies.
    pub bytes: u64,
    /// Response times in seconds of complete responses.
    pub times: Welford,
}

/// Sums over the complete responses of one bin of size.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    count: u64,
    bytes: f64,
    times: f64,
    /// Start lag and read lag together.
    lags: f64,
}

impl Default for Streaming {
    fn default() -> Streaming {
        Streaming::new()
    }
}

impl Streaming {
    /// Nothing counted yet.
    pub fn new() -> Streaming {
        let histogram = || Histogram::new(DIGITS).expect("0 to 5 digits are allowed, 3 are asked");
        let bins = SizeBins::new(BINS_PER_FACTOR);
        Streaming {
            latency: histogram(),
            times: Welford::default(),
            on_time: histogram(),
            lag: histogram(),
            read_lag: histogram(),
            lags: Welford::default(),
            outcomes: [0; Outcome::ALL.len()],
            attempts: 0,
            bytes: 0,
            classes: Vec::new(),
            sums: vec![Sums::default(); bins.count()],
            bins,
            unusable: 0,
        }
    }

    /// Counts one record. An invalid one ([`Record::check`]) is only counted as
    /// [`Streaming::unusable`].
    pub fn add(&mut self, record: &Record) {
        if record.check().is_err() {
            self.unusable += 1;
            return;
        }
        self.outcomes[index(record.outcome)] += 1;
        self.attempts += u64::from(record.attempts);
        count_into(&mut self.lag, record.lag(), 1e9);
        let class = usize::from(record.class);
        if class >= self.classes.len() {
            self.classes.resize(class + 1, Class::default());
        }
        let class = &mut self.classes[class];
        class.requests += 1;
        let Some(time) = record.response_time() else { return };
        class.bytes = class.bytes.saturating_add(record.size);
        class.times.add(time);
        self.bytes = self.bytes.saturating_add(record.size);
        self.times.add(time);
        let lag = record.whole_lag();
        self.lags.add(lag);
        count_into(&mut self.read_lag, record.read_lag, 1e9);
        count_into(&mut self.latency, time, 1e9);
        count_into(&mut self.on_time, time - lag, 1e9);
        let sums = &mut self.sums[self.bins.index(record.size)];
        sums.count += 1;
        sums.bytes += record.size as f64;
        sums.times += time;
        sums.lags += lag;
    }

    /// Counts everything that `other` counted.
    pub fn merge(&mut self, other: &Streaming) {
        self.latency.add(&other.latency).expect("a histogram that resizes takes any other");
        self.on_time.add(&other.on_time).expect("a histogram that resizes takes any other");
        self.lag.add(&other.lag).expect("a histogram that resizes takes any other");
        self.read_lag.add(&other.read_lag).expect("a histogram that resizes takes any other");
        self.times.merge(&other.times);
        self.lags.merge(&other.lags);
        self.outcomes.iter_mut().zip(other.outcomes).for_each(|(mine, its)| *mine += its);
        self.attempts += other.attempts;
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.unusable += other.unusable;
        let classes = self.classes.len().max(other.classes.len());
        self.classes.resize(classes, Class::default());
        for (mine, its) in self.classes.iter_mut().zip(&other.classes) {
            mine.requests += its.requests;
            mine.bytes = mine.bytes.saturating_add(its.bytes);
            mine.times.merge(&its.times);
        }
        for (mine, its) in self.sums.iter_mut().zip(&other.sums) {
            mine.count += its.count;
            mine.bytes += its.bytes;
            mine.times += its.times;
            mine.lags += its.lags;
        }
    }

    /// Requests counted, complete or not.
    pub fn requests(&self) -> u64 {
        self.outcomes.iter().sum()
    }

    /// Requests of each outcome.
    pub fn outcome(&self, outcome: Outcome) -> u64 {
        self.outcomes[index(outcome)]
    }

    /// Times a request was sent, first attempts and retries.
    pub fn attempts(&self) -> u64 {
        self.attempts
    }

    /// Bytes of complete response bodies.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Invalid records; they are in none of the other figures.
    pub fn unusable(&self) -> u64 {
        self.unusable
    }

    /// By client class, from class 0 to the highest seen.
    pub fn classes(&self) -> &[Class] {
        &self.classes
    }

    /// Mean and variance of the response times in seconds, exact.
    pub fn times(&self) -> &Welford {
        &self.times
    }

    /// A percentile of the response times in seconds (`share` from 0 to 1), within 0.1 % or 1 ns,
    /// whichever is more. `None` without complete responses or when the share is out of range.
    pub fn percentile(&self, share: f64) -> Option<f64> {
        percentile(&self.latency, share, 1e9)
    }

    /// By how many seconds at most the mean of the response times would be less had every request started
    /// in time and every response been read when it was there; never below zero.
    pub fn lag_in_mean(&self) -> Option<f64> {
        self.lags.mean()
    }

    /// The same of a percentile.
    pub fn lag_in_percentile(&self, share: f64) -> Option<f64> {
        let on_time = percentile(&self.on_time, share, 1e9)?;
        Some((self.percentile(share)? - on_time).max(0.0))
    }

    /// A percentile of the start lag in seconds; an early start counts as no lag. Within 0.1 % or
    /// 1 ns, whichever is more. `None` without records or when the share is out of range.
    pub fn lag(&self, share: f64) -> Option<f64> {
        percentile(&self.lag, share, 1e9)
    }

    /// The same of the read lag of complete responses.
    pub fn read_lag(&self, share: f64) -> Option<f64> {
        percentile(&self.read_lag, share, 1e9)
    }

    /// Estimate of the mean response time in seconds of the largest `share` of the complete
    /// responses (0.01 for the largest 1 %), at least one: bins of size from the largest down, and
    /// of the last bin that is needed its mean for as many as are missing. It is off by no more
    /// than what times differ within a bin, whose sizes are within 2.3 %. `None` without complete
    /// responses or when the share is not from 0 to 1.
    pub fn largest(&self, share: f64) -> Option<f64> {
        self.mean_of_largest(share, |sums| sums.times)
    }

    /// By how many seconds at most [`Streaming::largest`] would be less had every request started in time
    /// and every response been read when it was there: large responses can be read late several times.
    pub fn lag_in_largest(&self, share: f64) -> Option<f64> {
        self.mean_of_largest(share, |sums| sums.lags)
    }

    fn mean_of_largest(&self, share: f64, sum_of: impl Fn(&Sums) -> f64) -> Option<f64> {
        if self.times.count() == 0 || !(0.0..=1.0).contains(&share) {
            return None;
        }
        let wanted = (self.times.count() as f64 * share).ceil().max(1.0);
        let mut missing = wanted;
        let mut sum = 0.0;
        for sums in self.sums.iter().rev().filter(|sums| sums.count > 0) {
            let taken = missing.min(sums.count as f64);
            sum += sum_of(sums) * taken / sums.count as f64;
            missing -= taken;
            if missing <= 0.0 {
                break;
            }
        }
        Some(sum / wanted)
    }

    /// Bins of size with at least one complete response, smallest first, 100 to each factor of 10.
    pub fn by_size(&self) -> Vec<SizeBin> {
        let bin = |(bin, sums): (usize, &Sums)| {
            let (from, below) = self.bins.bounds(bin).filter(|_| sums.count > 0)?;
            let (mean_size, mean_time) =
                (sums.bytes / sums.count as f64, sums.times / sums.count as f64);
            Some(SizeBin { from, below, count: sums.count as usize, mean_size, mean_time })
        };
        self.sums.iter().enumerate().filter_map(bin).collect()
    }
}

/// The outcome's place in [`Outcome::ALL`], which is in the order of declaration.
fn index(outcome: Outcome) -> usize {
    outcome as usize
}

/// Counts so many seconds in a histogram with `per_second` units.
fn count_into(histogram: &mut Histogram<u64>, seconds: f64, per_second: f64) {
    let units = (seconds.clamp(0.0, MOST) * per_second).round() as u64;
    histogram.record(units).expect("a histogram that resizes takes any value of 64 bits");
}

fn percentile(histogram: &Histogram<u64>, share: f64, per_second: f64) -> Option<f64> {
    let known = !histogram.is_empty() && (0.0..=1.0).contains(&share);
    known.then(|| histogram.value_at_quantile(share) as f64 / per_second)
}

#[cfg(test)]
mod tests;

//! What the uplink carried in each of the last seconds, and how many responses waited for it. Used by
//! the admin page and by `/metrics`.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval};
use weir_sched::Time;

use crate::sys::clock;
use crate::uplink::Uplink;

/// Seconds that are remembered.
const KEPT: usize = 300;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct History(Mutex<VecDeque<Sample>>);

#[derive(Clone, Copy, Debug)]
struct Sample {
    at: Time,
    /// Bytes sent since the server started ([`Uplink::bytes_sent`]).
    bytes: u64,
    waiting: usize,
}

/// One second or so.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Second {
    /// Bytes sent a second.
    pub(crate) used: f64,
    /// Responses that waited at its end.
    pub(crate) waiting: usize,
}

impl History {
    /// Looks at the uplink once a second, for as long as the server runs.
    pub(crate) async fn keep(&self, uplink: &Uplink) {
        let mut turns = interval(Duration::from_secs(1));
        turns.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            turns.tick().await;
            self.add(clock::now(), uplink.bytes_sent(), uplink.waiting());
        }
    }

    fn add(&self, at: Time, bytes: u64, waiting: usize) {
        let mut samples = self.lock();
        // One more than seconds: each lies between two.
        if samples.len() > KEPT {
            samples.pop_front();
        }
        samples.push_back(Sample { at, bytes, waiting });
    }

    /// The last seconds, the oldest first: 300 at most.
    pub(crate) fn seconds(&self) -> Vec<Second> {
        let samples = self.lock();
        let pairs = samples.iter().zip(samples.iter().skip(1));
        pairs.map(|(from, to)| Second { used: rate(from, to), waiting: to.waiting }).collect()
    }

    /// Bytes sent a second over the last `span`, or as much of it as is known.
    pub(crate) fn used(&self, span: Duration) -> f64 {
        let samples = self.lock();
        let Some(last) = samples.back() else { return 0.0 };
        let within = |sample: &&Sample| last.at.since(sample.at) <= span;
        samples.iter().find(within).map_or(0.0, |first| rate(first, last))
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Sample>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn rate(from: &Sample, to: &Sample) -> f64 {
    let seconds = to.at.since(from.at).as_secs_f64();
    // What was given back can be more than what was charged since.
    let bytes = to.bytes.saturating_sub(from.bytes);
    if seconds > 0.0 { bytes as f64 / seconds } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: f64) -> Time {
        Time::from_nanos((seconds * 1e9) as u64)
    }

    #[test]
    fn rates_follow_from_what_was_carried_between_looks() {
        let history = History::default();
        assert_eq!((history.seconds(), history.used(Duration::MAX)), (Vec::new(), 0.0));
        history.add(at(1.0), 500, 3);
        assert_eq!((history.seconds(), history.used(Duration::MAX)), (Vec::new(), 0.0));
        for (when, bytes, waiting) in
            [(2.0, 1500, 2), (4.0, 1500, 0), (4.5, 1400, 1), (5.0, 2500, 1)]
        {
            history.add(at(when), bytes, waiting);
        }
        let second = |used, waiting| Second { used, waiting };
        let expected = [second(1000.0, 2), second(0.0, 0), second(0.0, 1), second(2200.0, 1)];
        assert_eq!(history.seconds(), expected);
        assert_eq!(history.used(Duration::from_secs(1)), 1000.0);
        assert_eq!(history.used(Duration::from_secs(60)), 500.0);
    }

    #[test]
    fn five_minutes_are_kept() {
        let history = History::default();
        for second in 0..1000_u32 {
            history.add(at(f64::from(second)), u64::from(second).pow(2), 0);
        }
        let seconds = history.seconds();
        assert_eq!(seconds.len(), 300);
        assert_eq!(seconds[299].used, 999.0 * 999.0 - 998.0 * 998.0);
    }
}

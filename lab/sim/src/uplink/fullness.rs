//! When a link was full, and how much waited for it. Where clients have no limits of their own, both
//! are the same under every policy that leaves no link idle while somebody waits, so none is asked.

use weir_sched::BitRate;

use super::Invalid;
use super::coarse::{Asked, can_be_played};

/// A second in which the link sends for so much of the time is full (Carter's check goes on above
/// 95 % over the last second).
const FULL: f64 = 0.95;

/// When a link was full.
#[derive(Clone, Debug, PartialEq)]
pub struct Fullness {
    /// Spans of whole seconds in which the link sent for at least 95 % of the time, in order.
    pub spans: Vec<(f64, f64)>,
    /// Seconds from 0 to when the last byte was sent.
    pub until: f64,
    /// Seconds in which it sent anything.
    pub busy: f64,
    /// When the most bytes that the link had been given waited for it, and how many.
    pub peak: (f64, f64),
}

impl Fullness {
    /// Seconds in all spans.
    pub fn seconds(&self) -> f64 {
        self.spans.iter().map(|(from, to)| to - from).sum()
    }

    /// The span that is longest; the first of several.
    pub fn longest(&self) -> Option<(f64, f64)> {
        let longer = |a: (f64, f64), b: (f64, f64)| if b.1 - b.0 > a.1 - a.0 { b } else { a };
        self.spans.iter().copied().reduce(longer)
    }

    /// Whether the link was full at a time.
    pub fn is_full(&self, at: f64) -> bool {
        let after = self.spans.partition_point(|(from, _)| *from <= at);
        after > 0 && at < self.spans[after - 1].1
    }
}

/// When a link of `rate` is full.
///
/// # Errors
///
/// Requests that cannot be played, as for [`finishes`](super::finishes).
pub fn fullness(rate: BitRate, requests: &[Asked]) -> Result<Fullness, Invalid> {
    can_be_played(rate, requests)?;
    let mut meter = Meter::new(rate);
    for asked in requests {
        meter.send(asked.at, asked.bytes.max(1));
    }
    Ok(meter.found())
}

/// Watches what a link is given.
#[derive(Debug)]
pub(super) struct Meter {
    /// Bytes a second.
    speed: f64,
    free_at: f64,
    /// The second that is being filled, and for how long the link has sent in it.
    second: f64,
    filled: f64,
    busy: f64,
    peak: (f64, f64),
    spans: Vec<(f64, f64)>,
}

impl Meter {
    /// Of a link of `rate`.
    pub(super) fn new(rate: BitRate) -> Meter {
        Meter {
            speed: rate.bits() as f64 / 8.0,
            free_at: 0.0,
            second: 0.0,
            filled: 0.0,
            busy: 0.0,
            peak: (0.0, 0.0),
            spans: Vec::new(),
        }
    }

    /// The link is given `bytes` at `at` seconds, not before those that it was given last; it sends
    /// them as soon as it can.
    pub(super) fn send(&mut self, at: f64, bytes: u64) {
        let mut from = at.max(self.free_at);
        let end = from + bytes as f64 / self.speed;
        self.free_at = end;
        self.busy += end - from;
        let waiting = (end - at) * self.speed;
        if waiting > self.peak.1 {
            self.peak = (at, waiting);
        }
        while from < end {
            if from.floor() != self.second {
                self.second = from.floor();
                self.filled = 0.0;
            }
            let second = self.second;
            // Whole seconds at once: a response may take hours.
            let whole = if from == second { (end - from).floor() } else { 0.0 };
            let to = if whole > 1.0 { from + whole } else { end.min(second + 1.0) };
            let was = self.filled;
            self.filled += to - from;
            if was < FULL && self.filled >= FULL {
                let end = if whole > 1.0 { to } else { second + 1.0 };
                match self.spans.last_mut() {
                    Some(last) if last.1 == second => last.1 = end,
                    _ => self.spans.push((second, end)),
                }
            }
            from = to;
        }
    }

    /// What it came to.
    pub(super) fn found(self) -> Fullness {
        Fullness { spans: self.spans, until: self.free_at, busy: self.busy, peak: self.peak }
    }
}

/// The most bytes that wait in each of `bins` equal parts of the time from 0 to `until`: the middle
/// of the part, and the bytes. Requests are in order of time.
pub fn backlog(rate: BitRate, requests: &[Asked], until: f64, bins: usize) -> Vec<(f64, f64)> {
    let speed = rate.bits() as f64 / 8.0;
    let width = until / bins.max(1) as f64;
    let mut requests = requests.iter().peekable();
    let (mut free_at, mut most) = (0.0_f64, Vec::with_capacity(bins));
    for bin in 0..bins {
        let (from, to) = (bin as f64 * width, (bin + 1) as f64 * width);
        let mut waiting = (free_at - from).max(0.0);
        while let Some(asked) = requests.next_if(|asked| asked.at < to || bin + 1 == bins) {
            free_at = asked.at.max(free_at) + asked.bytes.max(1) as f64 / speed;
            waiting = waiting.max(free_at - asked.at);
        }
        most.push(((from + to) / 2.0, waiting * speed));
    }
    most
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1000 bytes a second.
    fn rate() -> BitRate {
        BitRate::new(8000).unwrap()
    }

    fn asked(list: &[(f64, u64)]) -> Vec<Asked> {
        list.iter().map(|&(at, bytes)| Asked { at, bytes }).collect()
    }

    #[test]
    fn full_seconds_are_those_with_little_idle_time() {
        // Busy from 0.5 to 1.4, from 2.02 to 5.5, and from 7 to 7.97 in two parts.
        let requests =
            asked(&[(0.5, 900), (2.02, 3480), (7.0, 500), (7.5, 470), (9.0, 100), (9.0, 100)]);
        let found = fullness(rate(), &requests).unwrap();
        assert_eq!(found.spans, [(2.0, 5.0), (7.0, 8.0)]);
        assert_eq!((found.seconds(), found.longest()), (4.0, Some((2.0, 5.0))));
        assert!((found.until - 9.2).abs() < 1e-9 && (found.busy - 5.55).abs() < 1e-9);
        assert!((found.peak.0, found.peak.1.round()) == (2.02, 3480.0));
        let full = [1.9, 2.0, 4.999, 5.0, 7.5, 8.0].map(|at| found.is_full(at));
        assert_eq!(full, [false, true, true, false, true, false]);
    }

    #[test]
    fn a_response_of_years_is_one_span() {
        let found = fullness(rate(), &asked(&[(0.25, 1_000_000_000_000)])).unwrap();
        assert_eq!(found.spans, [(1.0, 1e9)]);
        assert!(fullness(rate(), &asked(&[(0.0, u64::MAX)])).is_err());
    }

    #[test]
    fn the_backlog_falls_at_the_rate_and_rises_at_arrivals() {
        let requests = asked(&[(0.5, 2000), (1.0, 1000)]);
        let waiting = backlog(rate(), &requests, 4.0, 4);
        let rounded: Vec<_> = waiting.iter().map(|(at, w)| (*at, w.round())).collect();
        assert_eq!(rounded, [(0.5, 2000.0), (1.5, 2500.0), (2.5, 1500.0), (3.5, 500.0)]);
        assert_eq!(backlog(rate(), &[], 0.0, 2), [(0.0, 0.0), (0.0, 0.0)]);
    }
}

//! The minimum data rate of clients (`min_rate`), in bodies of requests and in responses. Only time in
//! which the client alone was waited for counts, so that no backend, uplink or disk makes a client slow.
//! Used by `send` and by the proxy's reader of bodies.

use std::time::Duration;

/// See the module.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MinRate {
    /// 0: clients may be as slow as they like.
    pub(crate) bytes_per_second: u64,
    /// The rate is averaged over so long.
    pub(crate) period: Duration,
}

/// How fast one client reads or sends one body.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    rate: MinRate,
    /// How long the client has been waited for in this period.
    waited: Duration,
    /// Bytes of the body that it had taken, or sent, when the period began.
    from: i64,
}

impl Pace {
    /// `from`: bytes that the client has taken, or sent, so far; only differences count.
    pub(crate) fn new(rate: MinRate, from: i64) -> Pace {
        Pace { rate, waited: Duration::ZERO, from }
    }

    /// How long the client may be waited for before it is judged.
    pub(crate) fn left(&self) -> Duration {
        match self.rate.bytes_per_second {
            0 => Duration::MAX,
            _ => self.rate.period.saturating_sub(self.waited),
        }
    }

    /// The client was waited for.
    pub(crate) fn waited(&mut self, time: Duration) {
        self.waited += time;
    }

    /// Whether the client was too slow in a period that is over; then the next one begins. `to`: bytes
    /// that it has taken, or sent, so far; asked for at the end of a period only.
    pub(crate) fn is_too_slow(&mut self, to: impl FnOnce() -> i64) -> bool {
        if !self.left().is_zero() {
            return false;
        }
        let to = to();
        let moved = to.saturating_sub(self.from) as f64;
        let least = self.rate.bytes_per_second as f64 * self.waited.as_secs_f64();
        *self = Pace::new(self.rate, to);
        moved < least
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: MinRate = MinRate { bytes_per_second: 100, period: Duration::from_secs(30) };

    /// Seconds of waiting for a client that does so many bytes in each, until it is too slow.
    fn lasts(rate: MinRate, bytes: impl Fn(u64) -> i64) -> Option<u64> {
        let mut pace = Pace::new(rate, -7);
        let mut moved = -7;
        (0..10_000).find(|second| {
            moved += bytes(*second);
            pace.waited(Duration::from_secs(1));
            pace.is_too_slow(|| moved)
        })
    }

    #[test]
    fn who_is_slower_on_average_is_found_at_the_end_of_a_period() {
        assert_eq!(lasts(RATE, |_| 100), None);
        assert_eq!(lasts(RATE, |_| 99), Some(29));
        // In bursts, as long as each period has enough of them.
        assert_eq!(lasts(RATE, |second| if second % 30 == 3 { 3000 } else { 0 }), None);
        // What was fast before does not excuse a client for ever.
        assert_eq!(lasts(RATE, |second| if second < 10 { 1 << 30 } else { 0 }), Some(59));
        assert_eq!(lasts(MinRate { bytes_per_second: 0, ..RATE }, |_| 0), None);
    }

    #[test]
    fn only_waiting_counts() {
        let mut pace = Pace::new(RATE, 0);
        assert_eq!(pace.left(), RATE.period);
        for _ in 0..29 {
            pace.waited(Duration::from_secs(1));
            assert!(!pace.is_too_slow(|| unreachable!("it is not over")));
        }
        assert_eq!(pace.left(), Duration::from_secs(1));
        pace.waited(Duration::from_secs(2));
        assert!(pace.is_too_slow(|| 3099));
    }
}

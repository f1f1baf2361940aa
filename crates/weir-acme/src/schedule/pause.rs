//! A time that nothing is done in, which ends even if the clock jumps. Used by the plan.

use std::time::{Duration, SystemTime};

/// A pause of a given length. It never takes longer than its length from when it was last asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pause {
    since: SystemTime,
    length: Duration,
}

impl Pause {
    /// Begins at `now`.
    pub(crate) fn new(now: SystemTime, length: Duration) -> Pause {
        Pause { since: now, length }
    }

    /// How much is left. If the clock was set back to before its beginning, it begins anew.
    pub(crate) fn left(&mut self, now: SystemTime) -> Duration {
        match now.duration_since(self.since) {
            Ok(over) => self.length.saturating_sub(over),
            Err(_) => {
                self.since = now;
                self.length
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    #[test]
    fn a_pause_passes_with_the_clock() {
        let start = SystemTime::UNIX_EPOCH + 1000 * HOUR;
        let mut pause = Pause::new(start, 2 * HOUR);
        assert_eq!(pause.left(start), 2 * HOUR);
        assert_eq!(pause.left(start + HOUR), HOUR);
        assert_eq!(pause.left(start + 3 * HOUR), Duration::ZERO);
    }

    #[test]
    fn a_clock_that_is_set_back_makes_it_begin_anew() {
        let start = SystemTime::UNIX_EPOCH + 1000 * HOUR;
        let mut pause = Pause::new(start, 2 * HOUR);
        let earlier = start - 900 * HOUR;
        assert_eq!(pause.left(earlier), 2 * HOUR);
        assert_eq!(pause.left(earlier + 2 * HOUR), Duration::ZERO);
    }
}

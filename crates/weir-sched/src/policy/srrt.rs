//! Shortest remaining response time (Al Sa'deh & Yahya 2008): what is left times the round trip by the
//! congestion window, which is how long the path alone takes for it. The near goes first, where SWIFT
//! sends the far first.

use std::time::Duration;

use super::ranked::{Facts, Ranked, Rule};
use super::{Descriptor, Needs, PolicyKind};

/// See the module.
pub const SRRT: PolicyKind = PolicyKind::new(&Descriptor {
    name: "srrt",
    help: "the least left times round trip by congestion window first: the near before the far",
    needs: Needs { path_updates: true, ..Needs::SIZES },
    build: |_| Box::new(Ranked::new(Srrt)),
});

#[derive(Debug)]
pub(super) struct Srrt;

/// A round trip that is not known (zero) or shorter counts as this one, which is a grant of the
/// gate: a response is not preferred for a path that takes less than its turn on the link.
const SHORTEST: Duration = Duration::from_millis(1);

/// A window that is not known (zero) counts as ten full segments (RFC 6928).
const WINDOW: u64 = 10 * 1460;

impl Rule for Srrt {
    /// Nanoseconds; what takes centuries is alike.
    type Key = u64;

    fn key(&self, job: &Facts) -> u64 {
        let window = if job.path.window == 0 { WINDOW } else { job.path.window };
        let round_trip = job.path.round_trip.max(SHORTEST).as_nanos();
        let time = u128::from(job.remaining).saturating_mul(round_trip) / u128::from(window);
        u64::try_from(time).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Path;

    fn key(remaining: u64, round_trip: Duration, window: u64) -> u64 {
        let path = Path { round_trip, window, window_credit: 0 };
        Srrt.key(&Facts { remaining, path, ..Facts::default() })
    }

    #[test]
    fn it_is_the_time_that_the_path_alone_takes() {
        let millis = Duration::from_millis;
        assert_eq!(key(30_000, millis(50), 10_000), 150_000_000);
        assert!(key(30_000, millis(50), 10_000) > key(30_000, millis(50), 20_000));
        assert!(key(30_000, millis(50), 10_000) > key(30_000, millis(20), 10_000));
    }

    #[test]
    fn of_unknown_paths_the_least_left_goes_first() {
        assert!(key(999, Duration::ZERO, 0) < key(1_000, Duration::ZERO, 0));
        assert_eq!(key(1_000, Duration::ZERO, 0), key(1_000, SHORTEST / 2, WINDOW));
    }

    #[test]
    fn no_path_is_too_long() {
        assert_eq!(key(u64::MAX, Duration::MAX, 1), u64::MAX);
        assert_eq!(key(1, Duration::MAX, u64::MAX), 1_000_000_000);
    }
}

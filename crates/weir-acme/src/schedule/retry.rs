//! How long to wait after failed attempts. Used by the plan.
//!
//! An attempt that the ACME server refused counts there: Let's Encrypt allows five failed validations
//! of a name in an hour. With waits of 5, 10, 20 and 40 minutes there are at most four attempts in the
//! first hour. An attempt that never got so far (no network yet, server down) costs nobody anything and
//! begins with ten seconds.

use std::time::Duration;

/// The first wait after an attempt that the server did not judge.
pub(crate) const FIRST_UNJUDGED: Duration = Duration::from_secs(10);
/// The first wait after an attempt that the server refused.
pub(crate) const FIRST_REFUSED: Duration = Duration::from_secs(5 * 60);
/// Waits double up to here. The last third of the shortest lives that are sold, six days, has room for
/// eight attempts.
pub(crate) const LONGEST: Duration = Duration::from_secs(6 * 3600);
/// A server that says when to come again is believed up to here.
pub(crate) const LONGEST_ASKED: Duration = Duration::from_secs(24 * 3600);
/// Waits are longer by up to this share, so that servers that failed together do not come together.
pub(crate) const JITTER: f64 = 0.25;

/// What the wait depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Setback {
    /// The ACME server judged the attempt, and refused.
    pub(crate) is_refusal: bool,
    /// How long the server says to wait (Retry-After, RFC 8555 section 6.6).
    pub(crate) retry_after: Option<Duration>,
}

/// How long to wait after the `failures`th failure in a row, 1 being the first; `draw` is between 0
/// and 1.
pub(crate) fn wait(failures: u32, setback: Setback, draw: f64) -> Duration {
    let first = if setback.is_refusal { FIRST_REFUSED } else { FIRST_UNJUDGED };
    let doubled = 2_u32.saturating_pow(failures.saturating_sub(1));
    let grown = first.saturating_mul(doubled).min(LONGEST);
    let asked = setback.retry_after.unwrap_or_default().min(LONGEST_ASKED);
    grown.max(asked).mul_f64(1.0 + JITTER * draw.clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const REFUSED: Setback = Setback { is_refusal: true, retry_after: None };
    const UNJUDGED: Setback = Setback { is_refusal: false, retry_after: None };

    #[test]
    fn waits_double_up_to_the_longest() {
        let minutes = |failures| wait(failures, REFUSED, 0.0).as_secs() / 60;
        assert_eq!([1, 2, 3, 4].map(minutes), [5, 10, 20, 40]);
        assert_eq!(wait(1, UNJUDGED, 0.0), FIRST_UNJUDGED);
        assert_eq!(wait(u32::MAX, UNJUDGED, 0.0), LONGEST);
    }

    #[test]
    fn a_server_that_says_when_is_believed_up_to_a_day() {
        let asked =
            |seconds| Setback { is_refusal: true, retry_after: Some(Duration::from_secs(seconds)) };
        assert_eq!(wait(1, asked(3600), 0.0), Duration::from_secs(3600));
        assert_eq!(wait(1, asked(1), 0.0), FIRST_REFUSED);
        assert_eq!(wait(1, asked(u64::MAX), 0.0), LONGEST_ASKED);
    }

    proptest! {
        #[test]
        fn waits_are_bounded_and_grow(
            failures in 1u32.., is_refusal: bool, asked in proptest::option::of(0u64..),
            draw in 0.0f64..1.0,
        ) {
            let setback = Setback { is_refusal, retry_after: asked.map(Duration::from_secs) };
            let wait_now = wait(failures, setback, draw);
            prop_assert!(wait_now >= FIRST_UNJUDGED);
            prop_assert!(wait_now <= LONGEST_ASKED.mul_f64(1.0 + JITTER));
            prop_assert!(wait(failures.saturating_add(1), setback, draw) >= wait_now);
        }
    }
}

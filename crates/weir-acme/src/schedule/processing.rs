//! When to look again at an order whose certificate the ACME server is still making (RFC 8555 section
//! 7.4), and for how long. Used by the authority; the plan waits as long as it says.
//!
//! A new order instead would begin at the end of the server's queue once more, and counts there.

use std::time::Duration;

use super::retry::LONGEST_ASKED;

/// An order that is older is given up.
pub(crate) const LONGEST_PROCESSING: Duration = Duration::from_secs(24 * 3600);
/// The shortest time between two looks, if the server asks for no longer one.
const SOONEST_LOOK: Duration = Duration::from_secs(15);
/// The longest, likewise.
const LATEST_LOOK: Duration = Duration::from_secs(30 * 60);

/// How long to wait before the next look at an order of this age: a quarter of it, so that the times
/// grow, after a restart too. `asked`: how long the server says to wait.
pub(crate) fn next_look(age: Duration, asked: Option<Duration>) -> Duration {
    let grown = (age / 4).clamp(SOONEST_LOOK, LATEST_LOOK);
    grown.max(asked.unwrap_or_default().min(LONGEST_ASKED))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    #[test]
    fn looks_become_rarer_and_never_too_rare() {
        let looks = |most: Duration| {
            let mut age = Duration::ZERO;
            let mut waits = Vec::new();
            while age < most {
                waits.push(next_look(age, None));
                age += *waits.last().unwrap();
            }
            waits
        };
        let of_a_day = looks(LONGEST_PROCESSING);
        assert!(of_a_day.is_sorted(), "{of_a_day:?}");
        assert_eq!(of_a_day.first(), Some(&SOONEST_LOOK));
        assert_eq!(of_a_day.last(), Some(&LATEST_LOOK));
        assert!(of_a_day.len() < 80, "{}", of_a_day.len());
        assert!(looks(10 * MINUTE).len() < 20, "{}", looks(10 * MINUTE).len());
    }

    #[test]
    fn a_server_that_says_when_is_believed_up_to_a_day() {
        assert_eq!(next_look(Duration::ZERO, Some(5 * MINUTE)), 5 * MINUTE);
        assert_eq!(next_look(120 * MINUTE, Some(MINUTE)), LATEST_LOOK);
        assert_eq!(next_look(Duration::ZERO, Some(Duration::MAX)), LONGEST_ASKED);
        assert_eq!(next_look(Duration::MAX, None), LATEST_LOOK);
    }
}

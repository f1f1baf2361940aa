//! When a certificate is renewed: in the window that the ACME server suggests (ARI, RFC 9773), or when
//! two thirds of its life are over. Used by the plan.

use std::time::{Duration, SystemTime};

use super::life::Life;

/// The share of a life after which a certificate is renewed if the ACME server suggests nothing.
pub(crate) const DUE: f64 = 2.0 / 3.0;
/// Certificates that were obtained together are renewed over this share of their life, so that a farm
/// of servers does not ask all at once: a day and a half of 90 days.
pub(crate) const SPREAD: f64 = 1.0 / 60.0;
/// No suggestion puts a renewal off beyond this share: then attempts can still fail for some days.
pub(crate) const LATEST: f64 = 0.9;

/// The shortest and longest times between two questions for renewal information (RFC 9773 section
/// 4.3.2), and the one when the server names none or cannot be asked (section 4.3.3).
pub(crate) const SOONEST_QUESTION: Duration = Duration::from_secs(60);
/// See [`SOONEST_QUESTION`].
pub(crate) const LATEST_QUESTION: Duration = Duration::from_secs(24 * 3600);
/// See [`SOONEST_QUESTION`].
pub(crate) const USUAL_QUESTION: Duration = Duration::from_secs(6 * 3600);

/// The time in which an ACME server suggests renewal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Window {
    start: SystemTime,
    length: Duration,
}

impl Window {
    /// `None` if it does not end after its start: such a window counts as none (RFC 9773 section 4.2).
    pub(crate) fn new(start: SystemTime, end: SystemTime) -> Option<Window> {
        let length = end.duration_since(start).ok().filter(|length| !length.is_zero())?;
        Some(Window { start, length })
    }
}

/// When a certificate with this life is renewed. `draw`, 0 to 1, is drawn once for each certificate
/// and says where in the window (RFC 9773 section 4.2), or in the spread.
pub(crate) fn renewal_time(life: Life, window: Option<Window>, draw: f64) -> SystemTime {
    let draw = draw.clamp(0.0, 1.0);
    match window {
        Some(window) => {
            let chosen = window.start.checked_add(window.length.mul_f64(draw));
            let latest = life.after(LATEST);
            chosen.map_or(latest, |chosen| chosen.min(latest))
        }
        None => life.after(DUE + SPREAD * draw),
    }
}

/// How long after an answer the server is asked again; `told`: what it said.
pub(crate) fn next_question(told: Option<Duration>) -> Duration {
    told.map_or(USUAL_QUESTION, |told| told.clamp(SOONEST_QUESTION, LATEST_QUESTION))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const DAY: Duration = Duration::from_secs(24 * 3600);

    fn at(days: u32) -> SystemTime {
        SystemTime::UNIX_EPOCH + DAY * days
    }

    #[test]
    fn without_a_window_two_thirds_of_the_life_decide() {
        let life = Life { not_before: at(20_000), not_after: at(20_090) };
        assert_eq!(renewal_time(life, None, 0.0), at(20_060));
        let last = renewal_time(life, None, 1.0).duration_since(at(20_061)).unwrap();
        assert!(last.abs_diff(DAY / 2) < Duration::from_secs(1), "{last:?}");
    }

    #[test]
    fn a_window_decides_before_the_life_does() {
        let life = Life { not_before: at(20_000), not_after: at(20_090) };
        let window = |start, end| Window::new(at(start), at(end));
        assert_eq!(renewal_time(life, window(20_010, 20_020), 0.5), at(20_015));
        // Revoked: the window is over.
        assert_eq!(renewal_time(life, window(19_000, 19_001), 0.0), at(19_000));
        // Put off until it is too late: not that late.
        assert_eq!(renewal_time(life, window(20_089, 20_095), 1.0), at(20_081));
    }

    #[test]
    fn a_window_that_ends_before_its_start_is_none() {
        assert_eq!(Window::new(at(2), at(1)), None);
        assert_eq!(Window::new(at(2), at(2)), None);
    }

    #[test]
    fn questions_are_neither_incessant_nor_forgotten() {
        assert_eq!(next_question(None), USUAL_QUESTION);
        assert_eq!(next_question(Some(Duration::ZERO)), SOONEST_QUESTION);
        assert_eq!(next_question(Some(Duration::MAX)), LATEST_QUESTION);
    }

    proptest! {
        #[test]
        fn whatever_is_suggested_there_is_time_left(
            start in 0u64..4_000_000_000, length in 0u64..400_000_000,
            window in proptest::option::of((0u64..5_000_000_000, 0u64..u64::from(u32::MAX))),
            draw in 0.0f64..1.0,
        ) {
            let seconds = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
            let life = Life { not_before: seconds(start), not_after: seconds(start + length) };
            let window = window.and_then(|(start, length)| {
                Window::new(seconds(start), seconds(start + length))
            });
            let time = renewal_time(life, window, draw);
            prop_assert!(time <= life.after(LATEST));
            if window.is_none() {
                prop_assert!(time >= life.after(DUE));
                prop_assert!(time <= life.after(DUE + SPREAD));
            }
        }
    }
}

//! How long a client takes nothing of what it was sent (`send_timeout`). Only time in which the client alone
//! was waited for counts, and not that in which its packets wait for a device of this host. Used by `send`;
//! the end of a connection looks as often.

use std::time::Duration;

/// How often it is looked whether a connection in the kernel's bands has packets in this host, and whether its
/// client has taken something while there is nothing to send. The kernel has no event for either.
pub(crate) const LOOK: Duration = Duration::from_secs(1);

/// A client that is waited for until it takes more.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stall {
    /// How long it may take nothing.
    longest: Duration,
    /// Bytes that it had taken when this began; only differences count.
    taken: i64,
    /// How long it has been waited for since.
    waited: Duration,
}

impl Stall {
    /// `taken`: bytes that the client has taken so far.
    pub(crate) fn new(longest: Duration, taken: i64) -> Stall {
        Stall { longest, taken, waited: Duration::ZERO }
    }

    /// How long the client may be waited for before it is judged.
    pub(crate) fn left(&self) -> Duration {
        self.longest.saturating_sub(self.waited)
    }

    /// The client was waited for.
    pub(crate) fn waited(&mut self, time: Duration) {
        self.waited += time;
    }

    /// Whether the longest time is over and the client has taken nothing in it; if it has, another one begins.
    /// `taken`: bytes so far; asked for when the time is over.
    pub(crate) fn is_over(&mut self, taken: impl FnOnce() -> i64) -> bool {
        if !self.left().is_zero() {
            return false;
        }
        let before = self.taken;
        *self = Stall::new(self.longest, taken());
        before == self.taken
    }
}

/// A client that there is nothing to send to at times, while its response waits for a backend. What it was
/// sent before it is to take nevertheless.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Lull {
    /// Since the look that found the client to owe what it owes; `None`: at the last look it owed nothing.
    stall: Option<Stall>,
    /// How long there was nothing to send since the last look.
    unlooked: Duration,
}

impl Lull {
    /// How long there may be nothing to send until the next look. `longest`: how long the client may take
    /// nothing.
    pub(crate) fn until_look(&self, longest: Duration) -> Duration {
        LOOK.min(longest).saturating_sub(self.unlooked)
    }

    /// There was nothing to send for so long.
    pub(crate) fn waited(&mut self, time: Duration) {
        self.unlooked += time;
    }

    /// A look: whether the client has taken nothing for `longest`, though there was something to take.
    /// `taken`: bytes that it has taken so far, `None` if that is all; `is_starved`: whether its packets wait
    /// in this host.
    pub(crate) fn is_too_long(
        &mut self,
        longest: Duration,
        taken: Option<i64>,
        is_starved: impl FnOnce() -> bool,
    ) -> bool {
        let waited = std::mem::take(&mut self.unlooked);
        let Some(taken) = taken else {
            self.stall = None;
            return false;
        };
        match &mut self.stall {
            // It has owed this since the look before.
            Some(stall) if stall.taken == taken => {
                if !is_starved() {
                    stall.waited(waited);
                }
                stall.is_over(|| taken)
            }
            stall => {
                *stall = Some(Stall::new(longest, taken));
                false
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONGEST: Duration = Duration::from_secs(60);

    #[test]
    fn who_takes_something_has_another_time() {
        let mut stall = Stall::new(LONGEST, -7);
        stall.waited(LONGEST / 2);
        assert!(!stall.is_over(|| unreachable!("the time is not over")));
        assert_eq!(stall.left(), LONGEST / 2);
        stall.waited(LONGEST);
        assert!(!stall.is_over(|| -6));
        assert_eq!(stall.left(), LONGEST);
        stall.waited(LONGEST);
        assert!(stall.is_over(|| -6));
    }

    /// The second of the look that finds a lull too long; at each look the client has taken `taken`, and its
    /// packets wait here if `is_starved`.
    fn ends(taken: impl Fn(u64) -> Option<i64>, is_starved: impl Fn(u64) -> bool) -> Option<u64> {
        let mut lull = Lull::default();
        (1..10_000).find(|second| {
            assert_eq!(lull.until_look(LONGEST), LOOK);
            lull.waited(LOOK);
            lull.is_too_long(LONGEST, taken(*second), || is_starved(*second))
        })
    }

    #[test]
    fn who_takes_nothing_of_what_it_was_sent_is_found_at_a_look() {
        assert_eq!(ends(|_| Some(5), |_| false), Some(61));
        assert_eq!(ends(|second| Some(second.min(100) as i64), |_| false), Some(160));
        // A little is enough.
        assert_eq!(ends(|second| Some(second as i64 / 50), |_| false), None);
    }

    #[test]
    fn who_was_sent_nothing_more_is_not_waited_for() {
        assert_eq!(ends(|_| None, |_| false), None);
        // An event now and then is on its way at a look, and has come at the next one.
        let in_flight = |second: u64| if second.is_multiple_of(59) { Some(5) } else { None };
        assert_eq!(ends(in_flight, |_| false), None);
        assert_eq!(ends(|second| (second > 1000).then_some(5), |_| false), Some(1061));
    }

    #[test]
    fn what_waits_in_this_host_nobody_can_take() {
        assert_eq!(ends(|_| Some(5), |_| true), None);
        assert_eq!(ends(|_| Some(5), |second| second <= 1000), Some(1060));
        assert_eq!(ends(|_| Some(5), |second| second.is_multiple_of(2)), Some(121));
    }

    #[test]
    fn short_waits_add_up_to_a_look() {
        let mut lull = Lull::default();
        lull.waited(LOOK / 4);
        lull.waited(LOOK / 2);
        assert_eq!(lull.until_look(LONGEST), LOOK / 4);
        lull.waited(LOOK);
        assert_eq!(lull.until_look(LONGEST), Duration::ZERO);
        // However short the longest time is, it is looked in it.
        assert_eq!(Lull::default().until_look(LOOK / 10), LOOK / 10);
    }
}

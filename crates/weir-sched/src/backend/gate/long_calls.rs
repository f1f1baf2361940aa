//! Calls that last much longer than others: long polls, streams of events, calls that hang. The gate
//! asks here which of them it may set aside, so that their slots go to others.
//!
//! The backend can mostly spare such a call; but it may also be at work on it, or stand still. So it
//! has to show that it serves others meanwhile: a call that was started when this had lasted for long
//! was answered. For a second call of one client this is not enough, as client and call might have
//! all workers of the backend one by one: it has to serve all that it has, and one more. And where
//! nothing at all is answered the oldest is set aside as a trial, at intervals that double: a backend
//! that stands still gets few calls more.

use std::time::Duration;

use crate::backend::mean::Mean;
use crate::time::Time;

/// No call is long that has lasted less than this, ...
const LEAST: Duration = Duration::from_secs(1);
/// ... and every one that has lasted longer than this. Between, it is one that has lasted so many
/// times what calls take on average.
const MOST: Duration = Duration::from_secs(10);
const TIMES: u32 = 30;
/// The mean forgets with a weight of one in so many.
const MEMORY: u32 = 64;
/// The interval between trials doubles so often at most.
const MOST_DOUBLINGS: u32 = 16;

/// What the answers of one backend say of its long calls.
#[derive(Debug, Default)]
pub(super) struct LongCalls {
    /// Time to the answer, of calls that were not set aside.
    took: Mean,
    /// The latest start of the calls that were answered.
    latest: Time,
    /// When a call was last answered, or set aside as a trial.
    progress: Time,
    /// Trials since the last answer.
    trials: u32,
    /// It was seen to serve all that it has.
    serves_all: bool,
}

impl LongCalls {
    /// A call that was started at `since` and is not set aside is answered. `first_of_all`: before all
    /// others, though it was started last and as many are there as may.
    pub(super) fn answered(&mut self, now: Time, since: Time, first_of_all: bool) {
        self.serves_all |= first_of_all;
        self.took.add(now.since(since), MEMORY);
        self.latest = self.latest.max(since);
        self.progress = now;
        self.trials = 0;
    }

    /// Whether a call that was started at `since` is long and the backend has served others
    /// meanwhile.
    pub(super) fn is_spared(&self, since: Time) -> bool {
        since + self.long() <= self.latest
    }

    /// Whether all calls that the backend has were seen to be served at once, since one was last set
    /// aside.
    pub(super) fn serves_all(&self) -> bool {
        self.serves_all
    }

    /// A call is set aside.
    pub(super) fn set_aside(&mut self) {
        self.serves_all = false;
    }

    /// When the oldest call, which was started at `since`, is set aside as a trial if none is answered
    /// until then.
    pub(super) fn trial(&self, since: Time) -> Time {
        let interval = self.long().saturating_mul(1 << self.trials.min(MOST_DOUBLINGS));
        (since + self.long()).max(self.progress + interval)
    }

    /// A call is set aside as a trial.
    pub(super) fn tried(&mut self, now: Time) {
        self.progress = now;
        self.trials += 1;
    }

    fn long(&self) -> Duration {
        self.took.duration().saturating_mul(TIMES).clamp(LEAST, MOST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> Time {
        Time::from_nanos(millis * 1_000_000)
    }

    #[test]
    fn only_an_answer_to_a_call_that_was_started_later_shows_that_others_are_served() {
        let mut long_calls = LongCalls::default();
        long_calls.answered(ms(10_000), ms(999), false);
        assert!(!long_calls.is_spared(ms(0)), "that call was there before this was long");
        let mut long_calls = LongCalls::default();
        long_calls.answered(ms(1010), ms(1000), false);
        assert!(long_calls.is_spared(ms(0)) && !long_calls.is_spared(ms(1)));
    }

    #[test]
    fn what_is_long_depends_on_what_calls_take() {
        for (took, long) in [(1, 1000), (100, 3000), (2000, 10_000), (100_000, 10_000)] {
            let mut long_calls = LongCalls::default();
            (0..100).for_each(|_| long_calls.answered(ms(took), ms(0), false));
            long_calls.answered(ms(200_000 + took), ms(200_000), false);
            let since = 200_000 - long;
            assert!(
                long_calls.is_spared(ms(since)) && !long_calls.is_spared(ms(since + 1)),
                "{took}"
            );
        }
    }

    #[test]
    fn trials_become_rare_until_something_is_answered() {
        let mut long_calls = LongCalls::default();
        let mut trials = Vec::new();
        for _ in 0..5 {
            let at = long_calls.trial(ms(0));
            long_calls.tried(at);
            trials.push(at.as_nanos() / 1_000_000);
        }
        assert_eq!(trials, [1000, 3000, 7000, 15_000, 31_000]);
        long_calls.answered(ms(32_000), ms(31_999), false);
        assert_eq!(long_calls.trial(ms(0)), ms(33_000));
        assert_eq!(long_calls.trial(ms(32_500)), ms(33_500), "it must be long itself");
    }
}

//! Calls that last much longer than others: long polls, streams of events, calls that hang. Their
//! slots are needed by others, and the backend can mostly spare them; but it may also be at work on
//! them, or stand still. So such a call is set aside, and its slot goes to another, when the backend
//! has shown that it serves others meanwhile: one that was started when this had lasted for long was
//! answered. And where nothing at all is answered the oldest is set aside as a trial, at longer and
//! longer intervals: a backend that stands still gets few calls more.
//!
//! With a learned limit every call may be set aside: what it is good for the backend to have is
//! learned from the others. With a fixed one only those whose clients have left, and later.

use std::time::Duration;

use crate::time::Time;

/// No call is long that has lasted less than this ...
const LONG: Duration = Duration::from_secs(1);
/// ... or, with a fixed limit, than this ...
const LONG_IF_FIXED: Duration = Duration::from_secs(10);
/// ... or than so many times what calls take on average.
const TIMES: f64 = 30.0;
/// The mean forgets with a weight of one in so many.
const MEMORY: u32 = 64;
/// The interval between trials doubles so often at most.
const MOST_DOUBLINGS: u32 = 16;

/// What the answers of one backend say of its long calls.
#[derive(Debug)]
pub(super) struct Hanging {
    least: Duration,
    /// Mean latency in seconds, of calls that were not set aside.
    mean: f64,
    seen: u32,
    /// The latest start of the calls that were answered.
    latest: Time,
    /// When a call was last answered, or set aside as a trial.
    progress: Time,
    /// Trials since the last answer.
    trials: u32,
}

impl Hanging {
    /// `learned`: whether the limit is.
    pub(super) fn new(learned: bool) -> Hanging {
        Hanging {
            least: if learned { LONG } else { LONG_IF_FIXED },
            mean: 0.0,
            seen: 0,
            latest: Time::ZERO,
            progress: Time::ZERO,
            trials: 0,
        }
    }

    /// A call that was started at `since` and is not set aside is answered.
    pub(super) fn answered(&mut self, now: Time, since: Time) {
        self.seen = (self.seen + 1).min(MEMORY);
        self.mean += (now.since(since).as_secs_f64() - self.mean) / f64::from(self.seen);
        self.latest = self.latest.max(since);
        self.progress = now;
        self.trials = 0;
    }

    /// What calls take on average.
    pub(super) fn mean(&self) -> Duration {
        Duration::try_from_secs_f64(self.mean).unwrap_or(Duration::MAX)
    }

    /// Whether a call that was started at `since` is long and the backend has served others
    /// meanwhile.
    pub(super) fn is_idle(&self, since: Time) -> bool {
        since + self.long() <= self.latest
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
        let times = Duration::try_from_secs_f64(TIMES * self.mean).unwrap_or(Duration::MAX);
        self.least.max(times)
    }
}

//! A backend that failed calls have ejected, and the calls that try whether it is back. Used by
//! [`Health`](super::Health), which says what an answer means.

use std::num::NonZeroU32;
use std::time::Duration;

use crate::time::Time;

/// The time out doubles with each round of failed tries up to this, or to `fail_timeout` if that is
/// longer.
const LONGEST: Duration = Duration::from_secs(60);

/// So many tries that fail end a round: one alone may have failed by what it asked for.
const FAILURES: u32 = 2;

/// After a try that nobody has heard of yet the next one waits for this part of the time out; after
/// two for twice as long, and so on.
const PART: u32 = 8;

/// Tries that are remembered. Where clients leave there may be more; then the oldest are forgotten.
const REMEMBERED: usize = 64;

/// A call that tries whether a backend is back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trial(NonZeroU32);

impl Trial {
    /// Before the first.
    pub(super) const NONE: Trial = Trial(NonZeroU32::MIN);

    /// Another one than those that are remembered.
    pub(super) fn next(self) -> Trial {
        Trial(self.0.checked_add(1).unwrap_or(NonZeroU32::MIN))
    }
}

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct Ejection {
    /// From then on a call may try.
    from: Time,
    /// How long it is ejected for, and how long a try may take.
    length: Duration,
    /// The tries of this round, the oldest first, of clients who may not try again yet.
    tries: Vec<Trying>,
    failed: u32,
}

#[derive(Clone, Copy, Debug)]
struct Trying {
    tried: Trial,
    client: u64,
    since: Time,
    /// It has not failed, and its client is there.
    open: bool,
}

impl Ejection {
    pub(super) fn new(now: Time, length: Duration) -> Ejection {
        Ejection { from: now + length, length, tries: Vec::new(), failed: 0 }
    }

    pub(super) fn may_try(&self, now: Time, client: u64) -> bool {
        let its_own = |one: &Trying| one.client == client && now < one.since + self.length;
        self.from <= now && !self.tries.iter().any(its_own)
    }

    pub(super) fn start(&mut self, now: Time, client: u64, tried: Trial, fail_timeout: Duration) {
        let is_late = |one: &Trying| one.since + self.length <= now;
        let late = self.tries.iter().filter(|one| one.open && is_late(one)).count();
        self.tries.retain(|one| !is_late(one));
        if self.tries.len() >= REMEMBERED {
            self.tries.remove(0);
        }
        self.tries.push(Trying { tried, client, since: now, open: true });
        self.from = now + self.pause();
        self.fail(now, late as u32, fail_timeout);
    }

    /// Nothing follows from a try of an earlier round.
    pub(super) fn failed(&mut self, now: Time, tried: Trial, fail_timeout: Duration) {
        if self.close(tried) {
            self.from = self.from.min(now + self.pause());
            self.fail(now, 1, fail_timeout);
        }
    }

    pub(super) fn client_left(&mut self, now: Time, tried: Trial) {
        if self.close(tried) {
            self.from = self.from.min(now);
        }
    }

    pub(super) fn take_back(&mut self, now: Time, tried: Trial) {
        self.client_left(now, tried);
        self.tries.retain(|one| one.tried != tried);
    }

    /// How long the next one waits.
    fn pause(&self) -> Duration {
        let open = self.tries.iter().filter(|one| one.open).count().clamp(1, 8);
        self.length / PART * (1 << (open - 1))
    }

    /// Whether it was open until now.
    fn close(&mut self, tried: Trial) -> bool {
        let found = self.tries.iter_mut().find(|one| one.tried == tried && one.open);
        found.map(|one| one.open = false).is_some()
    }

    fn fail(&mut self, now: Time, tries: u32, fail_timeout: Duration) {
        self.failed += tries;
        if self.failed >= FAILURES {
            let length = self.length.saturating_mul(2).min(LONGEST.max(fail_timeout));
            *self = Ejection::new(now, length);
        }
    }
}

//! Whether a backend is healthy, judged by what became of calls and checks; who makes them reports
//! here. Used by the server's proxy, one for each backend.
//!
//! Passive: after N consecutive failed calls it is ejected for a while; then calls of different clients
//! may try, one after the other, whether it answers again (half-open, as in a circuit breaker). Active:
//! after N failed checks in a row it is ejected until enough of them went well. It is healthy if neither
//! has ejected it.

mod trials;

use std::collections::VecDeque;
use std::time::Duration;

use crate::time::Time;
use trials::Ejection;
pub use trials::Trial;

/// When failed calls eject a backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PassiveConfig {
    /// After so many consecutive failed calls within `fail_timeout` it is ejected. Default 3; zero:
    /// failed calls never eject it.
    pub max_fails: u32,
    /// The time within which they fail, and for how long it is ejected at first. Default 10 s.
    pub fail_timeout: Duration,
}

impl Default for PassiveConfig {
    fn default() -> PassiveConfig {
        PassiveConfig { max_fails: 3, fail_timeout: Duration::from_secs(10) }
    }
}

/// The health of one backend. Its `now` should not go back; if it does, spans are taken as zero.
#[derive(Clone, Debug)]
pub struct Health {
    passive: PassiveConfig,
    /// When calls failed since the last that did not, within `fail_timeout` of each other.
    failed: VecDeque<Time>,
    /// Ejected by failed calls.
    ejection: Option<Ejection>,
    /// The latest call that has tried.
    latest: Trial,
    checks: Option<Checks>,
}

/// What active checks came to.
#[derive(Clone, Copy, Debug)]
struct Checks {
    healthy: u32,
    unhealthy: u32,
    up: bool,
    /// Checks in a row that speak against `up`.
    against: u32,
    /// One has gone well.
    any_good: bool,
}

impl Health {
    /// A backend that counts as healthy until something says otherwise. `active`: so many good checks
    /// in a row bring it back, so many bad ones eject it; zero is taken as one. `None`:
    /// checks do not count.
    pub fn new(passive: PassiveConfig, active: Option<(u32, u32)>) -> Health {
        let checks = active.map(|(healthy, unhealthy)| Checks {
            healthy: healthy.max(1),
            unhealthy: unhealthy.max(1),
            up: true,
            against: 0,
            any_good: false,
        });
        Health { passive, failed: VecDeque::new(), ejection: None, latest: Trial::NONE, checks }
    }

    /// Whether ordinary calls may go to it.
    pub fn is_healthy(&self) -> bool {
        self.ejection.is_none() && self.is_up()
    }

    /// Whether it is healthy and, if checks count, one of them has ever gone well: before that nobody knows
    /// whether it has started. Calls may go to it all the same.
    pub fn is_proven(&self) -> bool {
        self.is_healthy() && self.checks.is_none_or(|checks| checks.any_good)
    }

    /// Whether failed calls have ejected it and a call of `client` may go to it to see if it is back.
    ///
    /// Each try of a round is another client's, and none waits for the others: what one client asks
    /// for may hang, or fail, on a backend that is well. The second starts an eighth of the time out
    /// after the first, and the more of them nobody has heard of, the later the next. A client may
    /// try again when it has been as long as the backend was ejected for.
    pub fn may_try(&self, now: Time, client: u64) -> bool {
        self.is_up() && self.ejection.as_ref().is_some_and(|out| out.may_try(now, client))
    }

    /// A call of `client` starts. If it [may try](Health::may_try) it is one that does.
    pub fn call_started(&mut self, now: Time, client: u64) -> Option<Trial> {
        if !self.may_try(now, client) {
            return None;
        }
        let tried = self.latest.next();
        self.latest = tried;
        self.ejection.as_mut()?.start(now, client, tried, self.passive.fail_timeout);
        Some(tried)
    }

    /// A call has ended: `ok` if it was answered, with whatever status; not if it was refused or
    /// reset, or took too long. Any answer brings the backend back; the second try that fails, or has
    /// lasted as long as the backend was ejected for, ends the round, and the time out doubles, up to
    /// a minute or `fail_timeout`.
    pub fn call_ended(&mut self, now: Time, tried: Option<Trial>, ok: bool) {
        if ok {
            self.bring_back();
            return;
        }
        match (&mut self.ejection, tried) {
            (Some(out), Some(tried)) => out.failed(now, tried, self.passive.fail_timeout),
            // Of a call that started before it was ejected, or beside those that try.
            (Some(_), None) => {}
            (None, _) => self.failed(now),
        }
    }

    /// The client of a try has left before the answer: another's call may try at once. If the answer
    /// comes all the same, it can be reported still. For calls that do not try there is nothing to
    /// report: who leaves says nothing about the backend.
    pub fn client_left(&mut self, now: Time, tried: Trial) {
        if let Some(out) = &mut self.ejection {
            out.client_left(now, tried);
        }
    }

    /// A try has come to nothing that says anything of backend or client, as if it had not begun.
    pub fn take_back(&mut self, now: Time, tried: Trial) {
        if let Some(out) = &mut self.ejection {
            out.take_back(now, tried);
        }
    }

    /// A check has ended. Ignored if checks do not count.
    pub fn check_ended(&mut self, ok: bool) {
        let Some(checks) = &mut self.checks else { return };
        checks.any_good |= ok;
        if ok == checks.up {
            checks.against = 0;
            return;
        }
        checks.against += 1;
        let enough = if ok { checks.healthy } else { checks.unhealthy };
        if checks.against < enough {
            return;
        }
        checks.up = ok;
        checks.against = 0;
        if ok {
            // What calls came to before it went down is old.
            self.bring_back();
        }
    }

    fn is_up(&self) -> bool {
        self.checks.is_none_or(|checks| checks.up)
    }

    fn bring_back(&mut self) {
        self.ejection = None;
        self.failed.clear();
    }

    fn failed(&mut self, now: Time) {
        let PassiveConfig { max_fails, fail_timeout } = self.passive;
        if max_fails == 0 {
            return;
        }
        self.failed.push_back(now);
        while self.failed.front().is_some_and(|first| now.since(*first) > fail_timeout) {
            self.failed.pop_front();
        }
        if self.failed.len() >= max_fails as usize {
            self.failed.clear();
            self.ejection = Some(Ejection::new(now, fail_timeout));
        }
    }
}

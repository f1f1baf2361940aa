//! Whether a backend is taken to be well, from what calls and checks of it came to. It makes none.
//!
//! Passive: calls that fail in a row put it out for a while; then one call may try whether it
//! answers again (half-open, as in a circuit breaker). Active: checks that fail in a row put it out
//! until enough of them went well. It is well if neither has put it out.

use std::collections::VecDeque;
use std::time::Duration;

use crate::time::Time;

/// The time out doubles with each failed try up to this, or to `fail_timeout` if that is longer.
const LONGEST_OUT: Duration = Duration::from_secs(60);

/// When failed calls put a backend out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PassiveConfig {
    /// So many calls that fail in a row within `fail_timeout` put it out. Default 3; zero: failed
    /// calls never do.
    pub max_fails: u32,
    /// The time within which they fail, and for how long it is out at first. Default 10 s.
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
    out: Option<Out>,
    checks: Option<Checks>,
}

/// Put out by failed calls.
#[derive(Clone, Copy, Debug)]
struct Out {
    /// From then on one call may try.
    until: Time,
    /// How long it was put out for.
    length: Duration,
    /// A call that tries is under way since then.
    trying: Option<Time>,
}

/// What active checks came to.
#[derive(Clone, Copy, Debug)]
struct Checks {
    healthy: u32,
    unhealthy: u32,
    up: bool,
    /// Checks in a row that speak against `up`.
    against: u32,
}

impl Health {
    /// A backend that is taken to be well until something says otherwise. `active`: so many good
    /// checks in a row bring it back, so many bad ones put it out; zero is taken as one. `None`:
    /// checks do not count.
    pub fn new(passive: PassiveConfig, active: Option<(u32, u32)>) -> Health {
        let checks = active.map(|(healthy, unhealthy)| Checks {
            healthy: healthy.max(1),
            unhealthy: unhealthy.max(1),
            up: true,
            against: 0,
        });
        Health { passive, failed: VecDeque::new(), out: None, checks }
    }

    /// Whether ordinary calls may go to it.
    pub fn is_well(&self) -> bool {
        self.out.is_none() && self.is_up()
    }

    /// Whether failed calls have put it out and one call may go to it to see if it is back. That
    /// call has the time it was last put out for to answer; then another may try.
    pub fn may_try(&self, now: Time) -> bool {
        self.is_up()
            && self.out.is_some_and(|out| {
                out.until <= now && out.trying.is_none_or(|since| since + out.length <= now)
            })
    }

    /// A call starts. If it [may try](Health::may_try) it is the one that does.
    pub fn call_started(&mut self, now: Time) {
        if self.may_try(now)
            && let Some(out) = &mut self.out
        {
            out.trying = Some(now);
        }
    }

    /// A call has ended: `ok` if it was answered, with whatever status; not if it was refused or
    /// reset, or took too long. Whoever left before the answer says nothing about the backend, so
    /// its call is not reported.
    pub fn call_ended(&mut self, now: Time, ok: bool) {
        if ok {
            self.bring_back();
            return;
        }
        match &mut self.out {
            // Of a call that started before it was put out; that is known already.
            Some(out) if out.trying.is_none() => {}
            Some(out) => {
                let longest = LONGEST_OUT.max(self.passive.fail_timeout);
                let length = out.length.saturating_mul(2).min(longest);
                *out = Out { until: now + length, length, trying: None };
            }
            None => self.failed(now),
        }
    }

    /// A check has ended. Ignored if checks do not count.
    pub fn checked(&mut self, ok: bool) {
        let Some(checks) = &mut self.checks else { return };
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
        self.out = None;
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
            self.out = Some(Out { until: now + fail_timeout, length: fail_timeout, trying: None });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PASSIVE: PassiveConfig =
        PassiveConfig { max_fails: 3, fail_timeout: Duration::from_secs(10) };

    fn at(seconds: u64) -> Time {
        Time::ZERO + Duration::from_secs(seconds)
    }

    fn fail(health: &mut Health, times: &[u64]) {
        for time in times {
            health.call_ended(at(*time), false);
        }
    }

    #[test]
    fn failures_in_a_row_put_it_out_and_one_call_tries() {
        let mut health = Health::new(PASSIVE, None);
        fail(&mut health, &[1, 2]);
        assert!(health.is_well());
        fail(&mut health, &[3]);
        assert!(!health.is_well());
        assert!(!health.may_try(at(12)));
        // A call that started before does not prolong it.
        fail(&mut health, &[5]);
        assert!(health.may_try(at(13)));
        health.call_started(at(13));
        assert!(!health.may_try(at(14)), "one call, not two");
        health.call_ended(at(14), true);
        assert!(health.is_well());
        assert!(!health.may_try(at(100)), "there is nothing to try");
    }

    #[test]
    fn a_failed_try_doubles_the_time_out_to_a_minute() {
        let mut health = Health::new(PASSIVE, None);
        fail(&mut health, &[0, 0, 0]);
        let mut now = 0;
        for length in [10, 20, 40, 60, 60] {
            assert!(!health.may_try(at(now + length - 1)), "after {length}");
            now += length;
            assert!(health.may_try(at(now)), "after {length}");
            health.call_started(at(now));
            fail(&mut health, &[now]);
        }
        health.call_ended(at(now), true);
        fail(&mut health, &[now, now, now]);
        assert!(health.may_try(at(now + 10)), "after a success it begins anew");
    }

    #[test]
    fn a_try_that_is_never_reported_does_not_keep_it_out() {
        let mut health = Health::new(PASSIVE, None);
        fail(&mut health, &[0, 0, 0]);
        health.call_started(at(10));
        assert!(!health.may_try(at(19)));
        assert!(health.may_try(at(20)));
    }

    #[test]
    fn failures_far_apart_or_with_a_success_between_do_not_count() {
        let mut health = Health::new(PASSIVE, None);
        fail(&mut health, &[0, 1, 12, 13]);
        assert!(health.is_well());
        fail(&mut health, &[22]);
        assert!(!health.is_well(), "12, 13 and 22 are within 10 s");
        let mut health = Health::new(PASSIVE, None);
        fail(&mut health, &[0, 1]);
        health.call_ended(at(2), true);
        fail(&mut health, &[3, 4]);
        assert!(health.is_well());
        let off = PassiveConfig { max_fails: 0, ..PASSIVE };
        let mut health = Health::new(off, None);
        fail(&mut health, &[0; 100]);
        assert!(health.is_well());
    }

    #[test]
    fn checks_put_it_out_and_bring_it_back() {
        let mut health = Health::new(PASSIVE, Some((2, 3)));
        for (ok, well) in [
            (false, true),
            (false, true),
            (true, true),
            (false, true),
            (false, true),
            (false, false),
            (true, false),
            (false, false),
            (true, false),
            (true, true),
        ] {
            health.checked(ok);
            assert_eq!(health.is_well(), well);
        }
        fail(&mut health, &[1, 1, 1]);
        for _ in 0..3 {
            health.checked(false);
        }
        assert!(!health.may_try(at(20)), "checks say that it is down");
        health.checked(true);
        health.checked(true);
        assert!(health.is_well(), "checks have brought it back");
        let mut unchecked = Health::new(PASSIVE, None);
        for _ in 0..10 {
            unchecked.checked(false);
        }
        assert!(unchecked.is_well());
    }

    #[derive(Clone, Copy, Debug)]
    enum Step {
        Pass(u64),
        Start,
        End(bool),
        Check(bool),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![
            3 => (0u64..9).prop_map(Step::Pass),
            3 => Just(Step::Start),
            5 => prop::bool::weighted(0.15).prop_map(Step::End),
            2 => any::<bool>().prop_map(Step::Check),
        ];
        prop::collection::vec(step, 1..200)
    }

    proptest! {
        /// Against the rules as they are written down: it is out by calls if, since the last success,
        /// there were ever `max_fails` failures within `fail_timeout`.
        #[test]
        fn does_as_the_rules_say(
            steps in steps(), max_fails in 0u32..5, active in prop::option::of((1u32..4, 1u32..4)),
        ) {
            let mut health = Health::new(PassiveConfig { max_fails, ..PASSIVE }, active);
            let mut now = 0;
            let mut failures: Vec<u64> = Vec::new();
            let (mut up, mut checks) = (true, Vec::new());
            for step in steps {
                match step {
                    Step::Pass(seconds) => now += seconds,
                    Step::Start => health.call_started(at(now)),
                    Step::End(ok) => {
                        health.call_ended(at(now), ok);
                        if ok { failures.clear() } else { failures.push(now) }
                    }
                    Step::Check(ok) => {
                        health.checked(ok);
                        checks.push(ok);
                        if let Some((healthy, unhealthy)) = active {
                            let last = |ok, n: u32| {
                                checks.iter().rev().take_while(|one| **one == ok).count() >= n as usize
                            };
                            if up && last(false, unhealthy) {
                                (up, checks) = (false, Vec::new());
                            } else if !up && last(true, healthy) {
                                (up, checks) = (true, Vec::new());
                                failures.clear();
                            }
                        }
                    }
                }
                let out = max_fails > 0
                    && failures.windows(max_fails as usize).any(|run| run[run.len() - 1] - run[0] <= 10);
                prop_assert_eq!(health.is_well(), up && !out, "at {}", now);
                prop_assert!(!(health.is_well() && health.may_try(at(now))));
                prop_assert!(!health.may_try(at(now)) || up);
                // Whoever waits long enough may always try.
                prop_assert_eq!(health.may_try(at(now + 1000)), up && out);
            }
        }

        /// Among calls that start at every second and all fail, those that try are at least
        /// `fail_timeout` apart, and later ones at least as far apart as earlier ones.
        #[test]
        fn tries_get_rarer(seconds in 40u64..600) {
            let mut health = Health::new(PASSIVE, None);
            fail(&mut health, &[0, 0, 0]);
            let mut tries = vec![0];
            for now in 0..seconds {
                if health.may_try(at(now)) {
                    tries.push(now);
                    health.call_started(at(now));
                    prop_assert!(!health.may_try(at(now)));
                    health.call_ended(at(now), false);
                }
            }
            let gaps: Vec<u64> = tries.windows(2).map(|pair| pair[1] - pair[0]).collect();
            prop_assert!(gaps[0] == 10 && gaps.is_sorted(), "{gaps:?}");
            prop_assert!(gaps.iter().all(|gap| *gap <= 60), "{gaps:?}");
        }
    }
}

//! What is done next about one certificate: [`Plan`] is told what happened, and says so. Used by the
//! keeper, which does it.

use std::time::{Duration, SystemTime};

use super::life::Life;
use super::pause::Pause;
use super::renewal::{Window, next_question, renewal_time};
use super::retry::{FIRST_UNJUDGED, Setback, wait};

/// The plan is asked again after this time at the latest, whatever it said: the clock may have jumped,
/// and another process may have renewed the certificate.
pub(crate) const LONGEST_WAIT: Duration = Duration::from_secs(3600);
/// How soon to look again while another process orders.
const WHILE_ANOTHER_ORDERS: Duration = Duration::from_secs(5);
/// A certificate just obtained is not ordered again before this share of its life is over, whatever the
/// server suggests.
const BETWEEN_ORDERS: f64 = 1.0 / 30.0;
/// Nor is any kept back by that for longer: a revoked one must be replaced.
const LONGEST_BETWEEN_ORDERS: Duration = Duration::from_secs(12 * 3600);

/// What to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Order a certificate.
    Order,
    /// Ask the server when it suggests to renew the one that is held.
    Ask,
    /// Do nothing for this time, which is never zero, then ask again.
    Wait(Duration),
}

/// What a certificate is that was obtained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Obtained {
    /// In time, and held.
    Good,
    /// By this machine's clock it has to be renewed already, so the clock or the server is wrong: the
    /// attempt counts as refused. It is held, for it ends later than what was.
    Late,
    /// As [`Obtained::Late`], and it ends no later than what is held, which stays.
    Useless,
}

/// See the module.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Plan {
    held: Option<Held>,
    /// Attempts that failed since the last one that did not.
    failures: u32,
    /// No order until it is over.
    pause: Option<Pause>,
    /// No question for renewal information until it is over.
    question: Option<Pause>,
}

/// The newest certificate there is.
#[derive(Clone, Copy, Debug)]
struct Held {
    life: Life,
    window: Option<Window>,
    /// See [`renewal_time`].
    draw: f64,
}

impl Plan {
    /// A certificate was found in the storage, at the start or because another process obtained it.
    /// `draw`, 0 to 1, is this certificate's for good. `false`: it is of no use beside the one that is held,
    /// which stays.
    pub(crate) fn found(&mut self, life: Life, draw: f64, now: SystemTime) -> bool {
        let is_newer = self.held.is_none_or(|held| life.not_before > held.life.not_before);
        if !is_newer || self.is_useless(life, draw, now) {
            return false;
        }
        let is_start = self.held.is_none() && self.pause.is_none();
        self.hold(life, draw);
        if !self.is_due(now) {
            self.failures = 0;
            // Processes that share a storage order as seldom as one alone. How old the certificate is that
            // is there at the start nobody knows.
            self.pause = (!is_start).then(|| Pause::new(now, between_orders(life)));
        }
        true
    }

    /// A certificate was obtained. `draw`: as in [`Plan::found`].
    pub(crate) fn obtained(&mut self, life: Life, draw: f64, now: SystemTime) -> Obtained {
        let is_useless = self.is_useless(life, draw, now);
        if !is_useless {
            self.hold(life, draw);
            if !self.is_due(now) {
                self.failures = 0;
                self.pause = Some(Pause::new(now, between_orders(life)));
                return Obtained::Good;
            }
        }
        self.failed(Setback { is_refusal: true, retry_after: None }, now, draw);
        if is_useless { Obtained::Useless } else { Obtained::Late }
    }

    /// The server suggested to renew in `window`, or nothing that makes sense; `again`: when it wants to
    /// be asked again.
    pub(crate) fn suggested(
        &mut self,
        window: Option<Window>,
        again: Option<Duration>,
        now: SystemTime,
    ) {
        if let Some(held) = &mut self.held {
            held.window = window;
        }
        self.question = Some(Pause::new(now, next_question(again)));
    }

    /// The server could not be asked for its suggestion: the last one holds.
    pub(crate) fn not_suggested(&mut self, again: Option<Duration>, now: SystemTime) {
        self.question = Some(Pause::new(now, next_question(again)));
    }

    /// An attempt failed. `draw`: 0 to 1, a new one each time.
    pub(crate) fn failed(&mut self, setback: Setback, now: SystemTime, draw: f64) {
        self.failures = self.failures.saturating_add(1);
        self.pause = Some(Pause::new(now, wait(self.failures, setback, draw)));
    }

    /// The server is still making the certificate: the same order is gone on with after `wait`. No attempt
    /// has failed.
    pub(crate) fn processing(&mut self, wait: Duration, now: SystemTime) {
        self.pause = Some(Pause::new(now, wait));
    }

    /// Another process orders this certificate.
    pub(crate) fn ordered_elsewhere(&mut self, now: SystemTime) {
        self.pause = Some(Pause::new(now, WHILE_ANOTHER_ORDERS));
    }

    /// What to do at `now`.
    pub(crate) fn next(&mut self, now: SystemTime) -> Step {
        let until_due = self.until_due(now);
        let until_question = self.question.as_mut().map_or(Duration::ZERO, |pause| pause.left(now));
        let is_due = until_due.is_zero();
        if !is_due && until_question.is_zero() {
            return Step::Ask;
        }
        let until_allowed = self.pause.as_mut().map_or(Duration::ZERO, |pause| pause.left(now));
        let mut wait = until_due.max(until_allowed);
        if wait.is_zero() {
            return Step::Order;
        }
        if !is_due {
            wait = wait.min(until_question);
        }
        Step::Wait(wait.min(LONGEST_WAIT))
    }

    /// When the certificate that is held is renewed.
    pub(crate) fn renewal(&self) -> Option<SystemTime> {
        self.held.map(|held| renewal_time(held.life, held.window, held.draw))
    }

    /// The life of the certificate that is held.
    pub(crate) fn life(&self) -> Option<Life> {
        self.held.map(|held| held.life)
    }

    /// How long no order is made, however due it is.
    pub(crate) fn pause(&mut self, now: SystemTime) -> Duration {
        self.pause.as_mut().map_or(Duration::ZERO, |pause| pause.left(now))
    }

    /// Attempts that failed since the last one that did not.
    pub(crate) fn failures(&self) -> u32 {
        self.failures
    }

    fn hold(&mut self, life: Life, draw: f64) {
        self.held = Some(Held { life, window: None, draw });
        self.question = None;
    }

    /// Whether a certificate with this life is due when it comes, and over no later than what is held.
    fn is_useless(&self, life: Life, draw: f64, now: SystemTime) -> bool {
        let is_due = renewal_time(life, None, draw) <= now;
        is_due && self.held.is_some_and(|held| life.not_after <= held.life.not_after)
    }

    fn is_due(&self, now: SystemTime) -> bool {
        self.until_due(now).is_zero()
    }

    fn until_due(&self, now: SystemTime) -> Duration {
        self.renewal().and_then(|time| time.duration_since(now).ok()).unwrap_or_default()
    }
}

/// How long after it was obtained a certificate with this life is not ordered again.
fn between_orders(life: Life) -> Duration {
    let share = life.length().mul_f64(BETWEEN_ORDERS);
    share.clamp(FIRST_UNJUDGED, LONGEST_BETWEEN_ORDERS)
}

#[cfg(test)]
mod tests;

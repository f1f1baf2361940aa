//! One certificate, looked after for ever: what the plan says next is done, and its outcome told to the
//! plan, the log and the board. Used by the manager, which runs one for each name.
//!
//! Whatever fails, the certificate that is served stays until there is a newer one.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::sync::Semaphore;
use tokio::time::sleep;
use weir_tls::{Certificate, CertificateStore};

use crate::answers::Answers;
use crate::authority::{Authority, Outcome, Wish};
use crate::board::{LastFailure, Line, Phase};
use crate::draw::draw;
use crate::failure::Failure;
use crate::host_name::HostName;
use crate::moment::{date, span};
use crate::schedule::life::Life;
use crate::schedule::plan::{Obtained, Plan, Step};
use crate::storage::{Lock, Pem, Storage, StorageError};
use crate::turns::Turns;

/// How soon to try again to write what could not be written.
const SAVE_AGAIN: Duration = Duration::from_secs(60);

/// What all keepers share.
#[derive(Debug)]
pub(crate) struct Common {
    pub(crate) authority: Authority,
    pub(crate) storage: Storage,
    pub(crate) answers: Answers,
    /// Where the certificates are served from.
    pub(crate) store: Arc<CertificateStore>,
    /// How the names are proved.
    pub(crate) turns: Turns,
    /// As many orders as may be under way.
    pub(crate) orders: Semaphore,
}

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct Keeper {
    name: HostName,
    common: Arc<Common>,
    line: Line,
    plan: Plan,
    /// The certificate that is served.
    pem: Option<Pem>,
    /// It could not be written yet.
    is_unsaved: bool,
    /// While an order is under way, however long the authority processes it, and after a refusal until the
    /// next one has ended: the authority counts failed attempts by name, so during the pause the other
    /// processes wait, too.
    lock: Option<Lock>,
}

impl Keeper {
    pub(crate) fn new(name: HostName, common: Arc<Common>, line: Line) -> Keeper {
        let plan = Plan::default();
        Keeper { name, common, line, plan, pem: None, is_unsaved: false, lock: None }
    }

    pub(crate) fn name(&self) -> &HostName {
        &self.name
    }

    /// Looks after the certificate until it is dropped.
    pub(crate) async fn keep(mut self) {
        loop {
            self.take_over();
            self.save_again();
            match self.plan.next(SystemTime::now()) {
                Step::Order => self.order().await,
                Step::Ask => {
                    // It is not due, whatever was refused.
                    self.lock = None;
                    self.ask().await;
                }
                Step::Wait(wait) if self.is_unsaved => sleep(wait.min(SAVE_AGAIN)).await,
                Step::Wait(wait) => sleep(wait).await,
            }
        }
    }

    /// Serves what the storage has, if it is newer than what is served: from before the start, or
    /// another process obtained it. Whether it is.
    pub(crate) fn take_over(&mut self) -> bool {
        let pem = match self.common.storage.certificate(&self.name) {
            Ok(Some(pem)) => pem,
            Ok(None) => return false,
            Err(error) => {
                tracing::warn!("the certificate for {} is not to be had: {error}", self.name);
                return false;
            }
        };
        if self.pem.as_ref() == Some(&pem) {
            return false;
        }
        let certificate = match usable(&pem, &self.name) {
            Ok(certificate) => certificate,
            Err(problem) => {
                let path = self.common.storage.certificate_path(&self.name);
                tracing::warn!("{} is left alone: {problem}", path.display());
                return false;
            }
        };
        let life = life(&certificate);
        if !self.plan.found(life, draw(), SystemTime::now()) {
            return false;
        }
        self.is_unsaved = false;
        self.lock = None;
        self.serve(pem, certificate, life);
        self.line.change(|line| line.taken_over += 1);
        tracing::info!(
            "certificate for {} found in the storage: {}",
            self.name,
            self.validity(life)
        );
        true
    }

    async fn order(&mut self) {
        let common = self.common.clone();
        let _permit = common.orders.acquire().await;
        if self.lock.is_none() {
            match common.storage.lock_certificate(&self.name) {
                Ok(Some(lock)) => self.lock = Some(lock),
                Ok(None) => {
                    self.plan.ordered_elsewhere(SystemTime::now());
                    self.line.change(|line| line.phase = Phase::OrderedElsewhere);
                    return;
                }
                Err(error) => return self.failed(&error.into()),
            }
        }
        // Another process may have obtained it while this one waited.
        if self.take_over() {
            return;
        }
        self.line.change(|line| line.phase = Phase::Ordering);
        let failures = self.plan.failures();
        // An order that failed may have failed because of what it said to replace.
        let replaces = self.pem.as_ref().filter(|_| failures == 0);
        let wish = Wish { name: &self.name, kind: common.turns.kind(failures), replaces };
        match common.authority.obtain(wish, &common.answers, SystemTime::now()).await {
            Ok(Outcome::Issued(pem)) => self.obtained(pem),
            Ok(Outcome::Processing(wait)) => self.processing(wait),
            Err(failure) => self.failed(&failure),
        }
    }

    /// The order is under way, and meanwhile others may have their turn.
    fn processing(&mut self, wait: Duration) {
        self.plan.processing(wait, SystemTime::now());
        tracing::info!(
            "the ACME server is still making the certificate for {}: it is asked again in {}",
            self.name,
            span(wait)
        );
    }

    fn obtained(&mut self, pem: Pem) {
        let certificate = match usable(&pem, &self.name) {
            Ok(certificate) => certificate,
            Err(problem) => {
                self.common.authority.forget_order(&self.name);
                return self.failed(&Failure::refused(format!(
                    "the certificate that the ACME server issued is of no use: {problem}"
                )));
            }
        };
        let (life, now) = (life(&certificate), SystemTime::now());
        let obtained = self.plan.obtained(life, draw(), now);
        if obtained != Obtained::Useless {
            self.take(pem, certificate, life);
        }
        match obtained {
            Obtained::Good => self.lock = None,
            Obtained::Late | Obtained::Useless => {
                self.common.authority.forget_order(&self.name);
                let text = format!(
                    "the certificate that the ACME server issued is valid from {} to {}, and the clock \
                     of this machine says {}: set the clock",
                    date(life.not_before),
                    date(life.not_after),
                    date(now)
                );
                self.tell_failure(&text, now);
            }
        }
    }

    /// Serves and saves what was obtained.
    fn take(&mut self, pem: Pem, certificate: Certificate, life: Life) {
        self.serve(pem, certificate, life);
        let saved = self.save();
        self.line.change(|line| line.obtained += 1);
        tracing::info!("certificate for {} obtained: {}", self.name, self.validity(life));
        if let Err(error) = saved {
            tracing::error!(
                "the certificate for {} is served, but a restart loses it: {error}; it is tried again \
                 every {}",
                self.name,
                span(SAVE_AGAIN)
            );
        }
    }

    fn save_again(&mut self) {
        if self.is_unsaved && self.save().is_ok() {
            tracing::info!("the certificate for {} is in the storage at last", self.name);
        }
    }

    fn save(&mut self) -> Result<(), StorageError> {
        let Some(pem) = &self.pem else { return Ok(()) };
        let saved = self.common.storage.save_certificate(&self.name, pem);
        self.is_unsaved = saved.is_err();
        self.line.change(|line| line.unsaved = saved.is_err());
        if saved.is_ok() {
            // Until now a restart could have got the certificate from it once more.
            self.common.authority.forget_order(&self.name);
        }
        saved
    }

    async fn ask(&mut self) {
        let before = self.plan.renewal();
        let answer = self.common.authority.suggestion(self.pem.as_ref()).await;
        let is_suggested = answer.as_ref().is_ok_and(|answer| answer.window.is_some());
        let now = SystemTime::now();
        match answer {
            Ok(suggestion) => self.plan.suggested(suggestion.window, suggestion.again, now),
            // The last suggestion holds, and two thirds of the life without one.
            Err(failure) => {
                tracing::debug!("when to renew the certificate for {}: {failure}", self.name);
                self.plan.not_suggested(failure.setback().retry_after, now);
            }
        }
        let renewal = self.plan.renewal();
        self.line.change(|line| line.renewal = renewal);
        if let Some(renewal) = renewal.filter(|_| renewal != before) {
            tracing::info!("{}", news(&self.name, is_suggested, renewal));
        }
    }

    fn serve(&mut self, pem: Pem, certificate: Certificate, life: Life) {
        self.pem = Some(pem);
        self.common.store.set_managed(self.name.as_str(), certificate);
        let (renewal, failures) = (self.plan.renewal(), self.plan.failures());
        let is_unsaved = self.is_unsaved;
        self.line.change(|line| {
            line.phase = Phase::Waiting;
            line.unsaved = is_unsaved;
            line.not_after = Some(life.not_after);
            line.renewal = renewal;
            line.failed_in_a_row = failures;
        });
    }

    fn failed(&mut self, failure: &Failure) {
        let now = SystemTime::now();
        self.plan.failed(failure.setback(), now, draw());
        if !failure.setback().is_refusal {
            self.lock = None;
        }
        self.tell_failure(&failure.to_string(), now);
    }

    /// Tells the log and the board of an attempt that failed; the plan knows of it.
    fn tell_failure(&mut self, text: &str, now: SystemTime) {
        let failures = self.plan.failures();
        self.line.change(|line| {
            line.phase = Phase::Retrying;
            line.failed += 1;
            line.failed_in_a_row = failures;
            line.last_failure = Some(LastFailure { at: now, text: text.to_owned() });
        });
        let name = &self.name;
        let again = span(self.plan.pause(now));
        match self.plan.life().map(|life| life.not_after) {
            Some(end) if now < end => tracing::warn!(
                "certificate for {name} not renewed: {text}. The old one is valid until {}; the next \
                 attempt is in {again}",
                date(end)
            ),
            Some(end) => tracing::error!(
                "certificate for {name} not renewed: {text}. The old one has expired, on {}; the next \
                 attempt is in {again}",
                date(end)
            ),
            None => {
                tracing::error!("no certificate for {name}: {text}. The next attempt is in {again}")
            }
        }
    }

    fn validity(&self, life: Life) -> String {
        let renewal = self.plan.renewal().unwrap_or(life.not_after);
        format!("valid until {}, renewed from {} on", date(life.not_after), date(renewal))
    }
}

/// What the log says when renewal was put somewhere else; `is_suggested`: there, by the ACME server.
fn news(name: &HostName, is_suggested: bool, renewal: SystemTime) -> String {
    let renewal = date(renewal);
    match is_suggested {
        true => {
            format!(
                "the ACME server suggests to renew the certificate for {name} from {renewal} on"
            )
        }
        false => format!(
            "the ACME server does not suggest any more when to renew the certificate for {name}: it is \
             renewed from {renewal} on"
        ),
    }
}

fn life(certificate: &Certificate) -> Life {
    Life { not_before: certificate.not_before(), not_after: certificate.not_after() }
}

/// The certificate, or why it cannot be served for `name`.
fn usable(pem: &Pem, name: &HostName) -> Result<Certificate, Failure> {
    let certificate = Certificate::from_pem(pem.chain.as_bytes(), pem.key.as_bytes())
        .map_err(|error| Failure::unjudged(error.to_string()))?;
    if !certificate.names().iter().any(|other| other == name.as_str()) {
        let names = certificate.names().join(", ");
        let names = if names.is_empty() { "no name" } else { &names };
        return Err(Failure::unjudged(format!("it is for {names}")));
    }
    Ok(certificate)
}

#[cfg(test)]
mod tests;

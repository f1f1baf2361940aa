//! The ACME server: one certificate ordered, and one suggestion asked for. Used by the keeper. Every call
//! opens the account anew, which costs one request and sees what another process or the server has
//! changed. An order that takes the server long is kept, and the next call goes on with it.

mod account;
mod answer;
mod client;
mod kept;
mod kept_orders;
mod order;
mod outcome;
mod problem;
mod signing;
mod suggestion;
mod wish;

use std::time::{Duration, SystemTime};

use self::client::{Client, Visit};
use self::kept::Kept;
use self::kept_orders::KeptOrders;
use self::order::Desk;
pub(crate) use self::outcome::Outcome;
use self::suggestion::Suggestion;
pub(crate) use self::wish::Wish;
use crate::answers::Answers;
use crate::failure::Failure;
use crate::host_name::HostName;
use crate::settings::Settings;
use crate::storage::{Pem, Storage};

/// Longest time for an order until the server is left alone with it, and for a question.
const LONGEST_ORDER: Duration = Duration::from_secs(10 * 60);
const LONGEST_QUESTION: Duration = Duration::from_secs(2 * 60);

/// See the module.
#[derive(Debug)]
pub(crate) struct Authority {
    settings: Settings,
    client: Client,
    account: Kept,
    orders: KeptOrders,
}

impl Authority {
    /// `storage` is where the account is, and the orders that are under way.
    ///
    /// # Errors
    ///
    /// If the roots that the server is checked against cannot be read.
    pub(crate) fn new(settings: &Settings, storage: &Storage) -> Result<Authority, Failure> {
        let client = Client::new(settings.roots.as_deref())?;
        let account = Kept::new(storage.clone());
        let orders = KeptOrders::new(storage.clone());
        Ok(Authority { settings: settings.clone(), client, account, orders })
    }

    /// Whether one could be made.
    ///
    /// # Errors
    ///
    /// As [`Authority::new`].
    pub(crate) fn check(settings: &Settings) -> Result<(), Failure> {
        Client::new(settings.roots.as_deref()).map(drop)
    }

    /// Orders a certificate, proves the name, and brings key and chain; or goes on with the order for this
    /// name that is under way. `now`: what the clock of the machine says.
    pub(crate) async fn obtain(
        &self,
        wish: Wish<'_>,
        answers: &Answers,
        now: SystemTime,
    ) -> Result<Outcome, Failure> {
        let visit = Visit::new(&self.client, &self.settings.directory_url);
        let work = async {
            let account = account::open(&self.settings, &self.account, &visit).await?;
            let (kept, orders) = (&self.account, &self.orders);
            let desk = Desk { account: &account, kept, orders, visit: &visit };
            order::obtain(desk, wish, answers, now).await
        };
        let done = tokio::time::timeout(LONGEST_ORDER, work).await;
        let done = done.unwrap_or_else(|_| {
            let minutes = LONGEST_ORDER.as_secs() / 60;
            Err(Failure::unjudged(format!("the order did not come to an end in {minutes} minutes")))
        });
        done.map_err(|failure| failure.with_retry_after(visit.retry_after()))
    }

    /// The order for `name` has come to its end: what it brought is saved, or of no use.
    pub(crate) fn forget_order(&self, name: &HostName) {
        self.orders.forget(name);
    }

    /// Asks when to renew `pem`. What has no name at the server is not asked about.
    pub(crate) async fn suggestion(&self, pem: Option<&Pem>) -> Result<Suggestion, Failure> {
        let Some(identifier) = pem.and_then(suggestion::identifier) else {
            return Ok(Suggestion::NONE);
        };
        let visit = Visit::new(&self.client, &self.settings.directory_url);
        let work = async {
            let account = account::open(&self.settings, &self.account, &visit).await?;
            suggestion::ask(&account, &identifier).await
        };
        let done = tokio::time::timeout(LONGEST_QUESTION, work).await;
        let done = done.unwrap_or_else(|_| Err(Failure::unjudged("there was no answer")));
        done.map_err(|failure| failure.with_retry_after(visit.retry_after()))
    }
}

#[cfg(test)]
pub(crate) mod tests;

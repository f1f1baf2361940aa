//! The account at the ACME server: the one that is kept, or a new one. Used by the authority at the
//! beginning of each conversation.

use std::time::Duration;

use instant_acme::{Account, AccountCredentials, ExternalAccountKey, NewAccount};
use serde::{Deserialize, Serialize};
use tokio::time::sleep;

use super::client::Visit;
use super::kept::Kept;
use super::problem::failure;
use crate::failure::{Failure, printable};
use crate::settings::Settings;
use crate::storage::{Lock, Storage};

/// How often to look whether another process has made the account.
const BETWEEN_LOOKS: Duration = Duration::from_millis(100);

/// Letters of the account's address that the log shows.
const LONGEST_ID: usize = 200;

/// What is kept.
#[derive(Deserialize, Serialize)]
struct Content {
    /// What the server was told.
    email: Option<String>,
    credentials: AccountCredentials,
}

/// Opens the account that is kept, or makes one. The terms of service count as agreed to: who turns this
/// on agrees.
pub(super) async fn open(
    settings: &Settings,
    kept: &Kept,
    visit: &Visit,
) -> Result<Account, Failure> {
    if let Some(account) = open_kept(settings, kept, visit).await? {
        return Ok(account);
    }
    let _lock = lock(kept.storage()).await?;
    // Another process may have made it while this one waited.
    if let Some(account) = open_kept(settings, kept, visit).await? {
        return Ok(account);
    }
    make(settings, kept, visit).await
}

async fn open_kept(
    settings: &Settings,
    kept: &Kept,
    visit: &Visit,
) -> Result<Option<Account>, Failure> {
    let Some(text) = kept.read()? else { return Ok(None) };
    let content: Content = serde_json::from_str(&text).map_err(|error| {
        let path = kept.storage().account_path();
        Failure::unjudged(format!(
            "{} is no account ({error}); remove it, and a new one is made",
            path.display()
        ))
    })?;
    let account = Account::builder_with_http(Box::new(visit.clone()))
        .from_credentials(content.credentials)
        .await
        .map_err(|error| failure("the account cannot be opened", &error))?;
    if content.email != settings.email {
        tell_email(settings, kept, &account, &text).await;
    }
    Ok(Some(account))
}

/// Tells the server that the address has changed. If it takes none, or that cannot be kept, that is no
/// reason to stop.
async fn tell_email(settings: &Settings, kept: &Kept, account: &Account, text: &str) {
    let contact = contact(settings);
    let contact: Vec<&str> = contact.iter().map(String::as_str).collect();
    if let Err(error) = account.update_contacts(&contact).await {
        let failure = failure("the ACME server does not take the address `tls_email`", &error);
        tracing::warn!("{failure}");
        return;
    }
    let content: Result<Content, _> = serde_json::from_str(text);
    let Ok(Content { credentials, .. }) = content else { return };
    let content = Content { email: settings.email.clone(), credentials };
    let saved = content.text().and_then(|text| Ok(kept.storage().save_account(&text)?));
    if let Err(failure) = saved {
        tracing::warn!("the ACME server is told of `tls_email` once more next time: {failure}");
    }
}

async fn make(settings: &Settings, kept: &Kept, visit: &Visit) -> Result<Account, Failure> {
    let contact = contact(settings);
    let contact: Vec<&str> = contact.iter().map(String::as_str).collect();
    let wish = NewAccount {
        contact: &contact,
        terms_of_service_agreed: true,
        only_return_existing: false,
    };
    let external = settings.external_account.as_ref();
    let external =
        external.map(|account| ExternalAccountKey::new(account.id().to_owned(), account.key()));
    let (account, credentials) = Account::builder_with_http(Box::new(visit.clone()))
        .create(&wish, settings.directory_url.to_string(), external.as_ref())
        .await
        .map_err(|error| failure("no account could be made", &error))?;
    kept.write(Content { email: settings.email.clone(), credentials }.text()?);
    let id = printable(account.id(), LONGEST_ID);
    tracing::info!("made the account {id} at {}", settings.directory_url);
    Ok(account)
}

impl Content {
    fn text(&self) -> Result<String, Failure> {
        serde_json::to_string_pretty(self)
            .map_err(|error| Failure::unjudged(format!("the account cannot be written: {error}")))
    }
}

async fn lock(storage: &Storage) -> Result<Lock, Failure> {
    loop {
        if let Some(lock) = storage.lock_account()? {
            return Ok(lock);
        }
        sleep(BETWEEN_LOOKS).await;
    }
}

fn contact(settings: &Settings) -> Option<String> {
    settings.email.as_ref().map(|email| format!("mailto:{email}"))
}

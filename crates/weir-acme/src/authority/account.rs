//! The account at the ACME server: the one that is kept, or a new one. Used by the authority at the
//! beginning of each conversation.

use std::time::Duration;

use instant_acme::{Account, AccountCredentials, ExternalAccountKey, NewAccount};
use serde::{Deserialize, Serialize};
use tokio::time::sleep;

use super::client::Visit;
use super::problem::failure;
use crate::failure::Failure;
use crate::settings::Settings;
use crate::storage::{Lock, Storage};

/// How often to look whether another process has made the account.
const BETWEEN_LOOKS: Duration = Duration::from_millis(100);

/// The account as the storage has it.
#[derive(Deserialize, Serialize)]
struct Kept {
    /// What the server was told.
    email: Option<String>,
    credentials: AccountCredentials,
}

/// Opens the account that is kept, or makes one. The terms of service count as agreed to: who turns this
/// on agrees.
pub(super) async fn open(
    settings: &Settings,
    storage: &Storage,
    visit: &Visit,
) -> Result<Account, Failure> {
    if let Some(account) = open_kept(settings, storage, visit).await? {
        return Ok(account);
    }
    let _lock = lock(storage).await?;
    // Another process may have made it while this one waited.
    if let Some(account) = open_kept(settings, storage, visit).await? {
        return Ok(account);
    }
    make(settings, storage, visit).await
}

async fn open_kept(
    settings: &Settings,
    storage: &Storage,
    visit: &Visit,
) -> Result<Option<Account>, Failure> {
    let Some(text) = storage.account()? else { return Ok(None) };
    let kept: Kept = serde_json::from_str(&text).map_err(|error| {
        let path = storage.account_path();
        Failure::unjudged(format!(
            "{} is no account ({error}); remove it, and a new one is made",
            path.display()
        ))
    })?;
    let account = Account::builder_with_http(Box::new(visit.clone()))
        .from_credentials(kept.credentials)
        .await
        .map_err(|error| failure("the account cannot be opened", &error))?;
    if kept.email != settings.email {
        tell_email(settings, storage, &account, &text).await?;
    }
    Ok(Some(account))
}

/// Tells the server that the address has changed. If it takes none, that is no reason to stop.
async fn tell_email(
    settings: &Settings,
    storage: &Storage,
    account: &Account,
    kept: &str,
) -> Result<(), Failure> {
    let contact = contact(settings);
    let contact: Vec<&str> = contact.iter().map(String::as_str).collect();
    if let Err(error) = account.update_contacts(&contact).await {
        let failure = failure("the ACME server does not take the address `tls_email`", &error);
        tracing::warn!("{failure}");
        return Ok(());
    }
    let kept: Result<Kept, _> = serde_json::from_str(kept);
    let Ok(Kept { credentials, .. }) = kept else { return Ok(()) };
    save(storage, Kept { email: settings.email.clone(), credentials })
}

async fn make(settings: &Settings, storage: &Storage, visit: &Visit) -> Result<Account, Failure> {
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
    save(storage, Kept { email: settings.email.clone(), credentials })?;
    tracing::info!("made the account {} at {}", account.id(), settings.directory_url);
    Ok(account)
}

fn save(storage: &Storage, kept: Kept) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(&kept)
        .map_err(|error| Failure::unjudged(format!("the account cannot be written: {error}")))?;
    Ok(storage.save_account(&text)?)
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

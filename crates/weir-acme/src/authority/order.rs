//! One order, from beginning to end (RFC 8555 section 7.4): placed, the name proved, the key made, the
//! chain fetched. Used by the authority.

use std::time::Duration;

use instant_acme::{
    Account, AuthorizationStatus, ChallengeType, Error, Identifier, NewOrder, Order, OrderStatus,
    RetryPolicy,
};
use tokio::time::sleep;

use super::kept::Kept;
use super::problem::{failure, is_already_replaced, is_no_account, told};
use super::suggestion::identifier;
use super::wish::Wish;
use crate::answers::{Answers, Given, KNOWN_TO_ALL};
use crate::failure::Failure;
use crate::host_name::HostName;
use crate::settings::ChallengeKind;
use crate::storage::Pem;

/// How the server is asked whether it has decided. What it says about that (Retry-After) goes first.
const POLLING: RetryPolicy = RetryPolicy::new()
    .initial_delay(Duration::from_millis(250))
    .backoff(1.5)
    .timeout(Duration::from_secs(150));

/// Brings a new key and the chain that belongs to it.
pub(super) async fn obtain(
    account: &Account,
    kept: &Kept,
    wish: Wish<'_>,
    answers: &Answers,
) -> Result<Pem, Failure> {
    let mut order = place(account, kept, wish).await?;
    let answers = answer(&mut order, wish, answers).await?;
    wait_for_proof(&mut order, wish).await?;
    drop(answers);
    let key = order.finalize().await;
    let key = key.map_err(|error| failure("the order was not completed", &error))?;
    let chain = order.poll_certificate(&POLLING).await;
    let chain = chain.map_err(|error| failure("the certificate was not issued", &error))?;
    Ok(Pem { key, chain })
}

async fn place(account: &Account, kept: &Kept, wish: Wish<'_>) -> Result<Order, Failure> {
    let identifiers = [Identifier::Dns(wish.name.to_string())];
    if let Some(replaced) = wish.replaces.and_then(identifier) {
        match account.new_order(&NewOrder::new(&identifiers).replaces(replaced)).await {
            // The server knows no renewal information, or another process's order came first.
            Err(Error::Unsupported(_)) => {}
            Err(error) if is_already_replaced(&error) => {}
            other => return other.map_err(|error| not_placed(kept, &error)),
        }
    }
    let order = account.new_order(&NewOrder::new(&identifiers)).await;
    order.map_err(|error| not_placed(kept, &error))
}

fn not_placed(kept: &Kept, error: &Error) -> Failure {
    if is_no_account(error)
        && let Err(error) = kept.forget()
    {
        return Failure::unjudged(format!("the ACME server has lost the account, and it {error}"));
    }
    failure("the order was not taken", error)
}

/// Gives out answers to the challenges of all that is not proved yet.
async fn answer(
    order: &mut Order,
    wish: Wish<'_>,
    answers: &Answers,
) -> Result<Vec<Given>, Failure> {
    let mut given = Vec::new();
    let mut authorizations = order.authorizations();
    while let Some(authorization) = authorizations.next().await {
        let mut authorization =
            authorization.map_err(|error| failure("the challenge was not shown", &error))?;
        match authorization.status {
            AuthorizationStatus::Pending => {}
            AuthorizationStatus::Valid => continue,
            other => {
                return Err(Failure::refused(format!(
                    "the order begins with a proof that is {other:?}"
                )));
            }
        }
        let kind = match wish.kind {
            ChallengeKind::Http01 => ChallengeType::Http01,
            ChallengeKind::TlsAlpn01 => ChallengeType::TlsAlpn01,
        };
        let mut challenge = authorization.challenge(kind).ok_or_else(|| {
            Failure::refused(format!("the ACME server does not offer {} here", wish.kind))
        })?;
        let key_authorization = challenge.key_authorization();
        given.push(answers.give(wish.kind, wish.name, &challenge.token, &key_authorization)?);
        sleep(KNOWN_TO_ALL).await;
        let taken = challenge.set_ready().await;
        taken.map_err(|error| failure("the challenge was not taken up", &error))?;
    }
    Ok(given)
}

async fn wait_for_proof(order: &mut Order, wish: Wish<'_>) -> Result<(), Failure> {
    let error = match order.poll_ready(&POLLING).await {
        Ok(OrderStatus::Ready) => return Ok(()),
        Ok(_) => None,
        Err(Error::Api(problem)) => Some(told(&problem)),
        Err(error) => return Err(failure("the name was not proved", &error)),
    };
    let reason = match reason(order).await {
        Some(reason) => reason,
        None => error.unwrap_or_else(|| "it does not say why".to_owned()),
    };
    Err(Failure::refused(format!(
        "the ACME server could not prove {} by {}: {}; {}",
        wish.name,
        wish.kind,
        reason,
        remedy(wish.name, wish.kind)
    )))
}

/// What the server found when it looked.
async fn reason(order: &mut Order) -> Option<String> {
    let mut authorizations = order.authorizations();
    while let Some(Ok(authorization)) = authorizations.next().await {
        let problem =
            authorization.challenges.iter().find_map(|challenge| challenge.error.as_ref());
        if let Some(problem) = problem {
            return Some(told(problem));
        }
    }
    None
}

fn remedy(name: &HostName, kind: ChallengeKind) -> String {
    match kind {
        ChallengeKind::Http01 => format!(
            "it asks http://{name}/.well-known/acme-challenge/ on port 80, which must reach this server"
        ),
        ChallengeKind::TlsAlpn01 => {
            format!("it connects to {name} on port 443, which must reach this server")
        }
    }
}

//! One order, from beginning to end (RFC 8555 section 7.4): placed, the name proved, the key made, the
//! chain fetched. Used by the authority. A server may take its time to make a certificate, so an order
//! whose name is proved is kept with its key, and gone on with until it comes to an end.

use std::time::{Duration, SystemTime};

use instant_acme::{
    Account, AuthorizationStatus, ChallengeType, Error, Identifier, NewOrder, Order, OrderStatus,
    RetryPolicy,
};
use tokio::time::sleep;

use super::client::Visit;
use super::kept::Kept;
use super::kept_orders::{KeptOrder, KeptOrders};
use super::outcome::Outcome;
use super::problem::{failure, is_already_replaced, is_no_account, may_pass, told};
use super::signing::{new_key, signing_request};
use super::suggestion::identifier;
use super::wish::Wish;
use crate::answers::{Answers, Given, KNOWN_TO_ALL};
use crate::failure::Failure;
use crate::host_name::HostName;
use crate::schedule::processing::{LONGEST_PROCESSING, next_look};
use crate::settings::ChallengeKind;
use crate::storage::Pem;

/// How the server is asked whether it has decided. What it says about that (Retry-After) goes first. A
/// certificate that is not made by then is looked for later.
const POLLING: RetryPolicy = RetryPolicy::new()
    .initial_delay(Duration::from_millis(250))
    .backoff(1.5)
    .timeout(Duration::from_secs(150));

/// What orders are placed and kept with.
#[derive(Clone, Copy)]
pub(super) struct Desk<'a> {
    pub(super) account: &'a Account,
    pub(super) kept: &'a Kept,
    pub(super) orders: &'a KeptOrders,
    pub(super) visit: &'a Visit,
}

/// Goes on with the order for this name that is under way, or places one. An order whose certificate is
/// issued is kept on, for the certificate is not saved yet.
pub(super) async fn obtain(
    desk: Desk<'_>,
    wish: Wish<'_>,
    answers: &Answers,
    now: SystemTime,
) -> Result<Outcome, Failure> {
    if let Some(kept) = desk.orders.read(wish.name) {
        let age = kept.age(now);
        // Nobody has looked at an older one in time, such as after a day without power.
        if age < 2 * LONGEST_PROCESSING {
            let mut order = open(desk, wish, &kept, age).await?;
            return finish(desk, wish, &mut order, kept, age).await;
        }
        tracing::info!("the order for {} is too old to go on with: a new one is placed", wish.name);
        desk.orders.forget(wish.name);
    }
    let mut order = place(desk, wish).await?;
    let answers = answer(&mut order, wish, answers).await?;
    wait_for_proof(&mut order, wish).await?;
    drop(answers);
    let kept = KeptOrder::new(order.url().to_owned(), new_key()?, now);
    // Before the server knows the key: no crash makes it work for nothing.
    desk.orders.write(wish.name, &kept);
    finish(desk, wish, &mut order, kept, Duration::ZERO).await
}

async fn place(desk: Desk<'_>, wish: Wish<'_>) -> Result<Order, Failure> {
    let identifiers = [Identifier::Dns(wish.name.to_string())];
    let not_placed = |error: Error| not_taken(desk.kept, "the order was not taken", &error);
    if let Some(replaced) = wish.replaces.and_then(identifier) {
        match desk.account.new_order(&NewOrder::new(&identifiers).replaces(replaced)).await {
            // The server knows no renewal information, or another process's order came first.
            Err(Error::Unsupported(_)) => {}
            Err(error) if is_already_replaced(&error) => {}
            other => return other.map_err(not_placed),
        }
    }
    desk.account.new_order(&NewOrder::new(&identifiers)).await.map_err(not_placed)
}

/// How the order that is under way is now. One that the server does not know any more is forgotten.
async fn open(
    desk: Desk<'_>,
    wish: Wish<'_>,
    kept: &KeptOrder,
    age: Duration,
) -> Result<Order, Failure> {
    let order = desk.account.order(kept.url.clone()).await;
    order.map_err(|error| {
        if age >= LONGEST_PROCESSING || !may_pass(&error) {
            desk.orders.forget(wish.name);
        }
        not_taken(desk.kept, "the order that was under way is not to be had", &error)
    })
}

fn not_taken(kept: &Kept, what: &str, error: &Error) -> Failure {
    if is_no_account(error)
        && let Err(error) = kept.forget()
    {
        return Failure::unjudged(format!("the ACME server has lost the account, and it {error}"));
    }
    failure(what, error)
}

/// From the proof of the name to the chain, or as far as the server has come. An order that comes to
/// nothing is forgotten.
async fn finish(
    desk: Desk<'_>,
    wish: Wish<'_>,
    order: &mut Order,
    kept: KeptOrder,
    age: Duration,
) -> Result<Outcome, Failure> {
    let request = signing_request(wish.name, &kept.key);
    let request = request.inspect_err(|_| desk.orders.forget(wish.name))?;
    let is_too_old = age >= LONGEST_PROCESSING;
    match chain(order, &request).await {
        Ok(Some(chain)) => Ok(Outcome::Issued(Pem { key: kept.key, chain })),
        Ok(None) if is_too_old => {
            desk.orders.forget(wish.name);
            Err(Failure::refused(
                "the ACME server has not made the certificate within a day: the order is given up",
            ))
        }
        Ok(None) => Ok(Outcome::Processing(next_look(age, desk.visit.retry_after()))),
        Err(error) => {
            let is_over =
                matches!(order.state().status, OrderStatus::Invalid | OrderStatus::Pending);
            if is_over || is_too_old || !may_pass(&error) {
                desk.orders.forget(wish.name);
            }
            Err(match error {
                // An order that says why has its problem in the error.
                Error::Str(_) if is_over => Failure::refused(
                    "the certificate was not issued: the ACME server has given the order up, and does \
                     not say why",
                ),
                error => failure("the certificate was not issued", &error),
            })
        }
    }
}

/// The chain that an order leads to whose name is proved; `None`: the server is still making it.
async fn chain(order: &mut Order, request: &[u8]) -> Result<Option<String>, Error> {
    let status = order.state().status;
    match status {
        OrderStatus::Ready => {
            order.finalize_csr(request).await?;
            match order.poll_certificate(&POLLING).await {
                Err(Error::Timeout(_)) => Ok(None),
                chain => chain.map(Some),
            }
        }
        // It has just been looked at.
        OrderStatus::Processing => Ok(None),
        OrderStatus::Pending | OrderStatus::Valid | OrderStatus::Invalid => {
            order.certificate().await
        }
    }
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

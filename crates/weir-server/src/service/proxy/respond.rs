//! Answers one request by calling backends, one after the other as far as repeating the request is
//! safe. Used by the client's connection: the entrance to the proxy.

use std::rc::Rc;

use http::StatusCode;
use weir_http::message::Request;
use weir_sched::balance::Balance;

use super::attempt;
use super::error::AttemptError;
use super::proxy_request::{ProxyOutcome, ProxyRequest, UnreadBody};
use super::request_body::{BodyError, IncomingBody, Pipe};
use super::request_head;
use crate::answer::Answer;
use crate::client::Requester;
use crate::identity;

/// The response, or `None` if the client leaves before there is one.
///
/// `body`, the rest of the request, is buffered in memory and in a file as far as there is room before
/// a slot is requested, so that a client that sends slowly delays nobody else.
pub(crate) async fn respond(
    proxied: &ProxyRequest<'_, impl Requester>,
    body: Option<&mut impl IncomingBody>,
) -> Option<ProxyOutcome> {
    let mut pipe = None;
    if let Some(body) = body {
        if !body.ask() {
            return None;
        }
        let edits = proxied.route.request_edits().clone();
        let pipe_so_far =
            Pipe::new(proxied.route.limits(), body.length(), proxied.account(), edits);
        if let Err(error) = body.read(&pipe_so_far, true).await {
            return incomplete(error);
        }
        if !pipe_so_far.has_ended() {
            // Boxed: requests without a body are most, and need no room for this.
            return Box::pin(respond_while_reading(proxied, body, &pipe_so_far)).await;
        }
        pipe = Some(pipe_so_far);
    }
    attempts(proxied, pipe.as_ref()).await
}

/// Calls backends while the rest of the body is read.
async fn respond_while_reading(
    proxied: &ProxyRequest<'_, impl Requester>,
    body: &mut impl IncomingBody,
    pipe: &Rc<Pipe>,
) -> Option<ProxyOutcome> {
    let unread = UnreadBody::new(pipe);
    let mut response = std::pin::pin!(attempts(proxied, Some(pipe)));
    tokio::select! {
        outcome = &mut response => {
            let unread = (!pipe.has_ended()).then_some(unread);
            return outcome.map(|outcome| ProxyOutcome { unread, ..outcome });
        }
        read = body.read(pipe, false) => if let Err(error) = read {
            // Polled once more, so that a call that is under way hears of it.
            tokio::select! {
                biased;
                _ = &mut response => {}
                () = std::future::ready(()) => {}
            }
            return incomplete(error);
        },
    }
    response.await
}

/// The response if the client did not send the whole body.
fn incomplete(error: BodyError) -> Option<ProxyOutcome> {
    let status = match error {
        BodyError::ClientLeft => return None,
        BodyError::TimedOut => StatusCode::REQUEST_TIMEOUT,
        BodyError::Malformed => StatusCode::BAD_REQUEST,
        BodyError::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
    };
    Some(ProxyOutcome::answer(Answer::error(status)))
}

/// Tries one backend after the other as far as that is safe.
async fn attempts(
    proxied: &ProxyRequest<'_, impl Requester>,
    pipe: Option<&Rc<Pipe>>,
) -> Option<ProxyOutcome> {
    let shared = &proxied.route.shared;
    let mut tried = Vec::new();
    let mut retries_left = shared.config.retries;
    let mut error = AttemptError::InvalidResponse("no backend is configured");
    while let Some(index) =
        shared.backends.pick(proxied.client.address().ip(), || affinity_key(proxied), &tried)
    {
        let backend = &shared.backends.all[index];
        let parts = match request_head::request(proxied, backend) {
            Ok(parts) => Box::new(parts),
            Err(bad) => {
                return Some(ProxyOutcome::answer(Answer::error(bad.status)));
            }
        };
        // If a reused connection was found closed, the other idle ones may be closed, too.
        let fresh = matches!(error, AttemptError::ConnectionClosed { reused: true, .. });
        error = match attempt::attempt(proxied, pipe, parts, index, fresh).await {
            Ok(outcome) => return Some(outcome),
            Err(AttemptError::ClientLeft) => return None,
            Err(error) => error,
        };
        // A shortage of descriptors is logged once, where it is noticed.
        if !matches!(error, AttemptError::Overloaded(_) | AttemptError::OutOfResources) {
            tracing::warn!("backend {}: {}", backend.address, error);
        }
        if retries_left == 0 || !may_repeat(proxied.request, pipe.is_some(), &error) {
            break;
        }
        retries_left -= 1;
        // The same backend again only if it had closed an idle connection.
        if !matches!(error, AttemptError::ConnectionClosed { reused: true, .. }) {
            tried.push(index);
        }
    }
    Some(ProxyOutcome::answer(match error {
        AttemptError::Overloaded(after) => Answer::refusal(after),
        AttemptError::OutOfResources | AttemptError::BodyLost(_) => {
            Answer::error(StatusCode::SERVICE_UNAVAILABLE)
        }
        AttemptError::TimedOut => Answer::error(StatusCode::GATEWAY_TIMEOUT),
        _ => Answer::error(StatusCode::BAD_GATEWAY),
    }))
}

/// Whether it is safe to send the request again (RFC 9110, section 9.2.2): nothing was sent, or the
/// method is idempotent and a reused connection was closed as the request arrived.
fn may_repeat(request: &Request<'_>, has_body: bool, error: &AttemptError) -> bool {
    match error {
        AttemptError::Unreachable(_) => true,
        AttemptError::ConnectionClosed { reused, unsent, .. } => {
            !has_body && (*unsent || *reused && request.method.is_idempotent())
        }
        _ => false,
    }
}

/// What requests share that go to the same backend under a hashing balance: client or path.
fn affinity_key(proxied: &ProxyRequest<'_, impl Requester>) -> u64 {
    match proxied.route.shared.config.balance {
        Balance::HashPath => identity::hash(&proxied.request.path),
        _ => identity::client_key(proxied.client.address().ip()),
    }
}

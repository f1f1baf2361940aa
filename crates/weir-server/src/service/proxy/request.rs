//! What becomes of one request that goes to backends: they are asked one after the other as far as
//! that is safe, and an answer, or what went wrong, becomes a response.

use std::rc::Rc;

use http::Method as HttpMethod;
use weir_http::Status;
use weir_http::message::Request;
use weir_sched::balance::Balance;

use super::asked::{Asked, Passed, Unread};
use super::attempt;
use super::incoming::{ClientBody, Short};
use super::onward;
use super::outgoing::Pipe;
use super::trouble::Trouble;
use crate::identity;

/// The response, or `None` if the client leaves before there is one.
///
/// `body`: the rest of the request. It is read before the backend's slot is asked for as far as
/// there is room for it in memory and in a file, so that a client that sends slowly holds up nobody.
pub(crate) async fn respond(
    asked: &Asked<'_>,
    body: Option<&mut ClientBody<'_>>,
) -> Option<Passed> {
    let mut pipe = None;
    if let Some(body) = body {
        let edits = asked.route.request_edits().clone();
        let begun = Pipe::new(asked.route.limits(), body.length(), asked.account(), edits);
        if let Err(short) = body.read(&begun, true).await {
            return cut_short(asked, short);
        }
        if !begun.has_ended() {
            // Boxed: requests without a body are most, and need no room for this.
            return Box::pin(while_it_comes(asked, body, &begun)).await;
        }
        pipe = Some(begun);
    }
    attempts(asked, pipe.as_ref()).await
}

/// Reads the rest of the body while backends are asked.
async fn while_it_comes(
    asked: &Asked<'_>,
    body: &mut ClientBody<'_>,
    pipe: &Rc<Pipe>,
) -> Option<Passed> {
    let unread = Unread::new(pipe);
    let mut answered = std::pin::pin!(attempts(asked, Some(pipe)));
    tokio::select! {
        passed = &mut answered => {
            let unread = (!pipe.has_ended()).then_some(unread);
            return passed.map(|passed| Passed { unread, ..passed });
        }
        read = body.read(pipe, false) => if let Err(short) = read {
            // A call that is under way hears of it; one that is not is not begun.
            tokio::select! {
                biased;
                _ = &mut answered => {}
                () = std::future::ready(()) => {}
            }
            return cut_short(asked, short);
        },
    }
    answered.await
}

/// The client did not send its request to the end.
fn cut_short(asked: &Asked<'_>, short: Short) -> Option<Passed> {
    let status = match short {
        Short::ClientLeft => return None,
        Short::TimedOut => Status::RequestTimeout,
        Short::Malformed => Status::BadRequest,
        Short::TooLarge => Status::ContentTooLarge,
    };
    Some(Passed::plain(asked.framing.then_closing().error(status)))
}

/// Asks one backend after the other as far as that is safe.
async fn attempts(asked: &Asked<'_>, pipe: Option<&Rc<Pipe>>) -> Option<Passed> {
    let shared = &asked.route.shared;
    let mut tried = Vec::new();
    let mut left = shared.config.retries;
    let mut trouble = Trouble::Nonsense("there is no backend");
    while let Some(place) = shared.backends.pick(asked.source.ip(), || key(asked), &tried) {
        let backend = &shared.backends.all[place];
        let parts = match onward::request(asked, backend) {
            Ok(parts) => parts,
            Err(bad) => return Some(Passed::plain(asked.framing_after(pipe).error(bad.status))),
        };
        // A connection that had been kept and was closed says nothing of the others that were.
        let fresh = matches!(trouble, Trouble::Ended { reused: true, .. });
        trouble = match attempt::ask(asked, pipe, parts, place, fresh).await {
            Ok(passed) => return Some(passed),
            Err(Trouble::ClientLeft) => return None,
            Err(trouble) => trouble,
        };
        // A want of descriptors is told once, not by each that finds it.
        if !matches!(trouble, Trouble::Refused(_) | Trouble::Exhausted) {
            tracing::warn!("backend {}: {}", backend.address, trouble);
        }
        if left == 0 || !may_repeat(asked.request, pipe.is_some(), &trouble) {
            break;
        }
        left -= 1;
        // The same one again only if it closed a connection that it had kept for us.
        if !matches!(trouble, Trouble::Ended { reused: true, .. }) {
            tried.push(place);
        }
    }
    let framing = asked.framing_after(pipe);
    Some(Passed::plain(match trouble {
        Trouble::Refused(after) => framing.refusal(after),
        Trouble::Exhausted => framing.error(Status::ServiceUnavailable),
        Trouble::TimedOut => framing.error(Status::GatewayTimeout),
        _ => framing.error(Status::BadGateway),
    }))
}

/// Whether asking again can do no harm (RFC 9110, section 9.2.2): nothing was sent, or the method
/// may be repeated and a kept connection was closed as the request came.
fn may_repeat(request: &Request<'_>, has_body: bool, trouble: &Trouble) -> bool {
    match trouble {
        Trouble::Unreachable(_) => true,
        Trouble::Ended { reused, unsent, .. } => {
            let method = HttpMethod::from_bytes(request.method_text.as_bytes());
            let idempotent = method.is_ok_and(|method| method.is_idempotent());
            !has_body && (*unsent || *reused && idempotent)
        }
        _ => false,
    }
}

/// What requests that belong together share: who asks, or what for.
fn key(asked: &Asked<'_>) -> u64 {
    match asked.route.shared.config.balance {
        Balance::HashPath => identity::hash(&asked.request.path),
        _ => identity::client(asked.source.ip()),
    }
}

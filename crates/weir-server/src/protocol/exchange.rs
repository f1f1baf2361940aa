//! One request to one answer, for every protocol: the service that it is for answers it, unless its client
//! leaves before. What comes to nothing is counted and logged here; answers are, where they are delivered.

use http::{Method, StatusCode};
use weir_http::message::{Fields, Request, RequestBody};
use weir_sched::Time;

use super::admission;
use super::serving::Serving;
use crate::answer::Answer;
use crate::body::Charge;
use crate::client::{Requester, Wait};
use crate::logs::access_log::GateKind;
use crate::service::Destination;
use crate::service::proxy::{
    self, IncomingBody, ProxyOutcome, ProxyRequest, Route, UnreadBody, Upstream,
};

/// A request that has come.
#[derive(Debug)]
pub(super) struct Asked<'a, R> {
    pub(super) requester: &'a R,
    pub(super) request: &'a Request<'a>,
    /// All its fields, if its destination wants them.
    pub(super) fields: &'a Fields<'a>,
    /// When it had come.
    pub(super) begun: Time,
}

/// An answer, and what goes on with it.
#[derive(Debug)]
pub(super) struct Answered {
    pub(super) answer: Answer,
    /// Boxed: answers from memory, which are most, have nothing of the kind.
    pub(super) following: Option<Box<Following>>,
}

impl Answered {
    fn own(answer: Answer) -> Answered {
        Answered { answer, following: None }
    }
}

/// What lasts as long as a backend's answer is sent.
#[derive(Debug)]
pub(super) struct Following {
    /// After a switch of protocols: the direction from the client to the backend.
    pub(super) upstream: Option<Upstream>,
    /// The backend answered before the whole request had arrived: the rest of it.
    pub(super) unread: Option<UnreadBody>,
    /// The memory that the body takes.
    _charge: Option<Charge>,
}

/// The answer to a request; `None` if its client left before there was one. `body`: the rest of it.
pub(super) async fn exchange<R: Requester>(
    serving: &Serving,
    asked: &Asked<'_, R>,
    to: Destination,
    body: Option<&mut impl IncomingBody>,
) -> Option<Answered> {
    let Asked { requester, request, fields, begun } = asked;
    let (client, user, details) = (requester.address(), requester.user(), requester.details());
    let waiting = serving.journal.waiting(client, user, request, *begun, details);
    // Whose page an error has: files that answer have seen to that themselves.
    let pages_of = match &to {
        Destination::Files(_) => None,
        Destination::Refused { site, .. } => Some(site.unwrap_or_default()),
        _ => Some(0),
    };
    let answered = match to {
        Destination::Refused { refusal, site } => {
            let answer = admission::answer(&refusal);
            Some(Answered::own(match site {
                Some(site) => serving.service.finish(site, answer, fields),
                None => answer,
            }))
        }
        // Nobody has asked whether it may: it may not.
        Destination::Guarded(_) => Some(Answered::own(Answer::error(StatusCode::FORBIDDEN))),
        Destination::Files(site) => {
            match serving.service.respond_from_memory(site, request, fields) {
                Some(answer) => Some(Answered::own(answer)),
                // Boxed, here and below: what answers at once needs no room for it.
                None => Box::pin(unless_left(serving, asked, site)).await,
            }
        }
        Destination::Challenge(page) => Some(Answered::own(Answer::challenge(page))),
        Destination::Admin => Box::pin(unless_left(serving, asked, 0)).await,
        Destination::Backends(route) => match refusal(&route, request) {
            Some(status) => Some(Answered::own(Answer::error(status))),
            None => Box::pin(relayed(&route, asked, body)).await,
        },
        Destination::Redirect { location, status } => {
            Some(Answered::own(Answer::redirect(status, location)))
        }
        Destination::Nowhere(status) => Some(Answered::own(Answer::error(status))),
    };
    let answered = match (answered, pages_of) {
        (Some(answered), Some(site)) if serving.service.has_error_page(site, &answered.answer) => {
            Some(Box::pin(with_error_page(serving, asked, site, answered)).await)
        }
        (answered, _) => answered,
    };
    waiting.over(answered.is_some());
    answered
}

/// The answer of a service that may have to wait for it; `site`: whose files it is for, if it is for files.
async fn unless_left<R: Requester>(
    serving: &Serving,
    asked: &Asked<'_, R>,
    site: usize,
) -> Option<Answered> {
    let Asked { requester, request, fields, begun } = *asked;
    let client = requester.address().ip();
    // What is not in memory comes from a disk.
    let wait = Wait::at(GateKind::Disk, requester.details());
    let wait = wait.as_ref();
    tokio::select! {
        biased;
        answer = serving.service.respond(site, request, fields, begun, client, wait) => {
            Some(Answered::own(answer))
        }
        () = requester.gone(), if serving.service.notices_departures() => None,
    }
}

/// An error that weir tells of itself, with the page that `site` has for it.
async fn with_error_page<R: Requester>(
    serving: &Serving,
    asked: &Asked<'_, R>,
    site: usize,
    answered: Answered,
) -> Answered {
    let is_head = asked.request.method == Method::HEAD;
    let Answered { answer, following } = answered;
    let answer = serving.service.with_error_page(site, answer, is_head, asked.begun).await;
    Answered { answer, following }
}

/// Why no backend need see the request.
fn refusal(route: &Route, request: &Request<'_>) -> Option<StatusCode> {
    let most = route.max_body().unwrap_or(u64::MAX);
    match request.body {
        // A backend would echo what the route adds to the request (RFC 9110, section 9.3.8).
        _ if request.method == Method::TRACE => Some(StatusCode::NOT_IMPLEMENTED),
        _ if request.unknown_expectation => Some(StatusCode::EXPECTATION_FAILED),
        RequestBody::Length(length) if length > most => Some(StatusCode::PAYLOAD_TOO_LARGE),
        _ => None,
    }
}

async fn relayed<R: Requester>(
    route: &Route,
    asked: &Asked<'_, R>,
    body: Option<&mut impl IncomingBody>,
) -> Option<Answered> {
    let Asked { requester, request, fields, .. } = *asked;
    let proxied = ProxyRequest { client: requester, route, request, fields };
    let outcome = proxy::respond(&proxied, body).await?;
    let ProxyOutcome { answer, upstream, unread, charge } = outcome;
    let follows = upstream.is_some() || unread.is_some() || charge.is_some();
    let following = follows.then(|| Box::new(Following { upstream, unread, _charge: charge }));
    Some(Answered { answer, following })
}

//! One attempt at one backend: admission by its gate, a connection, the request, the head of its
//! response. Used by [`mod@super::respond`], which decides about further attempts.

use std::cell::Cell;
use std::future::poll_fn;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use http::request::Parts;
use http::{HeaderMap, StatusCode};
use tokio::time::{sleep, timeout};
use weir_http::forward;
use weir_sched::CallSpec;

use super::backend::{Admitted, Backend, Slot};
use super::call::{BackendCall, CallSetup};
use super::connection::Conn;
use super::error::AttemptError;
use super::interim::InterimResponses;
use super::proxy_request::{ProxyOutcome, ProxyRequest};
use super::request_body::{OutgoingBody, Pipe};
use super::response::{self, RelayOptions};
use super::response_wait::{self, ResponseWait};
use super::timeouts::{ResponseTimeouts, TotalDeadline};
use super::{client_watch, compression, tunnel};
use crate::answer::{AbortOn, Answer};
use crate::body::Limits;
use crate::body::{Reader, RelayedBody};
use crate::client::{Requester, Wait};
use crate::config::{DisconnectDetection, HalfClosed};
use crate::content::Body;
use crate::identity;
use crate::logs::access_log::GateKind;
use crate::runtime::turn;
use crate::sys::descriptors;

/// How long to wait before connecting again after descriptors were short.
const RETRY_INTERVAL: Duration = Duration::from_millis(50);

/// Calls backend number `index` of the route once; `fresh`: on a new connection.
pub(super) async fn attempt(
    proxied: &ProxyRequest<'_, impl Requester>,
    pipe: Option<&Rc<Pipe>>,
    parts: Box<Parts>,
    index: usize,
    fresh: bool,
) -> Result<ProxyOutcome, AttemptError> {
    let backend = &proxied.route.shared.backends.all[index];
    if let Some(details) = proxied.client.details() {
        details.calls(backend.answers.backend());
    }
    let client = identity::client_key(proxied.client.address().ip());
    let slot = admission(proxied, backend, client).await?;
    let tried = backend.call_started(client);
    let (conn, reused) = match connection(proxied, backend, index, fresh).await {
        Ok(conn) => conn,
        Err(AttemptError::ClientLeft) => {
            backend.client_left(tried);
            slot.withdraw();
            return Err(AttemptError::ClientLeft);
        }
        // It is no sign of the backend's health.
        Err(AttemptError::OutOfResources) => {
            backend.inconclusive(tried);
            slot.ended();
            return Err(AttemptError::OutOfResources);
        }
        Err(error) => {
            backend.call_failed(tried, &error);
            slot.failed();
            return Err(error);
        }
    };
    let config = &proxied.route.shared.config;
    let total = TotalDeadline::new(config.total_timeout, pipe);
    let pool = proxied.route.pools[index].clone();
    let (cancels, idle) = (config.cancels_on_disconnect, config.idle_timeout);
    let setup = CallSetup { slot, tried, pool, cancels, idle };
    let asked = turn::began();
    let (call, interim) = send(*parts, pipe, conn, setup);
    let wait = ResponseWait { proxied, pipe, backend, reused, total };
    let (mut call, mut head) = wait.head(call, interim).await?;
    call.has_answered();
    backend.answers.count(head.status().as_u16(), turn::began().since(asked));
    if head.status() == StatusCode::SWITCHING_PROTOCOLS {
        // Boxed: it is rare, and other calls need no room for it.
        return Box::pin(switch_protocols(proxied, call, head.into_parts().0.headers)).await;
    }
    proxied.restore_prefix(head.headers_mut(), backend);
    let options = RelayOptions {
        route: proxied.route,
        account: proxied.account(),
        timeouts: ResponseTimeouts { idle: config.idle_timeout, total: wait.total },
    };
    // What has arrived of the body by now is taken without waiting for more.
    let mut arrived = Some((call, head, options));
    let outcome = poll_fn(|context| match arrived.take() {
        Some((call, head, options)) => {
            Poll::Ready(response::respond(call, head, proxied.request, options, context))
        }
        None => Poll::Pending,
    });
    let mut outcome = outcome.await.map_err(AttemptError::InvalidResponse)?;
    outcome.answer.abort_on = match (config.disconnect_detection, config.half_closed) {
        (DisconnectDetection::Off, _) => AbortOn::Never,
        (_, HalfClosed::Gone) => AbortOn::HalfClose,
        (_, HalfClosed::Alive | HalfClosed::Probe) => AbortOn::FullClose,
    };
    match &proxied.route.shared.compressor {
        None => Ok(outcome),
        // Boxed: on other routes calls need no room for this.
        Some(compressor) => {
            Ok(Box::pin(compression::compressed(compressor, proxied, outcome)).await)
        }
    }
}

/// Sends the request.
fn send(
    parts: Parts,
    pipe: Option<&Rc<Pipe>>,
    conn: Conn,
    setup: CallSetup,
) -> (BackendCall, InterimResponses) {
    let body = pipe.map_or_else(OutgoingBody::none, OutgoingBody::from);
    let mut request = http::Request::from_parts(parts, body);
    let interim = InterimResponses::of(&mut request);
    let call = BackendCall::begin(conn, setup, request, pipe.cloned(), interim.count());
    (call, interim)
}

/// Waits at the backend's gate for a slot.
async fn admission(
    proxied: &ProxyRequest<'_, impl Requester>,
    backend: &Arc<Backend>,
    client: u64,
) -> Result<Slot, AttemptError> {
    let spec = CallSpec {
        tag: 0,
        route: proxied.route.shared.number,
        priority: proxied.route.shared.priority,
        client,
        kind: identity::hash(&(proxied.request.method.as_str(), proxied.request.path)),
        deadline: None,
    };
    let slot = match backend.admit(spec) {
        Admitted::Now(slot) => slot,
        // Boxed: most calls start at once, and need no room for this.
        Admitted::Waiting(waiting) => Box::pin(async {
            let _wait = Wait::at(GateKind::Backend, proxied.client.details());
            tokio::select! {
                biased;
                slot = waiting.admission() => Some(slot),
                () = response_wait::client_departure(proxied, backend) => None,
            }
        })
        .await
        .ok_or(AttemptError::ClientLeft)?,
    };
    let slot = slot.map_err(|refused| AttemptError::Overloaded(refused.retry_after))?;
    if client_watch::has_left(proxied.client, backend, proxied.route.shared.config.detection()) {
        slot.withdraw();
        return Err(AttemptError::ClientLeft);
    }
    Ok(slot)
}

/// A connection to the backend, and whether it is a reused one.
async fn connection(
    proxied: &ProxyRequest<'_, impl Requester>,
    backend: &Backend,
    index: usize,
    fresh: bool,
) -> Result<(Conn, bool), AttemptError> {
    if !fresh && let Some(conn) = proxied.route.pools[index].take() {
        return Ok((conn, true));
    }
    // Boxed: most calls find an idle connection, and need no room for this.
    let conn = Box::pin(open(proxied, backend)).await?;
    Ok((conn, false))
}

/// A new connection, unless the client leaves first.
async fn open(
    proxied: &ProxyRequest<'_, impl Requester>,
    backend: &Backend,
) -> Result<Conn, AttemptError> {
    let limit = proxied.route.shared.config.connect_timeout;
    let out_of_resources = Cell::new(false);
    tokio::select! {
        biased;
        opened = timeout(limit, open_when_possible(proxied, backend, &out_of_resources)) => match opened {
            Ok(Ok(conn)) => Ok(conn),
            Ok(Err(error)) => Err(AttemptError::Unreachable(error)),
            Err(_) if out_of_resources.get() => Err(AttemptError::OutOfResources),
            Err(_) => Err(AttemptError::Unreachable(std::io::ErrorKind::TimedOut.into())),
        },
        () = response_wait::client_departure(proxied, backend) => Err(AttemptError::ClientLeft),
    }
}

/// A new connection. While descriptors are short, idle ones are closed to make room, and
/// `out_of_resources` is true.
async fn open_when_possible(
    proxied: &ProxyRequest<'_, impl Requester>,
    backend: &Backend,
    out_of_resources: &Cell<bool>,
) -> std::io::Result<Conn> {
    loop {
        match Conn::open(&backend.address, backend.tls().as_ref()).await {
            Err(error) if descriptors::is_own(&error) => {
                descriptors::note_shortage();
                if !out_of_resources.replace(true) {
                    proxied.client.make_room();
                }
                sleep(RETRY_INTERVAL).await;
            }
            opened => {
                out_of_resources.set(false);
                return opened;
            }
        }
    }
}

/// Makes the connection a tunnel after the backend answered 101.
async fn switch_protocols(
    proxied: &ProxyRequest<'_, impl Requester>,
    call: BackendCall,
    received: HeaderMap,
) -> Result<ProxyOutcome, AttemptError> {
    if !forward::is_switch_allowed(forward::upgrade(proxied.request), &received) {
        return Err(AttemptError::InvalidResponse(
            "it switched to a protocol that the client did not offer",
        ));
    }
    let Some((stream, ahead)) = call.into_tunnel().await else {
        return Err(AttemptError::InvalidResponse("it broke off a switch of protocols"));
    };
    // No file: a tunnel holds no slot, so nothing is gained by buffering much.
    let limits = Limits { file: 0, ..proxied.route.limits() };
    let relayed = RelayedBody::new(limits, proxied.account());
    let upstream = tunnel::open(stream, ahead, relayed.clone());
    let body = Body::Relayed(Rc::new(Reader(relayed)));
    let fields = proxied.route.relayed(received);
    let answer = Answer::new(StatusCode::SWITCHING_PROTOCOLS, fields, body, None);
    Ok(ProxyOutcome { upstream: Some(upstream), ..ProxyOutcome::answer(answer) })
}

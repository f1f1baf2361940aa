//! One attempt to have a request answered by one backend: leave of its gate, a connection, the
//! request, the head of the answer. It does not know other attempts.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use http::request::Parts;
use http::{HeaderMap, StatusCode};
use tokio::time::{sleep, timeout};
use weir_http::forward;
use weir_sched::CallSpec;

use super::answer::{self, Passing};
use super::asked::{Asked, Passed};
use super::backend::{Backend, Slot};
use super::buffer::Limits;
use super::call::{Exchange, Given};
use super::conn::Conn;
use super::head::{self, Call};
use super::identity;
use super::interim::Interim;
use super::outgoing::{Outgoing, Pipe};
use super::relay::{Patience, Total};
use super::relayed::{Reader, Relayed};
use super::trouble::Trouble;
use super::{tunnel, watch};
use crate::config::{DisconnectDetection, HalfClosed};
use crate::content::Body;
use crate::limits;
use crate::response::Departure;

/// When a connection is tried again for which there was no descriptor.
const RECOVER: Duration = Duration::from_millis(50);

/// Asks the backend at `place` once. `fresh`: on a new connection.
pub(super) async fn ask(
    asked: &Asked<'_>,
    pipe: Option<&Rc<Pipe>>,
    parts: Parts,
    place: usize,
    fresh: bool,
) -> Result<Passed, Trouble> {
    let backend = &asked.route.shared.backends.all[place];
    let client = identity::client(asked.source.ip());
    let slot = admitted(asked, backend, client).await?;
    let tried = backend.call_started(client);
    let (conn, reused) = match connection(asked, backend, place, fresh).await {
        Ok(conn) => conn,
        Err(Trouble::ClientLeft) => {
            backend.client_left(tried);
            slot.found_dead();
            return Err(Trouble::ClientLeft);
        }
        // It says nothing of the backend.
        Err(Trouble::Exhausted) => {
            backend.take_back(tried);
            slot.ended();
            return Err(Trouble::Exhausted);
        }
        Err(trouble) => {
            backend.call_failed(tried, &trouble);
            slot.failed();
            return Err(trouble);
        }
    };
    let config = &asked.route.shared.config;
    let total = Total::new(config.total_timeout, pipe);
    let body = pipe.map_or_else(Outgoing::none, Outgoing::from);
    let mut request = http::Request::from_parts(parts, body);
    let interim = Interim::of(&mut request, asked.request.version);
    let pool = asked.route.pools[place].clone();
    let (pipe_end, counted) = (pipe.cloned(), interim.counted());
    let given = Given { slot, tried, pool, cancels: config.cancels_on_disconnect };
    let exchange = Exchange::begin(conn, given, request, pipe_end, counted);
    let call = Call { asked, pipe, backend, reused, total };
    let (mut exchange, head) = call.head(exchange, interim).await?;
    exchange.has_answered();
    if head.status() == StatusCode::SWITCHING_PROTOCOLS {
        // Boxed: it is rare, and other calls need no room for it.
        return Box::pin(switch(asked, exchange, head.headers())).await;
    }
    let passing = Passing {
        edits: asked.route.response_edits(),
        spare: &asked.route.spare,
        account: asked.account(),
        limits: asked.route.limits(),
        patience: Patience { idle: config.idle_timeout, total: call.total },
    };
    let framing = asked.framing_after(pipe);
    let passed = answer::respond(exchange, head, asked.request, &framing, passing).await;
    let mut passed = passed.map_err(Trouble::Nonsense)?;
    passed.response.departure = match (config.disconnect_detection, config.half_closed) {
        (DisconnectDetection::Off, _) => Departure::Unwatched,
        (_, HalfClosed::Gone) => Departure::Closed,
        (_, HalfClosed::Alive | HalfClosed::Probe) => Departure::Gone,
    };
    Ok(passed)
}

/// Waits at the gate.
async fn admitted(asked: &Asked<'_>, backend: &Arc<Backend>, client: u64) -> Result<Slot, Trouble> {
    let spec = CallSpec {
        tag: 0,
        route: asked.route.shared.number,
        priority: asked.route.shared.priority,
        client,
        kind: identity::hash(&(asked.request.method_text, asked.request.path)),
        deadline: None,
    };
    let slot = tokio::select! {
        biased;
        slot = backend.admit(spec) => slot.map_err(|refused| Trouble::Refused(refused.retry_after))?,
        () = head::departure(asked, backend) => return Err(Trouble::ClientLeft),
    };
    if watch::is_dead(asked.client, backend, asked.route.shared.config.detection()) {
        slot.found_dead();
        return Err(Trouble::ClientLeft);
    }
    Ok(slot)
}

/// A connection to the backend: one that was kept, or a new one; and whether it was kept.
async fn connection(
    asked: &Asked<'_>,
    backend: &Backend,
    place: usize,
    fresh: bool,
) -> Result<(Conn, bool), Trouble> {
    if !fresh && let Some(conn) = asked.route.pools[place].take() {
        return Ok((conn, true));
    }
    // Boxed: most calls find a connection, and need no room for this.
    let conn = Box::pin(opened(asked, backend)).await?;
    Ok((conn, false))
}

/// A new connection, if the client waits for it.
async fn opened(asked: &Asked<'_>, backend: &Backend) -> Result<Conn, Trouble> {
    let longest = asked.route.shared.config.connect_timeout;
    let exhausted = Cell::new(false);
    tokio::select! {
        biased;
        opened = timeout(longest, with_room(asked, backend, &exhausted)) => match opened {
            Ok(Ok(conn)) => Ok(conn),
            Ok(Err(error)) => Err(Trouble::Unreachable(error)),
            Err(_) if exhausted.get() => Err(Trouble::Exhausted),
            Err(_) => Err(Trouble::Unreachable(std::io::ErrorKind::TimedOut.into())),
        },
        () = head::departure(asked, backend) => Err(Trouble::ClientLeft),
    }
}

/// A new connection, for which others make room if descriptors are short. `exhausted` says whether it
/// waits for that.
async fn with_room(
    asked: &Asked<'_>,
    backend: &Backend,
    exhausted: &Cell<bool>,
) -> std::io::Result<Conn> {
    loop {
        match Conn::open(&backend.address).await {
            Err(error) if limits::is_own(&error) => {
                limits::note_shortage();
                if !exhausted.replace(true) {
                    asked.client.make_room();
                }
                sleep(RECOVER).await;
            }
            opened => {
                exhausted.set(false);
                return opened;
            }
        }
    }
}

/// The backend speaks another protocol from now on.
async fn switch(
    asked: &Asked<'_>,
    exchange: Exchange,
    fields: &HeaderMap,
) -> Result<Passed, Trouble> {
    if !forward::is_switch_allowed(forward::upgrade(asked.request), fields) {
        return Err(Trouble::Nonsense("it switched to a protocol that nobody asked for"));
    }
    let mut head = Vec::with_capacity(256);
    forward::switching_protocols_head(&mut head, fields, asked.route.response_edits());
    let (stream, ahead) = exchange.switched().await;
    // Without a file: it holds no slot.
    let limits = Limits { file: 0, ..asked.route.limits() };
    let relayed = Relayed::new(limits, asked.account());
    let upstream = tunnel::open(stream, ahead, relayed.clone());
    let body = Body::Relayed(Rc::new(Reader(relayed)));
    let response = asked.framing.then_closing().passed_on(101, head, body, None);
    Ok(Passed { upstream: Some(upstream), ..Passed::plain(response) })
}

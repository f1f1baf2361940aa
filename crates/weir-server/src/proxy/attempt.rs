//! One attempt to have a request answered by one backend: leave of its gate, a connection, the
//! request, the head of the answer. It does not know other attempts.

use std::fmt;
use std::future::poll_fn;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use http::request::Parts;
use http::{HeaderMap, Response, StatusCode};
use hyper::body::Incoming;
use tokio::time::{Instant, timeout};
use weir_http::forward;
use weir_http::request::Version;
use weir_http::response::still_there;
use weir_sched::CallSpec;

use super::answer::{self, Passing};
use super::backend::{Backend, Slot};
use super::call::Exchange;
use super::conn::Conn;
use super::identity;
use super::interim::Interim;
use super::outgoing::{Outgoing, Pipe};
use super::relay::Patience;
use super::relayed::{Reader, Relayed};
use super::request::{Asked, Passed, framing, plain};
use super::{tunnel, watch};
use crate::config::{HalfClose, How, Overflow};
use crate::content::Body;
use crate::response::Departure;

/// Why a backend gave no answer.
#[derive(Debug)]
pub(super) enum Trouble {
    /// It cannot be reached: nothing was sent.
    Unreachable(std::io::Error),
    /// Its connection ended first; whether it has seen the request, and on a connection that had
    /// been used before.
    Ended {
        reused: bool,
        unsent: bool,
        why: String,
    },
    TimedOut,
    Refused(Duration),
    /// Its answer makes no sense.
    Nonsense(&'static str),
    ClientLeft,
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Trouble::Unreachable(error) => write!(f, "cannot be reached: {error}"),
            Trouble::Ended { why, .. } => write!(f, "no answer: {why}"),
            Trouble::TimedOut => f.write_str("no answer in time"),
            Trouble::Nonsense(what) => f.write_str(what),
            Trouble::Refused(_) => f.write_str("overloaded"),
            Trouble::ClientLeft => f.write_str("the client left"),
        }
    }
}

/// Asks the backend at `place` once. `fresh`: on a new connection.
pub(super) async fn ask(
    asked: &Asked<'_>,
    pipe: Option<&Rc<Pipe>>,
    parts: Parts,
    place: usize,
    fresh: bool,
) -> Result<Passed, Trouble> {
    let backend = &asked.route.shared.backends.all[place];
    let slot = admitted(asked, backend).await?;
    backend.call_started();
    let (conn, reused) = match connection(asked, backend, place, fresh).await {
        Ok(conn) => conn,
        Err(trouble) => {
            backend.call_ended(false);
            slot.failed();
            return Err(trouble);
        }
    };
    let config = &asked.route.shared.config;
    let until = config.total_timeout.map(|total| Instant::now() + total);
    let body = pipe.map_or_else(Outgoing::none, Outgoing::from);
    let mut request = http::Request::from_parts(parts, body);
    let interim = (asked.request.version == Version::Http11).then(|| Interim::of(&mut request));
    let pool = asked.route.pools[place].clone();
    let exchange = Exchange::begin(conn, slot, pool, config.cancels, request);
    let call = Call { asked, pipe, backend, reused };
    let (exchange, head) = call.head(exchange, interim).await?;
    backend.call_ended(true);
    if head.status() == StatusCode::SWITCHING_PROTOCOLS {
        // Boxed: it is rare, and other calls need no room for it.
        return Box::pin(switch(asked, exchange, head.headers())).await;
    }
    let passing = Passing {
        edits: asked.route.response_edits(),
        spare: &asked.route.spare,
        memory: &asked.route.shared.memory,
        room: asked.route.room(),
        patience: Patience { idle: config.idle_timeout, until },
        spills: config.overflow == Overflow::Spill,
    };
    let framing = framing(asked, pipe);
    let response = answer::respond(exchange, head, asked.request, &framing, passing).await;
    let mut response = response.map_err(Trouble::Nonsense)?;
    response.departure = match (config.dead_requests.how, config.half_close) {
        (How::Off, _) => Departure::Unwatched,
        (_, HalfClose::Gone) => Departure::Closed,
        (_, HalfClose::Alive | HalfClose::Probe) => Departure::Gone,
    };
    Ok(plain(response))
}

/// A call whose answer has not begun.
struct Call<'a> {
    asked: &'a Asked<'a>,
    pipe: Option<&'a Rc<Pipe>>,
    backend: &'a Backend,
    /// Its connection had been used before.
    reused: bool,
}

impl Call<'_> {
    /// Waits for the head of the answer as long as the client is there and the backend may take.
    async fn head(
        &self,
        mut exchange: Exchange,
        interim: Option<Interim>,
    ) -> Result<(Exchange, Response<Incoming>), Trouble> {
        let client = self.asked.client;
        let pass_on = || interim.iter().for_each(|interim| interim.pass_on(client));
        let config = &self.asked.route.shared.config;
        let longest = config.total_timeout.unwrap_or(Duration::MAX).min(config.first_byte_timeout);
        let head = async {
            tokio::select! {
                biased;
                head = exchange.head(pass_on) => return Some(head),
                () = self.body_has_come() => {}
            }
            client.within(longest, exchange.head(pass_on)).await
        };
        let gone = async {
            self.body_has_come().await;
            departure(self.asked, self.backend).await;
        };
        let head = tokio::select! {
            biased;
            head = head => Some(head),
            () = gone => None,
        };
        match head {
            Some(Some(Ok(head))) => {
                if interim.is_some_and(|interim| interim.has_failed()) {
                    exchange.abandon(Some(head.into_body()));
                    return Err(Trouble::ClientLeft);
                }
                Ok((exchange, head))
            }
            Some(Some(Err(unanswered))) => {
                // That a kept connection was closed meanwhile says nothing of the backend.
                if !self.reused {
                    self.backend.call_ended(false);
                    exchange.failed();
                }
                let unsent = unanswered.unsent.is_some();
                let why = unanswered.error.to_string();
                Err(Trouble::Ended { reused: self.reused, unsent, why })
            }
            Some(None) => {
                self.backend.call_ended(false);
                // It may be at work still.
                exchange.let_end(None);
                Err(Trouble::TimedOut)
            }
            None => {
                exchange.abandon(None);
                Err(Trouble::ClientLeft)
            }
        }
    }

    /// While its body comes, reading that tells whether the client is there, and how long it may
    /// take.
    async fn body_has_come(&self) {
        poll_fn(|_| match self.pipe.is_none_or(|pipe| pipe.has_ended()) {
            true => Poll::Ready(()),
            false => Poll::Pending,
        })
        .await;
    }
}

/// Waits at the gate.
async fn admitted(asked: &Asked<'_>, backend: &Arc<Backend>) -> Result<Slot, Trouble> {
    let spec = CallSpec {
        tag: 0,
        route: asked.route.shared.number,
        priority: asked.route.shared.priority,
        client: identity::client(asked.source.ip()),
        kind: identity::hash(&(asked.request.method_text, asked.request.path)),
        deadline: None,
    };
    let slot = tokio::select! {
        biased;
        slot = backend.admit(spec) => slot.map_err(|refused| Trouble::Refused(refused.retry_after))?,
        () = departure(asked, backend) => return Err(Trouble::ClientLeft),
    };
    if watch::is_dead(asked.client, backend, asked.route.shared.config.dead_requests) {
        slot.found_dead();
        return Err(Trouble::ClientLeft);
    }
    Ok(slot)
}

async fn departure(asked: &Asked<'_>, backend: &Backend) {
    let config = &asked.route.shared.config;
    let question = still_there(asked.request.version);
    watch::gone(asked.client, backend, config.dead_requests, config.half_close, question).await;
}

/// A connection to the backend: one that was kept, or a new one.
async fn connection(
    asked: &Asked<'_>,
    backend: &Backend,
    place: usize,
    fresh: bool,
) -> Result<(Conn, bool), Trouble> {
    if !fresh && let Some(conn) = asked.route.pools[place].take() {
        return Ok((conn, true));
    }
    let longest = asked.route.shared.config.connect_timeout;
    match timeout(longest, Conn::open(&backend.address)).await {
        Ok(Ok(conn)) => Ok((conn, false)),
        Ok(Err(error)) => Err(Trouble::Unreachable(error)),
        Err(_) => Err(Trouble::Unreachable(std::io::ErrorKind::TimedOut.into())),
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
    let relayed = Relayed::new(asked.route.room(), asked.route.shared.memory.clone());
    let upstream = tunnel::open(stream, ahead, relayed.clone());
    let body = Body::Relayed(Rc::new(Reader(relayed)));
    let response = asked.framing.then_closing().passed_on(101, head, body, None);
    Ok(Passed { response, upstream: Some(upstream) })
}

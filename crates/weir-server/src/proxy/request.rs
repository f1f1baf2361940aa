//! What becomes of one request that goes to backends: it waits at a gate, is sent, and its answer
//! becomes a response; what went wrong becomes one, too.

use std::collections::hash_map::DefaultHasher;
use std::future::poll_fn;
use std::hash::{Hash, Hasher};
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

use http::request::Parts;
use http::{HeaderMap, Method as HttpMethod, StatusCode, header};
use tokio::time::{Instant, timeout};
use weir_http::Status;
use weir_http::forward::{self, BadForward, Onward, PathChange};
use weir_http::request::{Request, Version};
use weir_http::response::PROCESSING;
use weir_sched::CallSpec;

use super::answer::{self, Passing};
use super::backend::{Backend, Slot};
use super::call::Exchange;
use super::conn::Conn;
use super::incoming::{ClientBody, Short};
use super::interim::Interim;
use super::outgoing::{Outgoing, Pipe};
use super::relay::Patience;
use super::relayed::{Reader, Relayed};
use super::rewrite;
use super::route::Route;
use super::tunnel::{self, Upstream};
use super::watch;
use crate::client::Client;
use crate::config::{HalfClose, HostHeader, How, Overflow};
use crate::content::Body;
use crate::response::{Departure, Framing, Response};

/// A request on its way.
pub(crate) struct Asked<'a> {
    pub(crate) client: &'a Client,
    pub(crate) route: &'a Route,
    /// The head as it came.
    pub(crate) head: &'a [u8],
    pub(crate) request: &'a Request<'a>,
    /// How a response is framed, if the request can be read to its end.
    pub(crate) framing: Framing,
    /// Who asks.
    pub(crate) source: SocketAddr,
}

/// What it came to.
pub(crate) struct Passed {
    pub(crate) response: Response,
    /// The protocol was switched: the way from the client to the backend.
    pub(crate) upstream: Option<Upstream>,
}

/// The response, or `None` if the client leaves before there is one.
///
/// `body`: the rest of the request. It is read before the backend's slot is asked for as far as
/// memory for it goes, so that a client that sends slowly holds up nobody.
pub(crate) async fn respond(asked: &Asked<'_>, mut body: Option<ClientBody<'_>>) -> Option<Passed> {
    let pipe = body.as_ref().map(|body| Pipe::new(asked.route.room() as usize, body.length()));
    if let (Some(body), Some(pipe)) = (&mut body, &pipe)
        && let Err(short) = body.read(pipe, true).await
    {
        return cut_short(asked, short);
    }
    if let (Some(body), Some(pipe)) = (&mut body, &pipe)
        && !pipe.has_ended()
    {
        let mut answered = std::pin::pin!(attempts(asked, Some(pipe)));
        tokio::select! {
            passed = &mut answered => {
                // Nobody reads the rest: the backend must not wait for it.
                pipe.cut();
                return passed;
            }
            read = body.read(pipe, false) => if let Err(short) = read {
                return cut_short(asked, short);
            },
        }
        return answered.await;
    }
    attempts(asked, pipe.as_ref()).await
}

/// How the response is framed: what is left of a body that was not read to its end cannot be told
/// from the next request.
fn framing(asked: &Asked<'_>, pipe: Option<&Rc<Pipe>>) -> Framing {
    match pipe.is_none_or(|pipe| pipe.has_ended()) {
        true => asked.framing,
        false => asked.framing.then_closing(),
    }
}

/// The client did not send its request to the end.
fn cut_short(asked: &Asked<'_>, short: Short) -> Option<Passed> {
    let status = match short {
        Short::ClientLeft => return None,
        Short::TimedOut => Status::RequestTimeout,
        Short::Malformed => Status::BadRequest,
        Short::TooLarge => Status::ContentTooLarge,
    };
    Some(plain(asked.framing.then_closing().error(status)))
}

fn plain(response: Response) -> Passed {
    Passed { response, upstream: None }
}

/// Why a backend gave no answer.
#[derive(Debug)]
enum Trouble {
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

/// Asks one backend after the other as far as that is safe.
async fn attempts(asked: &Asked<'_>, pipe: Option<&Rc<Pipe>>) -> Option<Passed> {
    let shared = &asked.route.shared;
    let mut tried = Vec::new();
    let mut left = shared.config.retries;
    let mut trouble = Trouble::Nonsense("there is no backend");
    while let Some(place) = shared.backends.pick(key(asked), &tried) {
        let parts = match onward(asked) {
            Ok(parts) => parts,
            Err(bad) => return Some(plain(framing(asked, pipe).error(bad.status))),
        };
        // A connection that had been kept and was closed says nothing of the others that were.
        let fresh = matches!(trouble, Trouble::Ended { reused: true, .. });
        trouble = match attempt(asked, pipe, parts, place, fresh).await {
            Ok(passed) => return Some(passed),
            Err(Trouble::ClientLeft) => return None,
            Err(trouble) => trouble,
        };
        let backend = &shared.backends.all[place];
        if !matches!(trouble, Trouble::Refused(_)) {
            tracing::warn!("backend {}: {}", backend.address, said(&trouble));
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
    let framing = framing(asked, pipe);
    Some(plain(match trouble {
        Trouble::Refused(after) => framing.refusal(after),
        Trouble::TimedOut => framing.error(Status::GatewayTimeout),
        _ => framing.error(Status::BadGateway),
    }))
}

fn said(trouble: &Trouble) -> String {
    match trouble {
        Trouble::Unreachable(error) => format!("cannot be reached: {error}"),
        Trouble::Ended { why, .. } => format!("no answer: {why}"),
        Trouble::TimedOut => "no answer in time".to_owned(),
        Trouble::Nonsense(what) => (*what).to_owned(),
        Trouble::Refused(_) => "overloaded".to_owned(),
        Trouble::ClientLeft => "the client left".to_owned(),
    }
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

/// Asks the backend at `place` once.
async fn attempt(
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
    let began = Instant::now();
    let config = &asked.route.shared.config;
    let mut request =
        http::Request::from_parts(parts, pipe.map_or_else(Outgoing::none, Outgoing::from));
    if let HostHeader::Backend = config.host_header {
        request.headers_mut().insert(header::HOST, backend.authority.clone());
    }
    let interim = (asked.request.version == Version::Http11).then(|| Interim::of(&mut request));
    let pool = asked.route.pools[place].clone();
    let mut exchange = Exchange::begin(conn, slot, pool, config.gate.cancels, request);
    let longest = config.total_timeout.unwrap_or(Duration::MAX).min(config.first_byte_timeout);
    let pass_on = || interim.iter().for_each(|interim| interim.pass_on(asked.client));
    // While its body comes, reading that tells whether the client is there, and how long it may
    // take.
    let body_has_come = async || {
        poll_fn(|_| match pipe.is_none_or(|pipe| pipe.has_ended()) {
            true => Poll::Ready(()),
            false => Poll::Pending,
        })
        .await;
    };
    let head = async {
        tokio::select! {
            biased;
            head = exchange.head(pass_on) => return Some(head),
            () = body_has_come() => {}
        }
        asked.client.within(longest, exchange.head(pass_on)).await
    };
    let gone = async {
        body_has_come().await;
        departure(asked, backend).await;
    };
    let head = tokio::select! {
        biased;
        head = head => Ok(head),
        () = gone => Err(()),
    };
    let spoiled = interim.as_ref().is_some_and(Interim::has_failed);
    let head = match head {
        Ok(Some(Ok(head))) if spoiled => {
            exchange.abandon(Some(head.into_body()));
            return Err(Trouble::ClientLeft);
        }
        Ok(Some(Ok(head))) => head,
        Err(()) => {
            exchange.abandon(None);
            return Err(Trouble::ClientLeft);
        }
        Ok(None) => {
            backend.call_ended(false);
            // It may be at work still.
            exchange.let_end(None);
            return Err(Trouble::TimedOut);
        }
        Ok(Some(Err(unanswered))) => {
            // That a kept connection was closed meanwhile says nothing of the backend.
            if !reused {
                backend.call_ended(false);
                exchange.failed();
            }
            let unsent = unanswered.unsent.is_some();
            return Err(Trouble::Ended { reused, unsent, why: unanswered.error.to_string() });
        }
    };
    backend.call_ended(true);
    if head.status() == StatusCode::SWITCHING_PROTOCOLS {
        return switch(asked, exchange, head.headers()).await;
    }
    let passing = Passing {
        edits: asked.route.response_edits(),
        memory: &asked.route.shared.memory,
        room: asked.route.room(),
        patience: Patience {
            idle: config.idle_timeout,
            until: config.total_timeout.map(|total| began + total),
        },
        spills: config.overflow == Overflow::Spill,
    };
    let response =
        answer::respond(exchange, head, asked.request, &framing(asked, pipe), passing).await;
    let mut response = response.map_err(Trouble::Nonsense)?;
    response.departure = match (config.dead_requests.how, config.half_close) {
        (How::Off, _) => Departure::Unwatched,
        (_, HalfClose::Gone) => Departure::Closed,
        (_, HalfClose::Alive | HalfClose::Probe) => Departure::Gone,
    };
    Ok(plain(response))
}

/// Waits at the gate.
async fn admitted(asked: &Asked<'_>, backend: &std::sync::Arc<Backend>) -> Result<Slot, Trouble> {
    let spec = CallSpec {
        tag: 0,
        route: asked.route.shared.number,
        priority: asked.route.shared.priority,
        client: who(asked.source.ip()),
        kind: hash(&(asked.request.method_text, asked.request.path)),
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
    let question = match asked.request.version {
        Version::Http11 => PROCESSING,
        Version::Http10 => b"",
    };
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

/// The request as backends get it.
fn onward(asked: &Asked<'_>) -> Result<Parts, BadForward> {
    let Asked { request, route, .. } = asked;
    let config = &route.shared.config;
    let prefix = &route.shared.prefix;
    let path = match config.prefix_becomes() {
        // What is matched must be what the backend sees.
        None if !rewrite::has_dot_segments(request.path) => Ok(PathChange::Keep),
        None => rewrite::rewritten(request.path, "/", "/").map(PathChange::Whole),
        Some(new) => rewrite::rewritten(request.path, prefix, new).map(PathChange::Whole),
    };
    let path = path.map_err(|_| bad_path("the path cannot be rewritten"))?;
    if let (PathChange::Whole(path), Some(new)) = (&path, config.prefix_becomes())
        && !forward::is_below(path, new)
    {
        return Err(bad_path("the path leads out of what the route is for"));
    }
    let to = Onward {
        client: asked.source,
        scheme: "http",
        local_host: "localhost",
        style: route.forwarded(),
        trust: config.trust_forwarded,
        path: &path,
        host: &route.host(),
        edits: route.request_edits(),
        via: false,
        expect: false,
        upgrade: true,
    };
    forward::request(asked.head, request, &to)
}

fn bad_path(reason: &'static str) -> BadForward {
    BadForward { status: Status::BadRequest, reason }
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

/// What requests that belong together share: who asks, or what for.
fn key(asked: &Asked<'_>) -> u64 {
    match asked.route.shared.config.balance {
        weir_sched::balance::Balance::HashPath => hash(&asked.request.path),
        _ => who(asked.source.ip()),
    }
}

/// One client: of IPv6 a whole network of 64 bits, which a single host has to choose from.
fn who(address: IpAddr) -> u64 {
    match address.to_canonical() {
        IpAddr::V4(address) => hash(&address),
        IpAddr::V6(address) => hash(&(address.to_bits() >> 64)),
    }
}

/// The same in every process of the same build.
fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

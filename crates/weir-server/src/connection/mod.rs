//! One connection from its first byte to its last: read, resolve, schedule, send, log, again.

pub(crate) mod context;
mod origin;
mod proxied;

use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use tokio::task::coop::consume_budget;
use weir_http::Status;
use weir_http::h1::request::{self, Limits, Parsed};
use weir_http::h1::response::disconnect_probe;
use weir_http::message::{Request, RequestBody};
use weir_sched::Time;

use crate::client::input::Input;
use crate::client::{Client, Read, Waits};
use crate::config::ProxyProtocol;
use crate::connection::context::Context;
use crate::logs::access_log::Entry;
use crate::response::{Framing, Response};
use crate::runtime::turn;
use crate::send::{Outcome, Sending};
use crate::service::proxy::Destination;
use crate::sys;
use crate::sys::clock;
use crate::sys::socket::Socket;
use crate::uplink::Flow;

/// How long a client may take to close its side after the last response.
const LINGER: Duration = Duration::from_secs(5);

/// The same, and the age of a connection up to which its first request is waited for, when the server
/// stops: who has just connected, or is still sending, should not find the connection reset.
const LINGER_AT_STOP: Duration = Duration::from_secs(1);

/// How often it is looked whether the client has acknowledged everything when the server stops.
const LOOK_AT_STOP: Duration = Duration::from_millis(100);

/// Serves `socket` until either side ends it.
pub(crate) async fn run(context: Rc<Context>, socket: Socket, peer: SocketAddr) {
    context.metrics.connections.inc();
    let mut client = Client::new(socket, peer, &context.deadlines);
    let mut input = Input::new(context.buffers.clone());
    let source = match context.proxy_protocol {
        ProxyProtocol::Off => Some(peer),
        _ => Box::pin(origin::read(&context, &client, &mut input)).await,
    };
    if let Some(source) = source {
        client.peer = source;
        let mut flow = context.open_flow(&client.socket, source);
        match exchange(&context, &client, &mut input, &mut flow).await {
            End::Broken => {}
            end => close(&context, &client, &mut input, end).await,
        }
    }
    context.metrics.connections.dec();
}

/// How the exchange of requests and responses ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// Nothing can be sent any more, or nothing need be.
    Broken,
    /// No request had begun when the server stopped.
    Idle,
    /// The client may be sending still.
    Open,
    /// The last request was read whole, and answered.
    Answered,
}

/// Answers request after request.
///
/// Those for backends go their own way, since their bodies are read and their answers sent at once.
async fn exchange(
    context: &Context,
    client: &Client,
    input: &mut Input,
    flow: &mut Option<Flow>,
) -> End {
    let limits = Limits::default();
    // Its beginning may have come with a PROXY header.
    let mut head_begun = beginning(input);
    let mut is_first = true;
    let connected = turn::began();
    loop {
        // A client that asks faster than it is answered must not keep the worker to itself.
        consume_budget().await;
        let parsed = match input.bytes() {
            [] => Ok(Parsed::Partial),
            bytes => request::parse(bytes, &limits),
        };
        let begun = turn::began();
        let (response, request, head_length) = match parsed {
            Ok(Parsed::Complete { request, head_len }) => {
                client.asked();
                let to = context.destination(&request);
                if let Destination::Backends(route) = &to {
                    // Boxed: idle connections are smaller for it.
                    let end = if proxied::is_plain(&request) {
                        let head = &input.bytes()[..head_len];
                        let end = proxied::plain(context, client, flow, route, head, &request);
                        let end = Box::pin(end).await;
                        input.answered(head_len);
                        end
                    } else {
                        let end = proxied::exchange(context, client, input, flow, route, head_len);
                        Box::pin(end).await
                    };
                    if let Some(end) = end {
                        return end;
                    }
                    head_begun = beginning(input);
                    is_first = false;
                    continue;
                }
                let waiting = context.waiting(client, &request, begun);
                let head = &input.bytes()[..head_len];
                match respond(context, client, head, &request, to).await {
                    Some(response) => {
                        waiting.answered();
                        (response, Some(request), head_len)
                    }
                    None => {
                        waiting.left();
                        return End::Broken;
                    }
                }
            }
            Ok(Parsed::Partial) => match read_more(context, client, input, head_begun).await {
                Read::More => {
                    head_begun = head_begun.or_else(|| Some(turn::began()));
                    continue;
                }
                Read::TimedOut if !input.bytes().is_empty() => {
                    (error(context, Status::RequestTimeout), None, input.bytes().len())
                }
                Read::Stopped => {
                    let left = LINGER_AT_STOP.saturating_sub(turn::began().since(connected));
                    if is_first && client.read(input, left, None).await == Read::More {
                        head_begun = Some(turn::began());
                        continue;
                    }
                    return End::Idle;
                }
                Read::End | Read::TimedOut => return End::Open,
                Read::GivenUp => {
                    context.metrics.given_up.inc();
                    return End::Broken;
                }
            },
            Err(bad) => (error(context, bad.status), None, input.bytes().len()),
        };
        let outcome = answer(context, client, flow, request.as_ref(), &response, begun).await;
        match outcome {
            Outcome::Complete if !response.close => {
                input.answered(head_length);
                is_first = false;
                head_begun = beginning(input);
            }
            Outcome::Complete => {
                let whole = request.is_some_and(|request| request.body == RequestBody::None);
                input.answered(head_length);
                let is_answered = whole && input.bytes().is_empty();
                return if is_answered { End::Answered } else { End::Open };
            }
            Outcome::ClientLeft | Outcome::ContentFailed => return End::Broken,
        }
    }
}

/// When the next head has begun, if some of it is here already.
fn beginning(input: &Input) -> Option<Time> {
    (!input.bytes().is_empty()).then(turn::began)
}

/// Waits for the next request, or for the rest of one whose head began to come at `head_begun`.
async fn read_more(
    context: &Context,
    client: &Client,
    input: &mut Input,
    head_begun: Option<Time>,
) -> Read {
    match head_begun {
        None => {
            let (idle, stop) = (context.times.idle, Some(&context.stop));
            client.read_unless_given_up(input, idle, stop, Waits::Anything).await
        }
        Some(begun) => {
            let left = context.times.head.saturating_sub(turn::began().since(begun));
            client.read_unless_given_up(input, left, None, Waits::Rest { begun }).await
        }
    }
}

/// The response to a valid request that is not for backends; `None` if the client leaves before
/// there is one.
async fn respond(
    context: &Context,
    client: &Client,
    head: &[u8],
    request: &Request<'_>,
    to: Destination,
) -> Option<Response> {
    let keep_alive = request.keep_alive && !context.stop.is_stopping();
    let date = context.date.at(turn::began());
    let framing = Framing::answering(request, keep_alive, date);
    match to {
        Destination::Nowhere(status) => return Some(framing.error(status)),
        Destination::Redirect { location, status } => {
            return Some(framing.redirect(status, &location));
        }
        Destination::Service | Destination::Backends(_) => {}
    }
    // Boxed: idle connections are smaller for it.
    let response = Box::pin(context.service.respond(request, head, framing));
    tokio::select! {
        biased;
        response = response => Some(response),
        () = client.gone(disconnect_probe(request.version)) => None,
    }
}

fn error(context: &Context, status: Status) -> Response {
    Framing::closing(context.date.at(turn::began())).error(status)
}

/// Sends one response, counts it and logs it.
async fn answer(
    context: &Context,
    client: &Client,
    flow: &mut Option<Flow>,
    request: Option<&Request<'_>>,
    response: &Response,
    begun: Time,
) -> Outcome {
    let name = request.map_or("no request", |request| request.path);
    let sending = Sending::new(context, client, response, name);
    let mut under_way =
        UnderWay { context, client, request, response, begun, sending, is_over: false };
    let sending = &mut under_way.sending;
    let outcome = match flow {
        // Boxed: a connection without an uplink need not be larger for it.
        Some(flow) => Box::pin(sending.over(flow)).await,
        None => sending.directly().await,
    };
    under_way.is_over = true;
    under_way.note(outcome == Outcome::Complete);
    outcome
}

/// A response that is being sent. Dropped before it is over, it was cut with the server: then that is
/// counted and logged.
struct UnderWay<'a> {
    context: &'a Context,
    client: &'a Client,
    request: Option<&'a Request<'a>>,
    response: &'a Response,
    begun: Time,
    sending: Sending<'a>,
    is_over: bool,
}

impl UnderWay<'_> {
    fn note(&self, complete: bool) {
        let took = clock::now().since(self.begun);
        let sent = self.sending.sent();
        self.context.metrics.responded(self.response.code, sent, took, complete);
        self.context.access_log.write(|| Entry {
            peer: self.client.peer.ip(),
            unix_seconds: clock::unix_seconds(),
            request: self.request,
            code: self.response.code,
            sent: sent.saturating_sub(self.response.head.len() as u64),
            complete,
            took,
        });
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            self.note(false);
        }
    }
}

/// Ends the connection so that the client gets all that was sent.
///
/// Closing at once would answer unread bytes with a reset, and the kernel gives up early on a
/// closed socket's data; so the descriptor is kept until the client closes or has acknowledged. When
/// the server stops, a client that has acknowledged all is not waited for.
async fn close(context: &Context, client: &Client, input: &mut Input, end: End) {
    let Some(_place) = context.open.linger() else { return };
    let socket = &*client.socket;
    let all_arrived = || sys::unacknowledged(socket).is_ok_and(|bytes| bytes == 0);
    // Asked before our FIN waits to be acknowledged, too.
    let owes_nothing = end == End::Idle && all_arrived();
    if rustix::net::shutdown(socket, rustix::net::Shutdown::Write).is_err() || owes_nothing {
        return;
    }
    if end == End::Answered && all_arrived() {
        return;
    }
    let stop = &context.stop;
    if client.drain(input, LINGER, Some(stop)).await {
        return;
    }
    if stop.is_stopping() && client.drain(input, LINGER_AT_STOP, None).await || all_arrived() {
        return;
    }
    if client.drain(input, context.times.send.saturating_sub(LINGER), Some(stop)).await {
        return;
    }
    while stop.is_stopping() && !all_arrived() {
        if client.drain(input, LOOK_AT_STOP, None).await {
            return;
        }
    }
}

#[cfg(test)]
mod tests;

//! One connection from its first byte to its last: read, resolve, schedule, send, log, again.

use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::time::timeout;
use weir_http::Status;
use weir_http::request::{self, Limits, Parsed, Request};
use weir_sched::Time;

use crate::access_log::Entry;
use crate::clock;
use crate::context::Context;
use crate::read::{self, Read};
use crate::response::{Framing, Response};
use crate::send::{Outcome, Sending};
use crate::sys;
use crate::uplink::Flow;

/// How long a client may take to close its side after the last response.
const LINGER: Duration = Duration::from_secs(5);

/// Serves `stream` until either side ends it.
pub(crate) async fn run(context: Rc<Context>, stream: TcpStream, peer: SocketAddr) {
    context.metrics.connections.inc();
    let stream = Rc::new(stream);
    let mut flow = context.open_flow(&stream, peer);
    let broken = exchange(&context, &stream, peer, &mut flow).await;
    if !broken {
        close(&context, &stream).await;
    }
    drop(flow);
    context.metrics.connections.dec();
}

/// Answers request after request. True if nothing can be sent any more.
async fn exchange(
    context: &Context,
    stream: &TcpStream,
    peer: SocketAddr,
    flow: &mut Option<Flow>,
) -> bool {
    let limits = Limits::default();
    let mut buffer = Vec::new();
    let mut head_begun = None;
    loop {
        let begun = clock::now();
        let (response, request, head_length) = match request::parse(&buffer, &limits) {
            Ok(Parsed::Complete { request, head_len }) => {
                let keep_alive = request.keep_alive && !context.stop.is_stopping();
                let framing = Framing::answering(&request, keep_alive, context.date.now());
                let response = context.service.respond(&request, framing).await;
                (response, Some(request), head_len)
            }
            Ok(Parsed::Partial) => {
                match read_more(context, stream, &mut buffer, head_begun).await {
                    Read::More => {
                        head_begun = head_begun.or_else(|| Some(clock::now()));
                        continue;
                    }
                    Read::TimedOut if !buffer.is_empty() => {
                        (error(context, Status::RequestTimeout), None, buffer.len())
                    }
                    Read::End | Read::TimedOut | Read::Stopped => return false,
                }
            }
            Err(bad) => (error(context, bad.status), None, buffer.len()),
        };
        let outcome = answer(context, stream, peer, flow, request.as_ref(), &response, begun).await;
        match outcome {
            Outcome::Complete if !response.close => {
                buffer.drain(..head_length);
                head_begun = (!buffer.is_empty()).then(clock::now);
            }
            Outcome::Complete => return false,
            Outcome::ClientLeft | Outcome::ContentFailed => return true,
        }
    }
}

/// Waits for the next request, or for the rest of one whose head began to come at `head_begun`.
async fn read_more(
    context: &Context,
    stream: &TcpStream,
    buffer: &mut Vec<u8>,
    head_begun: Option<Time>,
) -> Read {
    match head_begun {
        None => {
            // An idle connection keeps no buffer.
            *buffer = Vec::new();
            read::more(stream, buffer, context.times.idle, context.stop.requested()).await
        }
        Some(begun) => {
            let left = context.times.head.saturating_sub(clock::now().since(begun));
            read::more(stream, buffer, left, std::future::pending()).await
        }
    }
}

fn error(context: &Context, status: Status) -> Response {
    Framing::closing(context.date.now()).error(status)
}

/// Sends one response, counts it and logs it.
async fn answer(
    context: &Context,
    stream: &TcpStream,
    peer: SocketAddr,
    flow: &mut Option<Flow>,
    request: Option<&Request<'_>>,
    response: &Response,
    begun: Time,
) -> Outcome {
    let mut sending = Sending::new(stream, response, context.times.send);
    let outcome = match flow {
        Some(flow) => sending.over(flow, &context.scratch).await,
        None => sending.directly(&context.scratch).await,
    };
    let took = clock::now().since(begun);
    let sent = sending.sent();
    let complete = outcome == Outcome::Complete;
    context.metrics.responded(response.status, sent, took, complete);
    context.access_log.write(|| Entry {
        peer: peer.ip(),
        unix_seconds: clock::unix_seconds(),
        request,
        status: response.status,
        sent: sent.saturating_sub(response.head.len() as u64),
        complete,
        took,
    });
    outcome
}

/// Ends the connection so that the client gets all that was sent.
///
/// Closing at once would answer unread bytes with a reset, and the kernel gives up early on a
/// closed socket's data; so the descriptor is kept until the client closes or has acknowledged.
async fn close(context: &Context, stream: &TcpStream) {
    let Some(_place) = context.open.linger() else { return };
    if rustix::net::shutdown(stream, rustix::net::Shutdown::Write).is_err() {
        return;
    }
    if timeout(LINGER, read::drain(stream)).await.is_ok() {
        return;
    }
    let rest = context.times.send.saturating_sub(LINGER);
    if sys::unacknowledged(stream).is_ok_and(|bytes| bytes > 0) {
        let _ = timeout(rest, read::drain(stream)).await;
    }
}

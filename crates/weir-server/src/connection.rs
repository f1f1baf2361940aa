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
use crate::read::{self, Read};
use crate::response::{Framing, Response};
use crate::send::{Outcome, Sending};
use crate::sys;
use crate::uplink::Flow;
use crate::worker::Worker;

/// How long a client may take to close its side after the last response.
const LINGER: Duration = Duration::from_secs(5);

/// Serves `stream` until either side ends it.
pub(crate) async fn run(worker: Rc<Worker>, stream: TcpStream, peer: SocketAddr) {
    worker.metrics.connections.inc();
    let stream = Rc::new(stream);
    let mut flow = worker.open_flow(&stream, peer);
    let broken = exchange(&worker, &stream, peer, &mut flow).await;
    if !broken {
        close(&worker, &stream).await;
    }
    drop(flow);
    worker.metrics.connections.dec();
}

/// Answers request after request. True if nothing can be sent any more.
async fn exchange(
    worker: &Worker,
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
                let keep_alive = request.keep_alive && !worker.stop.is_stopping();
                let framing = Framing::answering(&request, keep_alive, worker.date.now());
                let response = worker.service.respond(&request, framing).await;
                (response, Some(request), head_len)
            }
            Ok(Parsed::Partial) => match read_more(worker, stream, &mut buffer, head_begun).await {
                Read::More => {
                    head_begun = head_begun.or_else(|| Some(clock::now()));
                    continue;
                }
                Read::TimedOut if !buffer.is_empty() => {
                    (error(worker, Status::RequestTimeout), None, buffer.len())
                }
                Read::End | Read::TimedOut | Read::Stopped => return false,
            },
            Err(bad) => (error(worker, bad.status), None, buffer.len()),
        };
        let outcome = answer(worker, stream, peer, flow, request.as_ref(), &response, begun).await;
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
    worker: &Worker,
    stream: &TcpStream,
    buffer: &mut Vec<u8>,
    head_begun: Option<Time>,
) -> Read {
    match head_begun {
        None => {
            // An idle connection keeps no buffer.
            *buffer = Vec::new();
            read::more(stream, buffer, worker.times.idle, worker.stop.requested()).await
        }
        Some(begun) => {
            let left = worker.times.head.saturating_sub(clock::now().since(begun));
            read::more(stream, buffer, left, std::future::pending()).await
        }
    }
}

fn error(worker: &Worker, status: Status) -> Response {
    Framing::closing(worker.date.now()).error(status)
}

/// Sends one response, counts it and logs it.
async fn answer(
    worker: &Worker,
    stream: &TcpStream,
    peer: SocketAddr,
    flow: &mut Option<Flow>,
    request: Option<&Request<'_>>,
    response: &Response,
    begun: Time,
) -> Outcome {
    let mut sending = Sending::new(stream, response, worker.times.send);
    let outcome = match flow {
        Some(flow) => sending.over(flow, &worker.scratch).await,
        None => sending.directly(&worker.scratch).await,
    };
    let took = clock::now().since(begun);
    let sent = sending.sent();
    worker.metrics.responded(response.status, sent, took, outcome);
    worker.access_log.write(|| Entry {
        peer: peer.ip(),
        unix_seconds: clock::unix_seconds(),
        request,
        status: response.status,
        sent: sent.saturating_sub(response.head.len() as u64),
        complete: outcome == Outcome::Complete,
        took,
    });
    outcome
}

/// Ends the connection so that the client gets all that was sent.
///
/// Closing at once would answer unread bytes with a reset, and the kernel gives up early on a
/// closed socket's data; so the descriptor is kept until the client closes or has acknowledged.
async fn close(worker: &Worker, stream: &TcpStream) {
    let Some(_place) = worker.linger() else { return };
    if rustix::net::shutdown(stream, rustix::net::Shutdown::Write).is_err() {
        return;
    }
    if timeout(LINGER, read::drain(stream)).await.is_ok() {
        return;
    }
    let rest = worker.times.send.saturating_sub(LINGER);
    if sys::unacknowledged(stream).is_ok_and(|bytes| bytes > 0) {
        let _ = timeout(rest, read::drain(stream)).await;
    }
}

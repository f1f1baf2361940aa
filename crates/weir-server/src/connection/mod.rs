//! One connection from its first byte to its last: read a request, find its service, send the response,
//! log it, and again. The accept loop starts it for every connection.

mod answer;
mod close;
mod context;
mod journal;
mod open;
mod origin;
mod proxied;

use std::rc::Rc;

use tokio::task::coop::consume_budget;
use weir_http::Status;
use weir_http::h1::request::{self, Limits, Parsed};
use weir_http::h1::response::disconnect_probe;
use weir_http::message::{Request, RequestBody};
use weir_sched::Time;

use self::answer::answer;
use self::close::{End, LINGER_AT_STOP, close};
pub(crate) use self::context::Context;
pub(crate) use self::journal::Journal;
pub(crate) use self::open::OpenConnections;
pub(crate) use self::origin::ProxyHeaders;
use crate::client::input::Input;
use crate::client::{Client, Read, Waits};
use crate::identity::PeerAddress;
use crate::response::{Response, ResponseTemplate};
use crate::runtime::turn;
use crate::send::Outcome;
use crate::service::proxy::Destination;
use crate::transport::Transport;
use crate::uplink::Flow;

/// Serves a connection until either side ends it.
pub(crate) async fn run(context: Rc<Context>, socket: Transport, peer: PeerAddress) {
    context.metrics.connections.inc();
    let mut client = Client::new(socket, peer, context.open.deadlines());
    let mut input = Input::new(context.buffers.clone());
    let headers = &context.proxy_headers;
    let source = match headers.are_off() {
        true => Some(peer),
        false => Box::pin(origin::read(headers, &context.times, &client, &mut input)).await,
    };
    if let Some(source) = source {
        client.peer = source;
        let mut flow =
            context.uplink.as_ref().and_then(|link| link.open_flow(&client.socket, source));
        match exchange(&context, &client, &mut input, &mut flow).await {
            End::Broken => {}
            end => close(&context, &client, &mut input, end).await,
        }
    }
    context.metrics.connections.dec();
}

/// Answers request after request; returns how that ended.
///
/// Requests for backends are answered by [`proxied`], which reads their bodies while it sends answers.
async fn exchange(
    context: &Context,
    client: &Client,
    input: &mut Input,
    flow: &mut Option<Flow>,
) -> End {
    let limits = Limits::default();
    // The first head may have begun to come together with a PROXY header.
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
                client.has_requested();
                let to = context.service.destination(&request);
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
                let waiting = context.journal.waiting(client, &request, begun);
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

/// When the next head began to come, if some of it is here already.
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
    let template = ResponseTemplate::answering(request, keep_alive, date);
    match to {
        Destination::Nowhere(status) => return Some(template.error(status)),
        Destination::Redirect { location, status } => {
            return Some(template.redirect(status, &location));
        }
        Destination::Service | Destination::Backends(_) => {}
    }
    // Boxed: idle connections are smaller for it.
    let response = Box::pin(context.service.respond(request, head, template));
    tokio::select! {
        biased;
        response = response => Some(response),
        () = client.gone(disconnect_probe(request.version)) => None,
    }
}

fn error(context: &Context, status: Status) -> Response {
    ResponseTemplate::closing(context.date.at(turn::began())).error(status)
}

#[cfg(test)]
mod tests;

//! One request that backends answer, on its client's connection: its body is read while they work, and
//! after a switch of protocols bytes go both ways. Used by the connection for requests of proxy routes.

use std::pin::pin;
use std::time::Duration;

use tokio::time::timeout;
use weir_http::Status;
use weir_http::h1::request::{self, Limits, Parsed};
use weir_http::h1::response::CONTINUE;
use weir_http::message::{Request, RequestBody, Version};
use weir_sched::Time;

use super::answer::answer;
use super::close::End;
use super::context::Context;
use crate::client::Client;
use crate::client::input::Input;
use crate::response::{AbortOn, Response, ResponseTemplate};
use crate::runtime::turn;
use crate::send::Outcome;
use crate::service::proxy::{
    self, ClientBody, ProxyOutcome, ProxyRequest, Route, UnreadBody, Upstream,
};
use crate::uplink::Flow;

/// How long a backend may go on sending after the client of a switched connection has ended its side.
const AFTERWARDS: Duration = Duration::from_secs(30);

/// Whether nothing is read from the client while the request is answered.
pub(super) fn is_plain(request: &Request<'_>) -> bool {
    request.body == RequestBody::None && request.upgrade.is_none()
}

/// Answers a request that is plain; the end of the connection if it cannot carry another one.
pub(super) async fn plain(
    context: &Context,
    client: &Client,
    flow: &mut Option<Flow>,
    route: &Route,
    head: &[u8],
    request: &Request<'_>,
) -> Option<End> {
    let begun = turn::began();
    if let Some(end) = refused(context, client, flow, route, request, begun).await {
        return Some(end);
    }
    let asked = asked(context, client, route, head, request, begun);
    let waiting = context.journal.waiting(client, request, begun);
    let Some(ProxyOutcome { response, charge, .. }) = proxy::respond(&asked, None).await else {
        waiting.left();
        return Some(End::Broken);
    };
    waiting.answered();
    let outcome = answer(context, client, flow, Some(request), &response, begun).await;
    drop(charge);
    ended(client, request, &response, outcome)
}

/// Answers any other request, whose head is the first `head_length` bytes of the input.
pub(super) async fn exchange(
    context: &Context,
    client: &Client,
    input: &mut Input,
    flow: &mut Option<Flow>,
    route: &Route,
    head_length: usize,
) -> Option<End> {
    let begun = turn::began();
    // The input makes room for the body, which is read while the head is still needed.
    let head = input.bytes()[..head_length].to_vec();
    input.answered(head_length);
    let Ok(Parsed::Complete { request, .. }) = request::parse(&head, &Limits::default()) else {
        return Some(End::Broken);
    };
    if let Some(end) = refused(context, client, flow, route, &request, begun).await {
        return Some(end);
    }
    if request.expects_continue && !client.say(CONTINUE) {
        return Some(End::Broken);
    }
    let asked = asked(context, client, route, &head, &request, begun);
    let most = route.max_body();
    let mut body = ClientBody::new(client, input, request.body, most, &context.times);
    let waiting = context.journal.waiting(client, &request, begun);
    let Some(passed) = proxy::respond(&asked, body.as_mut()).await else {
        waiting.left();
        return Some(End::Broken);
    };
    waiting.answered();
    let ProxyOutcome { mut response, upstream, unread, charge } = passed;
    if upstream.is_some() || unread.is_some() {
        response.abort_on = AbortOn::Never;
    }
    let down = answer(context, client, flow, Some(&request), &response, begun);
    let outcome = match (upstream, unread, &mut body) {
        (Some(upstream), ..) => switched(context, client, input, down, upstream).await,
        (None, Some(unread), Some(body)) => uploading(down, unread, body).await,
        _ => down.await,
    };
    drop(charge);
    ended(client, &request, &response, outcome)
}

fn asked<'a>(
    context: &Context,
    client: &'a Client,
    route: &'a Route,
    head: &'a [u8],
    request: &'a Request<'a>,
    begun: Time,
) -> ProxyRequest<'a> {
    let framing = template(context, request, begun);
    ProxyRequest { client, route, head, request, framing, source: client.peer }
}

fn template(context: &Context, request: &Request<'_>, begun: Time) -> ResponseTemplate {
    let keep_alive = request.persistent && !context.stop.is_stopping();
    ResponseTemplate::answering(request, keep_alive, context.date.at(begun))
}

/// Refuses what no backend needs to see.
async fn refused(
    context: &Context,
    client: &Client,
    flow: &mut Option<Flow>,
    route: &Route,
    request: &Request<'_>,
    begun: Time,
) -> Option<End> {
    let most = route.max_body().unwrap_or(u64::MAX);
    let status = match request.body {
        _ if request.unknown_expectation => Status::ExpectationFailed,
        RequestBody::Length(length) if length > most => Status::ContentTooLarge,
        _ => return None,
    };
    let response = template(context, request, begun).then_closing().error(status);
    // Boxed: what is not refused needs no room for it.
    Box::pin(answer(context, client, flow, Some(request), &response, begun)).await;
    Some(End::Open)
}

/// What follows on the connection after a response; `None`: the next request.
fn ended(
    client: &Client,
    request: &Request<'_>,
    response: &Response,
    outcome: Outcome,
) -> Option<End> {
    match outcome {
        Outcome::Complete => response.close.then_some(End::Open),
        Outcome::ClientLeft | Outcome::ContentFailed if request.version == Version::Http10 => {
            // Where the end of the connection is the end of the answer, only a reset tells that it
            // was none.
            client.reset_when_closed();
            Some(End::Broken)
        }
        Outcome::ClientLeft | Outcome::ContentFailed => Some(End::Broken),
    }
}

/// Sends an answer that has begun before its request had come whole.
async fn uploading(
    down: impl Future<Output = Outcome>,
    unread: UnreadBody,
    body: &mut ClientBody<'_>,
) -> Outcome {
    let mut down = pin!(down);
    tokio::select! {
        outcome = &mut down => return outcome,
        () = unread.pass_on(body) => {}
    }
    down.await
}

/// Both directions of a connection whose protocol was switched; `down` is the one to the client.
async fn switched(
    context: &Context,
    client: &Client,
    input: &mut Input,
    down: impl Future<Output = Outcome>,
    mut upstream: Upstream,
) -> Outcome {
    let mut down = pin!(down);
    tokio::select! {
        outcome = &mut down => return outcome,
        () = upstream.pump(client, input, &context.stop, context.times.send) => {}
    }
    timeout(AFTERWARDS, down).await.unwrap_or(Outcome::ClientLeft)
}

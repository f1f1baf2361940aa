//! The driver of HTTP/1.0 and HTTP/1.1: reads a request, has it answered, writes the response, and again.
//! Used for every connection.

mod chunked_body;
mod close;
mod encode;
mod exchanging;
mod incoming;
mod request_body;
mod requester;
mod unread;
mod with_body;

use http::StatusCode;
use tokio::task::coop::consume_budget;
use weir_http::h1::request::{self, FieldSpace, Limits, Parsed};
use weir_http::message::{Fields, Request, RequestBody};
use weir_sched::Time;

use self::close::{End, LINGER_AT_STOP, close};
use self::exchanging::Exchanging;
use self::requester::H1Requester;
use super::admission::{self, Admitted};
use super::context::Context;
use super::serving::Serving;
use crate::client::input::Input;
use crate::client::{Asker, Client, Read, Times, Waits};
use crate::config::PortKind;
use crate::runtime::turn;
use crate::service::Destination;
use crate::uplink::Lane;

/// Serves a connection to its end.
pub(super) async fn serve(
    context: &Context,
    client: &Client,
    input: &mut Input,
    lane: Option<Lane>,
) {
    match answer_requests(context, client, input, lane.as_ref()).await {
        End::Broken => {}
        end => close(context, client, input, lane.as_ref(), end).await,
    }
}

/// What has come of a request.
#[expect(
    clippy::large_enum_variant,
    reason = "lives on the stack for one call; a box would be an allocation"
)]
enum Head<'b> {
    Partial,
    Whole { request: Request<'b>, fields: Fields<'b>, length: usize, to: Destination },
    Bad(StatusCode),
}

/// Answers request after request; returns how that ended.
async fn answer_requests(
    context: &Context,
    client: &Client,
    input: &mut Input,
    lane: Option<&Lane>,
) -> End {
    // The first head may have begun to come together with a PROXY header.
    let mut head_begun = beginning(input);
    let mut is_first = true;
    let connected = turn::began();
    loop {
        // A client that asks faster than it is answered must not keep the worker to itself.
        consume_budget().await;
        let serving = context.serving.get();
        let received = input.take();
        let begun = turn::began();
        let head = match received.bytes() {
            [] => Head::Partial,
            bytes => read_head(&serving, client, bytes),
        };
        // The body of a request that is answered without it.
        let mut unwanted = None;
        let end = match head {
            Head::Whole { request, fields, length, to } => {
                client.has_requested();
                if serving.journal.wants_details() {
                    client.begin_details(begun, serving.service.route_name(&request));
                }
                let admitted = match admission::is_needed(&serving, &to) {
                    false => Some(Admitted { asker: None, to }),
                    // Boxed: most requests need no room for it.
                    true => {
                        Box::pin(admit(&serving, client, lane, &request, &fields, begun, to)).await
                    }
                };
                let Some(Admitted { asker, to }) = admitted else {
                    input.put_back(received, length);
                    return End::Broken;
                };
                let (serving, asker) = (&*serving, asker.as_deref());
                let exchanging = Exchanging { context, serving, client, asker, begun };
                if needs_input(&request, &to) {
                    input.refill(&received.bytes()[length..]);
                    let answered =
                        with_body::answer(&exchanging, input, lane, &request, &fields, to);
                    // Boxed: idle connections are smaller for it.
                    let end = Box::pin(answered).await;
                    input.recycle(received);
                    end
                } else {
                    unwanted = unread::is_drained(&request).then_some(request.body);
                    let end = exchanging.answer(lane, &request, &fields, to).await;
                    input.put_back(received, length);
                    end
                }
            }
            Head::Partial => {
                input.put_back(received, 0);
                let times = serving.times;
                drop(serving);
                match read_more(context, &times, client, input, head_begun).await {
                    Read::More => {
                        head_begun = head_begun.or_else(|| Some(turn::began()));
                        continue;
                    }
                    Read::TimedOut if !input.bytes().is_empty() => {
                        let serving = context.serving.get();
                        let exchanging = Exchanging::of_none(context, &serving, client, begun);
                        exchanging.refuse(input, lane, StatusCode::REQUEST_TIMEOUT).await
                    }
                    Read::Stopped => {
                        let left = LINGER_AT_STOP.saturating_sub(turn::began().since(connected));
                        if is_first && client.read(input, left, None).await == Read::More {
                            head_begun = Some(turn::began());
                            continue;
                        }
                        Some(End::Idle)
                    }
                    Read::End | Read::TimedOut => Some(End::Open),
                    Read::GivenUp => {
                        context.metrics.given_up.inc();
                        Some(End::Broken)
                    }
                }
            }
            Head::Bad(status) => {
                input.put_back(received, 0);
                let exchanging = Exchanging::of_none(context, &serving, client, begun);
                exchanging.refuse(input, lane, status).await
            }
        };
        let end = match (end, unwanted) {
            // Boxed, as above.
            (None, Some(body)) => Box::pin(unread::drain(context, client, input, body)).await,
            (end, _) => end,
        };
        match end {
            Some(End::Answered) if !input.bytes().is_empty() => return End::Open,
            Some(end) => return end,
            None => {}
        }
        is_first = false;
        head_begun = beginning(input);
    }
}

/// Reads what has come.
fn read_head<'b>(serving: &Serving, client: &Client, bytes: &'b [u8]) -> Head<'b> {
    let mut space = FieldSpace::new();
    match request::parse(bytes, &Limits::default(), &mut space) {
        Ok(Parsed::Complete { request, fields, head_len: length }) => {
            let service = &serving.service;
            let to = match client.port {
                PortKind::Redirecting => service.destination_with_tls(&request),
                PortKind::Clear | PortKind::Tls => service.destination(&request),
            };
            let wants_fields =
                service.wants_fields(&to) || admission::wants_fields(serving, client.peer);
            let fields = if wants_fields { fields.to_fields() } else { Fields::default() };
            Head::Whole { request, fields, length, to }
        }
        Ok(Parsed::Partial) => Head::Partial,
        Err(bad) => Head::Bad(bad.status),
    }
}

/// Looks whether a request is let in, and from now on has the uplink know its client; `None`: it has left.
async fn admit(
    serving: &Serving,
    client: &Client,
    lane: Option<&Lane>,
    request: &Request<'_>,
    fields: &Fields<'_>,
    begun: Time,
    to: Destination,
) -> Option<Admitted> {
    let requester = H1Requester { client, asker: None, version: request.version };
    let admitted = admission::admit(serving, &requester, request, fields, begun, to).await?;
    if let Some(lane) = lane {
        lane.serves(Asker::address(admitted.asker.as_deref(), client.peer));
    }
    Some(admitted)
}

/// Whether something is read from the client while the request is answered.
fn needs_input(request: &Request<'_>, to: &Destination) -> bool {
    let has_more = request.body != RequestBody::None || request.upgrade.is_some();
    has_more && matches!(to, Destination::Backends(_))
}

/// When the next head began to come, if some of it is here already.
fn beginning(input: &Input) -> Option<Time> {
    (!input.bytes().is_empty()).then(turn::began)
}

/// Waits for the next request, or for the rest of one whose head began to come at `head_begun`.
async fn read_more(
    context: &Context,
    times: &Times,
    client: &Client,
    input: &mut Input,
    head_begun: Option<Time>,
) -> Read {
    match head_begun {
        None => {
            let (idle, stop) = (times.idle, Some(&context.stop));
            client.read_unless_given_up(input, idle, stop, Waits::Anything).await
        }
        Some(begun) => {
            let left = times.head.saturating_sub(turn::began().since(begun));
            client.read_unless_given_up(input, left, None, Waits::Rest { begun }).await
        }
    }
}

#[cfg(test)]
mod tests;

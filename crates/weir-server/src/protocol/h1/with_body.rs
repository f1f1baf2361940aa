//! A request for backends whose client goes on sending: its body is read while they work, and after a
//! switch of protocols bytes go both ways. Used by the driver.

use std::pin::{Pin, pin};
use std::time::Duration;

use tokio::time::timeout;
use weir_http::message::{Fields, Request};

use super::close::End;
use super::encode::encode;
use super::exchanging::Exchanging;
use super::request_body::H1Body;
use super::requester::H1Requester;
use crate::answer::AbortOn;
use crate::client::BodyReading;
use crate::client::input::Input;
use crate::logs::access_log::Ending;
use crate::protocol::exchange::{Asked, exchange};
use crate::send::Outcome;
use crate::service::Destination;
use crate::service::proxy::{UnreadBody, Upstream};
use crate::uplink::Lane;

/// How long a backend may go on sending after the client of a switched connection has ended its side.
const AFTERWARDS: Duration = Duration::from_secs(30);

/// Answers the request, whose body `input` begins with; the end of the connection if it cannot carry
/// another one.
pub(super) async fn answer(
    exchanging: &Exchanging<'_>,
    input: &mut Input,
    lane: Option<&Lane>,
    request: &Request<'_>,
    fields: &Fields<'_>,
    to: Destination,
) -> Option<End> {
    let Exchanging { serving, client, asker, begun, .. } = *exchanging;
    if let Some(lane) = lane {
        lane.receives();
    }
    let requester = H1Requester { client, asker, version: request.version };
    let asked = Asked { requester: &requester, request, fields, begun };
    let most = match &to {
        Destination::Backends(route) => route.max_body(),
        _ => None,
    };
    let mut body = H1Body::new(requester, input, request, most, &serving.times);
    let Some(answered) = exchange(serving, &asked, to, body.as_mut()).await else {
        return Some(End::Broken);
    };
    let (mut answer, mut following) = (answered.answer, answered.following);
    let (upstream, unread) = match &mut following {
        Some(following) => (following.upstream.take(), following.unread.take()),
        None => (None, None),
    };
    if upstream.is_some() {
        answer.abort_on = AbortOn::Never;
    }
    let unread = unread.map(|unread| Uploading { unread, reading: client.begin_reading_body() });
    // The rest of a body that was not read to its end could not be told from the next request.
    let is_read = body.as_ref().is_none_or(H1Body::has_ended);
    let response = encode(&mut answer, exchanging.framing(request, request.persistent && is_read));
    let down = exchanging.deliver(lane, Some(request), &response);
    let outcome = match (upstream, unread, &mut body) {
        (Some(upstream), ..) => switched(exchanging, input, down, upstream).await,
        (None, Some(uploading), Some(body)) => uploading.beside(down, body).await,
        _ => down.await,
    };
    drop(following);
    exchanging.ended(request, &response, outcome)
}

/// The rest of a request whose answer has begun before it had come whole.
struct Uploading<'a> {
    unread: UnreadBody,
    reading: BodyReading<'a>,
}

impl Uploading<'_> {
    /// Passes it on while `down` sends the answer.
    async fn beside(self, down: impl Future<Output = Outcome>, body: &mut H1Body<'_>) -> Outcome {
        let mut down = pin!(down);
        tokio::select! {
            outcome = &mut down => return outcome,
            () = self.unread.pass_on(body) => {}
        }
        // From here on only the answer can notice that the client leaves.
        drop(self.reading);
        down.await
    }
}

/// Both directions of a connection whose protocol was switched; `down` is the one to the client.
async fn switched(
    exchanging: &Exchanging<'_>,
    input: &mut Input,
    down: impl Future<Output = Outcome>,
    mut upstream: Upstream,
) -> Outcome {
    let Exchanging { context, serving, client, .. } = exchanging;
    let mut down = pin!(down);
    tokio::select! {
        outcome = &mut down => return outcome,
        () = upstream.pump(client, input, &context.stop, serving.times.send) => {}
    }
    afterwards(exchanging, down, AFTERWARDS).await
}

/// What `down` still sends once the client has ended its side: after `wait` it is given up.
pub(super) async fn afterwards(
    exchanging: &Exchanging<'_>,
    down: Pin<&mut impl Future<Output = Outcome>>,
    wait: Duration,
) -> Outcome {
    if let Ok(outcome) = timeout(wait, down).await {
        return outcome;
    }
    // While the server stops, that is why the client had no longer.
    if !exchanging.context.stop.is_stopping() {
        exchanging.client.cut_by.set(Ending::ClientLeft);
    }
    Outcome::ClientLeft
}

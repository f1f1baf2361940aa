//! Sends one response, over the uplink or directly, and sees to it that it is counted and logged however
//! it ends: the only place where that is done. Used by every protocol, for every response.

use weir_http::message::Request;
use weir_sched::Time;

use super::journal::Ended;
use super::serving::Serving;
use crate::client::{Asker, Client};
use crate::logs::access_log::Ending;
use crate::response::Response;
use crate::send::{Outcome, Sending};
use crate::uplink::Lane;

/// Sends `response`, counts it and logs it. `request`: what it answers, if that was one; `asker`: who has
/// sent it, if that is more than the other end of the connection; `begun`: when it had come.
pub(super) async fn deliver(
    serving: &Serving,
    client: &Client,
    asker: Option<&Asker>,
    lane: Option<&Lane>,
    request: Option<&Request<'_>>,
    response: &Response<'_>,
    begun: Time,
) -> Outcome {
    let name = request.map_or("no request", |request| request.path);
    let sending = serving.sender.sending(client, response, name, begun);
    let mut under_way =
        UnderWay { serving, client, asker, request, response, begun, sending, is_over: false };
    let sending = &mut under_way.sending;
    let mut outcome = match lane {
        // Boxed: a connection without an uplink need not be larger for it.
        Some(Lane::Paced(flow)) => {
            flow.answers(request.and_then(|request| request.query));
            Box::pin(sending.over(flow)).await
        }
        Some(Lane::Banded(bands)) => {
            bands.answers(request.and_then(|request| request.query));
            sending.in_bands(bands).await
        }
        None => sending.directly(None).await,
    };
    if outcome == Outcome::Complete && client.socket.has_waiting() {
        outcome = Box::pin(sending.flushed()).await;
    }
    under_way.is_over = true;
    under_way.note(match outcome {
        Outcome::Complete => Ending::Complete,
        Outcome::ClientLeft => Ending::ClientLeft,
        Outcome::TimedOut => Ending::TimedOut,
        Outcome::ContentFailed => Ending::Failed,
    });
    outcome
}

/// A response that is being sent. Dropped before it is over, it was cut: that is counted and logged, with
/// the reason that its client has ([`Client::cut_by`]).
struct UnderWay<'a> {
    serving: &'a Serving,
    client: &'a Client,
    asker: Option<&'a Asker>,
    request: Option<&'a Request<'a>>,
    response: &'a Response<'a>,
    begun: Time,
    sending: Sending<'a>,
    is_over: bool,
}

impl UnderWay<'_> {
    fn note(&self, ending: Ending) {
        self.serving.journal.note(&Ended {
            peer: Asker::address(self.asker, self.client.peer),
            user: Asker::user(self.asker),
            request: self.request,
            begun: self.begun,
            code: self.response.answer.status.as_u16(),
            head: self.response.head.len() as u64,
            sent: self.sending.sent(),
            ending,
            // Without a request they are those of the one before.
            details: self.request.and(self.client.details()),
        });
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            self.note(self.client.cut_by.get());
        }
    }
}

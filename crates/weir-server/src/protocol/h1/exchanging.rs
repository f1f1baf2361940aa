//! One request and its answer on a connection: asked of the exchange, framed, delivered. Used by the
//! driver, and by [`super::with_body`] while the client goes on sending.

use http::{StatusCode, Version};
use weir_http::message::{Fields, Request, RequestBody};
use weir_sched::Time;

use super::close::End;
use super::encode::{Framing, encode};
use super::request_body::H1Body;
use super::requester::H1Requester;
use super::unread;
use crate::answer::Answer;
use crate::client::input::Input;
use crate::client::{Asker, Client};
use crate::content::Body;
use crate::protocol::context::Context;
use crate::protocol::deliver::deliver;
use crate::protocol::exchange::{Asked, exchange};
use crate::protocol::serving::Serving;
use crate::response::Response;
use crate::runtime::turn;
use crate::send::Outcome;
use crate::service::Destination;
use crate::uplink::Lane;

/// See the module.
pub(super) struct Exchanging<'a> {
    pub(super) context: &'a Context,
    pub(super) serving: &'a Serving,
    pub(super) client: &'a Client,
    /// Who has sent the request, if that is more than the other end of the connection.
    pub(super) asker: Option<&'a Asker>,
    /// When the request had come.
    pub(super) begun: Time,
}

impl<'a> Exchanging<'a> {
    /// Where what came is no request.
    pub(super) fn of_none(
        context: &'a Context,
        serving: &'a Serving,
        client: &'a Client,
        begun: Time,
    ) -> Exchanging<'a> {
        Exchanging { context, serving, client, asker: None, begun }
    }
}

impl Exchanging<'_> {
    /// Answers a request whose body, if it has one, nobody wants; the end of the connection if it cannot
    /// carry another one.
    pub(super) async fn answer(
        &self,
        lane: Option<&Lane>,
        request: &Request<'_>,
        fields: &Fields<'_>,
        to: Destination,
    ) -> Option<End> {
        let (client, asker, version) = (self.client, self.asker, request.version);
        let requester = H1Requester { client, asker, version };
        let asked = Asked { requester: &requester, request, fields, begun: self.begun };
        let Some(mut answered) = exchange(self.serving, &asked, to, None::<&mut H1Body<'_>>).await
        else {
            return Some(End::Broken);
        };
        let keep_alive = request.keep_alive || unread::is_drained(request);
        let response = encode(&mut answered.answer, self.framing(request, keep_alive));
        let outcome = self.deliver(lane, Some(request), &response).await;
        self.ended(request, &response, outcome)
    }

    /// Answers what is no request; the connection ends.
    pub(super) async fn refuse(
        &self,
        input: &mut Input,
        lane: Option<&Lane>,
        status: StatusCode,
    ) -> Option<End> {
        let date = self.context.date.at(turn::began());
        let mut answer = Answer::error(status);
        let response = encode(&mut answer, Framing::closing(date, self.line()));
        let outcome = self.deliver(lane, None, &response).await;
        input.answered(input.bytes().len());
        Some(if outcome == Outcome::Complete { End::Open } else { End::Broken })
    }

    /// `keep_alive`: the request lets the connection carry another one.
    pub(super) fn framing(&self, request: &Request<'_>, keep_alive: bool) -> Framing<'_> {
        let keep_alive = keep_alive && !self.context.stop.is_stopping();
        let date = self.context.date.at(turn::began());
        Framing::answering(request, keep_alive, date, self.line())
    }

    /// What browsers are told in clear text, they must not heed (RFC 6797, section 8.1).
    fn line(&self) -> Option<&str> {
        self.serving.hsts.as_deref().filter(|_| self.client.socket.is_tls())
    }

    pub(super) async fn deliver(
        &self,
        lane: Option<&Lane>,
        request: Option<&Request<'_>>,
        response: &Response<'_>,
    ) -> Outcome {
        let Exchanging { serving, client, asker, begun, .. } = *self;
        deliver(serving, client, asker, lane, request, response, begun).await
    }

    /// What follows on the connection after a response; `None`: the next request.
    pub(super) fn ended(
        &self,
        request: &Request<'_>,
        response: &Response<'_>,
        outcome: Outcome,
    ) -> Option<End> {
        let is_whole = request.body == RequestBody::None;
        match outcome {
            Outcome::Complete if !response.close => None,
            // The client of a tunnel may be sending still.
            Outcome::Complete if response.answer.status == StatusCode::SWITCHING_PROTOCOLS => {
                Some(End::Open)
            }
            Outcome::Complete if is_whole => Some(End::Answered),
            Outcome::Complete => Some(End::Open),
            Outcome::ClientLeft | Outcome::TimedOut | Outcome::ContentFailed => {
                // Where the end of the connection is the end of the answer, only a reset tells that it
                // was none.
                let is_relayed = matches!(response.answer.body, Body::Relayed(_));
                let is_tunnel = response.answer.status == StatusCode::SWITCHING_PROTOCOLS;
                let is_cut = is_tunnel && outcome == Outcome::ContentFailed;
                if is_relayed && (request.version == Version::HTTP_10 || is_cut) {
                    self.client.reset_when_closed();
                }
                Some(End::Broken)
            }
        }
    }
}

//! Makes an answer for the client of a backend's response: one that has arrived whole is passed on with
//! its length, others as they arrive. Used by [`super::attempt`].

use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{HeaderMap, Method};
use hyper::body::Incoming;
use weir_http::forward::{self, ResponseLength};
use weir_http::message::Request;

use super::call::{BackendCall, Piece};
use super::proxy_request::ProxyOutcome;
use super::relay::Relay;
use super::route::Route;
use super::timeouts::ResponseTimeouts;
use crate::answer::Answer;
use crate::body::{Account, Kind, Reader, RelayedBody, Writer};
use crate::content::Body;

/// A response of at most this many bytes that has arrived whole by the time its head is read is
/// passed on with its length, however the backend framed it: then the uplink knows its size.
const MAX_WHOLE: usize = 64 * 1024;

/// How to pass a response on.
pub(super) struct RelayOptions<'a> {
    pub(super) route: &'a Route,
    /// The account that is charged for its body.
    pub(super) account: &'a Account,
    pub(super) timeouts: ResponseTimeouts,
}

/// The answer for the client, without waiting. An error says what is invalid about the backend's response.
pub(super) fn respond(
    mut call: BackendCall,
    response: http::Response<Incoming>,
    request: &Request<'_>,
    options: RelayOptions<'_>,
    context: &mut Context<'_>,
) -> Result<ProxyOutcome, &'static str> {
    let (parts, mut body) = response.into_parts();
    let is_head = request.method == Method::HEAD;
    let length = forward::response_length(parts.status, is_head, &parts.headers)
        .map_err(|bad| bad.reason)?;
    let max_whole = if options.account.has_room(Kind::Memory) { MAX_WHOLE } else { 0 };
    let mut start = BodyStart { max_whole, ..BodyStart::default() };
    let coming = match start.take(&mut call, &mut body, context) {
        Arrived::Broken => return Err("its connection closed within the response"),
        Arrived::Whole => {
            call.ended();
            None
        }
        Arrived::Part => Some((call, body)),
    };
    let is_whole = coming.is_none() && start.trailers.is_none();
    let length = match length {
        ResponseLength::None => Some(0),
        ResponseLength::Length(length) => Some(length),
        ResponseLength::Unknown => is_whole.then_some(start.bytes as u64),
    };
    let edits = options.route.response_edits();
    start.trailers.iter_mut().for_each(|fields| edits.apply_to_trailers(fields));
    let fields = options.route.relayed(parts.headers);
    let answer = |body| Answer::new(parts.status, fields, body, length);
    if is_whole {
        let bytes: Arc<[u8]> = match start.pieces.as_slice() {
            [whole] => Arc::from(&**whole),
            pieces => pieces.concat().into(),
        };
        let length = bytes.len() as u64;
        let charge = Some(options.account.charge(Kind::Memory, length));
        return Ok(ProxyOutcome { charge, ..ProxyOutcome::answer(answer(Body::Text(bytes))) });
    }
    let relayed = RelayedBody::new(options.route.answer_limits(), options.account);
    start.pieces.into_iter().for_each(|data| relayed.push(data));
    match coming {
        None => relayed.end_with(start.trailers),
        Some((call, body)) => {
            let (relayed, edits) = (Writer(relayed.clone()), edits.clone());
            let relay = Relay { call, body, relayed, timeouts: options.timeouts, edits };
            tokio::task::spawn_local(relay.run());
        }
    }
    Ok(ProxyOutcome::answer(answer(Body::Relayed(Rc::new(Reader(relayed))))))
}

/// The beginning of a body.
#[derive(Default)]
struct BodyStart {
    /// Most bytes to take: none while memory is scarce, as the rest may then go to a file.
    max_whole: usize,
    pieces: Vec<Bytes>,
    bytes: usize,
    trailers: Option<HeaderMap>,
}

enum Arrived {
    Whole,
    Part,
    Broken,
}

impl BodyStart {
    /// Takes what has arrived, without waiting.
    fn take(
        &mut self,
        call: &mut BackendCall,
        body: &mut Incoming,
        context: &mut Context<'_>,
    ) -> Arrived {
        while self.bytes <= self.max_whole {
            match call.poll_piece(body, context) {
                Poll::Ready(Ok(None)) => return Arrived::Whole,
                Poll::Ready(Ok(Some(Piece::Data(data)))) => {
                    self.bytes += data.len();
                    self.pieces.push(data);
                }
                Poll::Ready(Ok(Some(Piece::Trailers(fields)))) => self.trailers = Some(fields),
                Poll::Ready(Err(_)) => return Arrived::Broken,
                Poll::Pending => return Arrived::Part,
            }
        }
        Arrived::Part
    }
}

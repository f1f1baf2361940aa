//! From a backend's answer to a response for the client: small ones are had whole first, larger ones
//! are passed on as they come. It does not send.

use std::future::poll_fn;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;

use bytes::Bytes;
use http::HeaderMap;
use hyper::body::Incoming;
use weir_http::forward::{self, BodyFraming, FieldEdits};
use weir_http::message::{Method, Request};

use super::asked::Passed;
use super::call::{Exchange, Piece};
use super::relay::{Coder, Patience, Relay};
use super::spare::Spare;
use crate::body::Limits;
use crate::body::{Account, Kind};
use crate::body::{Reader, Relayed, Writer};
use crate::content::Body;
use crate::response::ResponseTemplate;

/// An answer that has come whole by the time its head is read, and is not longer, goes on with its
/// length, however the backend framed it.
const AT_ONCE: usize = 64 * 1024;

/// How answers of a route are passed on.
pub(super) struct Passing<'a> {
    pub(super) edits: &'a Arc<FieldEdits>,
    /// Where the memory of its fields goes.
    pub(super) spare: &'a Spare,
    /// Whose the answer is.
    pub(super) account: &'a Account,
    /// Bytes of one answer that may wait for the client.
    pub(super) limits: Limits,
    pub(super) patience: Patience,
}

/// The response for the client, and what it takes of the memory for bodies. An error is what is wrong
/// with the answer.
pub(super) async fn respond(
    mut exchange: Exchange,
    answer: http::Response<Incoming>,
    request: &Request<'_>,
    framing: &ResponseTemplate,
    how: Passing<'_>,
) -> Result<Passed, &'static str> {
    let (parts, mut body) = answer.into_parts();
    let is_head = request.method == Method::Head;
    let length = forward::response_length(parts.status, is_head, &parts.headers)
        .map_err(|bad| bad.reason)?;
    let at_once = if how.account.has_room(Kind::Memory) { AT_ONCE } else { 0 };
    let mut begun = Begun { at_once, ..Begun::default() };
    let ended = poll_fn(|context| Poll::Ready(begun.take(&mut exchange, &mut body, context))).await;
    let coming = match ended {
        Taken::Broken => return Err("its connection ended within the answer"),
        Taken::Whole => {
            exchange.ended();
            None
        }
        Taken::Part => Some((exchange, body)),
    };
    begun.trailers.iter_mut().for_each(|fields| how.edits.apply_to_trailers(fields));
    let mut to_client = BodyFraming::for_client(length, request.version);
    let is_whole = coming.is_none() && begun.trailers.is_none();
    if is_whole && !matches!(to_client, BodyFraming::None | BodyFraming::Length(_)) {
        to_client = BodyFraming::Length(begun.bytes as u64);
    }
    let until_close = matches!(to_client, BodyFraming::UntilClose);
    let framing = if until_close { framing.then_closing() } else { *framing };
    let mut head = Vec::with_capacity(512);
    let passing = forward::ResponseOptions {
        framing: to_client,
        connection: framing.connection(),
        date: framing.date(),
        edits: how.edits,
    };
    forward::response_head(&mut head, parts.status, &parts.headers, &passing);
    how.spare.give_back(parts.headers);
    let code = parts.status.as_u16();
    if is_whole {
        let bytes: Arc<[u8]> = match begun.pieces.as_slice() {
            [whole] => Arc::from(&**whole),
            pieces => pieces.concat().into(),
        };
        let length = bytes.len() as u64;
        let response = framing.passed_on(code, head, Body::Text(bytes), Some(length));
        let charge = Some(how.account.charge(Kind::Memory, length));
        return Ok(Passed { charge, ..Passed::plain(response) });
    }
    let relayed = Relayed::new(how.limits, how.account);
    let coder = Coder { in_chunks: matches!(to_client, BodyFraming::Chunked) };
    begun.pieces.into_iter().for_each(|data| coder.data(data, &relayed));
    match coming {
        None => {
            coder.end(begun.trailers.as_ref(), &relayed);
            relayed.end(Ok(()));
        }
        Some((exchange, body)) => {
            let Passing { patience, edits, .. } = how;
            let (relayed, edits) = (Writer(relayed.clone()), edits.clone());
            let relay = Relay { exchange, body, coder, relayed, patience, edits };
            tokio::task::spawn_local(relay.run());
        }
    }
    let length = match to_client {
        BodyFraming::Length(length) => Some(length),
        BodyFraming::None => Some(0),
        BodyFraming::Chunked | BodyFraming::UntilClose => None,
    };
    let body = Body::Relayed(Rc::new(Reader(relayed)));
    Ok(Passed::plain(framing.passed_on(code, head, body, length)))
}

/// What has come of a body.
#[derive(Default)]
struct Begun {
    /// Bytes that are waited for: none while memory is scarce, for what comes then may go to a file.
    at_once: usize,
    pieces: Vec<Bytes>,
    bytes: usize,
    trailers: Option<HeaderMap>,
}

enum Taken {
    Whole,
    Part,
    Broken,
}

impl Begun {
    /// Takes what is there without waiting.
    fn take(
        &mut self,
        exchange: &mut Exchange,
        body: &mut Incoming,
        context: &mut std::task::Context<'_>,
    ) -> Taken {
        while self.bytes <= self.at_once {
            match exchange.poll_piece(body, context) {
                Poll::Ready(Ok(None)) => return Taken::Whole,
                Poll::Ready(Ok(Some(Piece::Data(data)))) => {
                    self.bytes += data.len();
                    self.pieces.push(data);
                }
                Poll::Ready(Ok(Some(Piece::Trailers(fields)))) => self.trailers = Some(fields),
                Poll::Ready(Err(_)) => return Taken::Broken,
                Poll::Pending => return Taken::Part,
            }
        }
        Taken::Part
    }
}

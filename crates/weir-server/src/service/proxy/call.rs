//! One call to a backend, from the request to the end of the response. It holds the backend's slot
//! until the backend is done, even if the client has left meanwhile. Begun by [`super::attempt`], read
//! by [`super::response_wait`], [`super::response`] and [`super::relay`].

use std::fmt;
use std::future::poll_fn;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use hyper::body::Incoming;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{Instant, timeout, timeout_at};
use weir_sched::health::Trial;

use super::backend::{Backend, Slot};
use super::connection::{Conn, NoResponse, PendingResponse};
use super::interim::InterimCount;
use super::pool::Pool;
use super::request_body::{IncompleteBody, OutgoingBody, Pipe};
use super::stream::Stream;
use crate::config::BackendAddress;

/// A response that lasts longer than this is a stream, such as of events: it says nothing about the
/// backend's load, and its slot goes to others.
const STREAM_AFTER: Duration = Duration::from_secs(10);

/// The longest response, in bytes, that is read to its end for nobody, so that its connection can be
/// reused or the backend can stop; for a longer one the connection is closed.
const MAX_DRAIN: u64 = 1024 * 1024;

/// The longest time for a response that nobody waits for to begin, and for a backend to close a
/// cancelled call. After it the slot is free in any case.
const MAX_DRAIN_TIME: Duration = Duration::from_secs(300);

/// A call in progress.
pub(super) struct BackendCall {
    conn: Conn,
    /// `None`: it was given back before the response ended.
    slot: Option<Slot>,
    /// The call tries whether an ejected backend is back, and the result has not been reported yet.
    tried: Option<Trial>,
    backend: Arc<Backend>,
    pool: Rc<Pool>,
    response: Option<PendingResponse>,
    /// From when on the response is a stream; `None`: its head has not arrived.
    stream_from: Option<Instant>,
    /// The backend stops working when the connection closes.
    cancels: bool,
    /// The longest time between bytes of a response whose client has left.
    idle: Duration,
    /// The body of the request.
    pipe: Option<Rc<Pipe>>,
    interim: InterimCount,
}

/// What a call needs besides the connection and the request.
pub(super) struct CallSetup {
    pub(super) slot: Slot,
    /// The call tries whether an ejected backend is back.
    pub(super) tried: Option<Trial>,
    pub(super) pool: Rc<Pool>,
    /// The backend stops working when the connection closes.
    pub(super) cancels: bool,
    /// The longest time between bytes of a response whose client has left.
    pub(super) idle: Duration,
}

/// A piece of a response body.
#[derive(Debug)]
pub(super) enum Piece {
    Data(Bytes),
    Trailers(HeaderMap),
}

impl BackendCall {
    /// Sends the request.
    pub(super) fn begin(
        mut conn: Conn,
        setup: CallSetup,
        request: Request<OutgoingBody>,
        pipe: Option<Rc<Pipe>>,
        interim: InterimCount,
    ) -> BackendCall {
        let response = Some(conn.send(request));
        let CallSetup { slot, tried, pool, cancels, idle } = setup;
        let backend = slot.backend().clone();
        let slot = Some(slot);
        BackendCall {
            conn,
            slot,
            tried,
            backend,
            pool,
            response,
            stream_from: None,
            cancels,
            idle,
            pipe,
            interim,
        }
    }

    /// Waits for the head of the response. `turn` is called at each wake-up, such as for an interim
    /// response.
    pub(super) async fn head(&mut self, turn: impl Fn()) -> Result<Response<Incoming>, NoResponse> {
        poll_fn(|context| {
            let head = self.poll_head(context);
            turn();
            head
        })
        .await
    }

    fn poll_head(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<Response<Incoming>, NoResponse>> {
        let Some(response) = &mut self.response else { return Poll::Pending };
        let head = self.conn.poll_response(response, context);
        if let Poll::Ready(head) = &head {
            self.response = None;
            if head.is_ok() {
                self.stream_from = Some(Instant::now() + STREAM_AFTER);
                self.slot.iter().for_each(Slot::answered);
            }
        }
        head
    }

    /// From when on the response, whose head has arrived, is a stream.
    pub(super) fn stream_from(&self) -> Instant {
        self.stream_from.unwrap_or_else(|| Instant::now() + STREAM_AFTER)
    }

    /// The address of the backend, for messages.
    pub(super) fn backend(&self) -> &BackendAddress {
        &self.backend.address
    }

    /// The next piece of the body; `Ok(None)` at its end.
    pub(super) fn poll_piece(
        &mut self,
        body: &mut Incoming,
        context: &mut Context<'_>,
    ) -> Poll<Result<Option<Piece>, hyper::Error>> {
        self.conn.poll_frame(body, context).map(|frame| match frame {
            None => Ok(None),
            Some(Err(error)) => Err(error),
            Some(Ok(frame)) => Ok(Some(match frame.into_data() {
                Ok(data) => Piece::Data(data),
                Err(frame) => Piece::Trailers(frame.into_trailers().unwrap_or_default()),
            })),
        })
    }

    /// Waits for [`BackendCall::poll_piece`].
    pub(super) async fn piece(
        &mut self,
        body: &mut Incoming,
    ) -> Result<Option<Piece>, hyper::Error> {
        poll_fn(|context| self.poll_piece(body, context)).await
    }

    /// The response was read to its end: frees the slot and keeps the connection.
    pub(super) fn ended(mut self) {
        self.free_slot();
        self.pool.keep(self.conn);
    }

    /// Frees the slot before the end of the response: the backend is done, or what is left depends on
    /// the client.
    pub(super) fn free_slot(&mut self) {
        if let Some(slot) = self.slot.take() {
            slot.ended();
        }
    }

    /// Whether this call still holds the backend's slot.
    pub(super) fn holds_slot(&self) -> bool {
        self.slot.is_some()
    }

    /// The client left while the response was sent to it.
    pub(super) fn client_left_while_sending(self, body: Incoming) {
        self.backend.answers.client_left_while_sending();
        self.abandon(Some(body));
    }

    /// The head of the response arrived in time: reports a success.
    pub(super) fn has_answered(&mut self) {
        self.backend.call_answered(self.tried.take());
    }

    /// No response arrived in time: reports a failure of the backend, and why.
    pub(super) fn blame(&mut self, why: impl fmt::Display) {
        self.backend.call_failed(self.tried.take(), why);
    }

    /// No response arrived, but that is no sign of the backend's health.
    pub(super) fn inconclusive(&mut self) {
        self.backend.inconclusive(self.tried.take());
    }

    /// Frees the slot of a call that the backend failed.
    pub(super) fn failed(mut self) {
        if let Some(slot) = self.slot.take() {
            slot.failed();
        }
    }

    /// The connection itself, after the backend switched protocols, and what was read ahead. Frees
    /// the slot: such connections last, and say nothing about the backend's load.
    pub(super) async fn into_tunnel(mut self) -> Option<(Stream, Bytes)> {
        self.free_slot();
        self.conn.finish_switch().await;
        self.conn.into_stream()
    }

    /// The client has left. `body` is the rest of the response, if it has begun.
    pub(super) fn abandon(mut self, body: Option<Incoming>) {
        self.backend.client_left(self.tried);
        if let Some(slot) = &mut self.slot {
            slot.client_left();
        }
        let idle = self.idle;
        self.read_for_nobody(body, idle);
    }

    /// Why the rest of the request will not arrive, if so.
    pub(super) fn incomplete_body(&self) -> Option<IncompleteBody> {
        self.pipe.as_ref().and_then(|pipe| pipe.incomplete())
    }

    /// The rest of the request will not arrive. The backend may be working on what it has: weir closes
    /// its side, and the slot is free when the backend closes its own.
    pub(super) fn abort(mut self) {
        self.cancels = true;
        self.backend.client_left(self.tried.take());
        match self.incomplete_body().is_some_and(|body| body.client_left) {
            true => self.abandon(None),
            false => self.drain(None),
        }
    }

    /// Gives up on a backend that takes too long: reads its response for nobody. It may pause for longer
    /// than `idle_timeout`, as it may have done before.
    pub(super) fn drain(self, body: Option<Incoming>) {
        self.read_for_nobody(body, MAX_DRAIN_TIME);
    }

    /// Reads the response for nobody, in a task of its own. The slot is free when the backend is done:
    /// freed at once, the backend's own queue would fill with calls for nobody. It is free as well when
    /// the response becomes a stream, or nothing more of it arrives for `idle`; then the connection is
    /// closed. A call that tries an ejected backend is not cancelled before its head has arrived: clients
    /// that leave would keep the backend ejected.
    fn read_for_nobody(mut self, body: Option<Incoming>, idle: Duration) {
        tokio::task::spawn_local(async move {
            let done = async {
                if self.cancels && self.tried.is_none() {
                    return self.cancel().await;
                }
                let body = match body {
                    Some(body) => Some(body),
                    None => self.late_head().await.map(Response::into_body),
                };
                if self.cancels {
                    return self.cancel().await;
                }
                let Some(body) = body else { return };
                // Otherwise the slot is free all the same, but the connection is of no use.
                if self.read_to_end(body, idle).await {
                    self.ended();
                }
            };
            let _ = timeout(MAX_DRAIN_TIME, done).await;
        });
    }

    /// The head of a response that nobody waits for; `None` if there is none.
    async fn late_head(&mut self) -> Option<Response<Incoming>> {
        let head = poll_fn(|context| match self.poll_head(context) {
            Poll::Pending if self.interim.exceeds_limit() => Poll::Ready(None),
            head => head.map(Result::ok),
        })
        .await;
        if let Some(tried) = self.tried.take().filter(|_| head.is_some()) {
            self.backend.call_answered(Some(tried));
        }
        head
    }

    /// Reads the rest of a response; false if it is longer than [`MAX_DRAIN`], breaks off, pauses for
    /// `idle` or turns out to be a stream.
    async fn read_to_end(&mut self, mut body: Incoming, idle: Duration) -> bool {
        let stream_from = self.stream_from();
        let mut bytes = 0;
        while bytes <= MAX_DRAIN {
            let until = stream_from.min(Instant::now() + idle);
            match timeout_at(until, self.piece(&mut body)).await {
                Ok(Ok(None)) => return true,
                Ok(Ok(Some(Piece::Data(data)))) => bytes += data.len() as u64,
                Ok(Ok(Some(Piece::Trailers(_)))) => {}
                Ok(Err(_)) | Err(_) => return false,
            }
        }
        false
    }

    /// Closes weir's side, and waits until the backend has closed its own: then it has stopped. If its
    /// response has begun, it is not waited for any more when that becomes a stream.
    async fn cancel(self) {
        let BackendCall { conn, slot, response, stream_from, .. } = self;
        drop(response);
        if let Some((stream, _)) = conn.into_stream() {
            let until = stream_from.unwrap_or_else(|| Instant::now() + MAX_DRAIN_TIME);
            let _ = timeout_at(until, close(stream)).await;
        }
        drop(slot);
    }
}

/// Closes weir's side of a connection, and waits until the backend has closed its own.
async fn close(mut stream: Stream) {
    if stream.shutdown().await.is_err() {
        return;
    }
    let mut sink = vec![0; 16 * 1024];
    let mut bytes = 0;
    // A backend that goes on sending gets a reset.
    while bytes <= MAX_DRAIN
        && let Ok(count @ 1..) = stream.read(&mut sink).await
    {
        bytes += count as u64;
    }
}

//! One call to a backend, from the moment it is sent to the end of its answer. The backend's slot is
//! held until the backend is done, whoever has left meanwhile.

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
use tokio::time::timeout;
use weir_sched::health::Trial;

use super::backend::{Backend, Slot};
use super::conn::{Answer, Conn, Unanswered};
use super::interim::Counted;
use super::outgoing::{Cut, Outgoing, Pipe};
use super::pool::Pool;
use super::stream::Stream;
use crate::config::BackendAddress;

/// Bytes of an answer that nobody wants which are read so that its connection can be used again, or
/// until the backend has stopped; a longer one is ended by closing the connection.
const WORTH_READING: u64 = 1024 * 1024;

/// The longest that a backend may take for what nobody waits for any more, and for closing when it
/// was told to stop. Then its slot comes back all the same.
const LONGEST_DEAD: Duration = Duration::from_secs(300);

/// A call that is under way.
pub(super) struct Exchange {
    conn: Conn,
    /// `None`: it was given back before the answer ended.
    slot: Option<Slot>,
    /// It tries whether the backend is back, and what it came to has not been told.
    tried: Option<Trial>,
    backend: Arc<Backend>,
    pool: Rc<Pool>,
    answer: Option<Answer>,
    /// The backend stops its work when its connection closes.
    cancels: bool,
    /// The body of the request.
    pipe: Option<Rc<Pipe>>,
    interim: Counted,
}

/// What a call is given to begin with.
pub(super) struct Given {
    pub(super) slot: Slot,
    /// It tries whether the backend is back.
    pub(super) tried: Option<Trial>,
    pub(super) pool: Rc<Pool>,
    /// The backend stops its work when its connection closes.
    pub(super) cancels: bool,
}

/// A piece of an answer's body.
#[derive(Debug)]
pub(super) enum Piece {
    Data(Bytes),
    Trailers(HeaderMap),
}

impl Exchange {
    /// Sends the request.
    pub(super) fn begin(
        mut conn: Conn,
        given: Given,
        request: Request<Outgoing>,
        pipe: Option<Rc<Pipe>>,
        interim: Counted,
    ) -> Exchange {
        let answer = Some(conn.start(request));
        let Given { slot, tried, pool, cancels } = given;
        let backend = slot.backend().clone();
        let slot = Some(slot);
        Exchange { conn, slot, tried, backend, pool, answer, cancels, pipe, interim }
    }

    /// Waits for the head of the answer. `turn` is called now and then, such as when something else
    /// has come.
    pub(super) async fn head(&mut self, turn: impl Fn()) -> Result<Response<Incoming>, Unanswered> {
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
    ) -> Poll<Result<Response<Incoming>, Unanswered>> {
        let Some(answer) = &mut self.answer else { return Poll::Pending };
        let head = self.conn.poll_answer(answer, context);
        if let Poll::Ready(head) = &head {
            self.answer = None;
            if let (Ok(_), Some(slot)) = (head, &self.slot) {
                slot.answered();
            }
        }
        head
    }

    /// Where it goes.
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

    /// As [`Exchange::poll_piece`], waiting.
    pub(super) async fn piece(
        &mut self,
        body: &mut Incoming,
    ) -> Result<Option<Piece>, hyper::Error> {
        poll_fn(|context| self.poll_piece(body, context)).await
    }

    /// The answer was read whole: slot and connection are free again.
    pub(super) fn ended(mut self) {
        self.free_slot();
        self.pool.keep(self.conn);
    }

    /// The backend is not at work any more, or not for long: what is left of the answer is its
    /// client's affair.
    pub(super) fn free_slot(&mut self) {
        if let Some(slot) = self.slot.take() {
            slot.ended();
        }
    }

    /// Whether the backend's slot is taken by this call.
    pub(super) fn holds_slot(&self) -> bool {
        self.slot.is_some()
    }

    /// The client has left while its answer came.
    pub(super) fn left_in_answer(self, body: Incoming) {
        self.backend.left_in_answer();
        self.abandon(Some(body));
    }

    /// The head of the answer has come in time.
    pub(super) fn has_answered(&mut self) {
        self.backend.call_answered(self.tried.take());
    }

    /// No answer came in time, and the backend is to blame: why.
    pub(super) fn blame(&mut self, why: impl fmt::Display) {
        self.backend.call_failed(self.tried.take(), why);
    }

    /// No answer came, and nobody is to blame.
    pub(super) fn take_back(&mut self) {
        self.backend.take_back(self.tried.take());
    }

    /// No answer came, and the backend is to blame.
    pub(super) fn failed(mut self) {
        if let Some(slot) = self.slot.take() {
            slot.failed();
        }
    }

    /// The connection itself, after the backend has switched protocols. The slot is free: such
    /// connections last, and say nothing of how much the backend has to do.
    pub(super) async fn switched(mut self) -> (Stream, Bytes) {
        self.free_slot();
        self.conn.switched().await;
        self.conn.into_stream()
    }

    /// The client has left. `body`: the rest of the answer, if it has begun.
    pub(super) fn abandon(mut self, body: Option<Incoming>) {
        self.backend.client_left(self.tried);
        if let Some(slot) = &mut self.slot {
            slot.client_left();
        }
        self.let_end(body);
    }

    /// Why the rest of the request will not come, if so.
    pub(super) fn cut(&self) -> Option<Cut> {
        self.pipe.as_ref().and_then(|pipe| pipe.why_cut())
    }

    /// The rest of the request will not come. The backend may be at work on what it has: it is told
    /// by the end of our side, and its slot comes back when it closes its own.
    pub(super) fn cut_short(mut self) {
        self.cancels = true;
        self.backend.client_left(self.tried.take());
        match self.cut().is_some_and(|cut| cut.left) {
            true => self.abandon(None),
            false => self.let_end(None),
        }
    }

    /// Nobody wants the answer any more. The slot comes back when the backend is done: freed at
    /// once, the backend's own queue would fill with calls for nobody. One that tries is not
    /// cancelled before its head has come: whoever leaves would keep the backend out.
    pub(super) fn let_end(mut self, body: Option<Incoming>) {
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
                // One that is too long has been answered, but its connection is of no use.
                if self.read_out(body).await {
                    self.ended();
                }
            };
            let _ = timeout(LONGEST_DEAD, done).await;
        });
    }

    /// The head of an answer that nobody waits for, if there comes one after all interim ones.
    async fn late_head(&mut self) -> Option<Response<Incoming>> {
        let head = poll_fn(|context| match self.poll_head(context) {
            Poll::Pending if self.interim.are_too_many() => Poll::Ready(None),
            head => head.map(Result::ok),
        })
        .await;
        if let Some(tried) = self.tried.take().filter(|_| head.is_some()) {
            self.backend.call_answered(Some(tried));
        }
        head
    }

    /// Reads the rest of an answer; false if it is not worth it, or broke.
    async fn read_out(&mut self, mut body: Incoming) -> bool {
        let mut bytes = 0;
        while let Ok(piece) = self.piece(&mut body).await {
            match piece {
                None => return true,
                Some(Piece::Data(data)) => bytes += data.len() as u64,
                Some(Piece::Trailers(_)) => {}
            }
            if bytes > WORTH_READING {
                return false;
            }
        }
        false
    }

    /// Closes our side, and waits until the backend has closed its own: then it has stopped.
    async fn cancel(self) {
        let Exchange { conn, slot, answer, .. } = self;
        drop(answer);
        let (mut stream, _) = conn.into_stream();
        if stream.shutdown().await.is_ok() {
            let mut sink = vec![0; 16 * 1024];
            let mut bytes = 0;
            // One that goes on sending is told by a reset.
            while bytes <= WORTH_READING
                && let Ok(count @ 1..) = stream.read(&mut sink).await
            {
                bytes += count as u64;
            }
        }
        drop(slot);
    }
}

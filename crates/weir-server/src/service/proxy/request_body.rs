//! The body of a request on its way to a backend. Filled by the protocol of the client's connection
//! ([`IncomingBody`]), read by hyper.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::HeaderMap;
use hyper::body::{Body, Frame, SizeHint};
use tokio::time::Instant;
use weir_http::forward::FieldEdits;

use crate::body::Account;
use crate::body::{Buffer, Limits, Next, Room};

/// The most bytes that hyper gets at a time: those in its buffers are charged to nobody.
const MAX_FRAME: usize = 16 * 1024;

/// The rest of a request, as the protocol of its connection reads it.
pub(crate) trait IncomingBody {
    /// Bytes of the body that were not read yet, if that is known.
    fn length(&self) -> Option<u64>;

    /// It is going to be read: asks for it, if the client waits to be asked (RFC 9110, section 10.1.1).
    /// False if the client has left.
    fn ask(&self) -> bool;

    /// Reads to the end of the body, or, with `until_full`, until `pipe` is full. An error also aborts
    /// the pipe.
    async fn read(&mut self, pipe: &Rc<Pipe>, until_full: bool) -> Result<(), BodyError>;
}

/// Why a body ended before its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BodyError {
    ClientLeft,
    TimedOut,
    Malformed,
    TooLarge,
}

/// The body of a request for hyper; `None`: no body.
#[derive(Debug)]
pub(super) struct OutgoingBody(Option<Rc<Pipe>>);

/// Bytes of a body that have arrived and were not sent yet.
#[derive(Debug)]
pub(crate) struct Pipe {
    buffer: Rc<Buffer>,
    /// The length of the whole body in bytes, if it is known.
    length: Option<u64>,
    /// The edits of the request's fields, for its trailers.
    edits: Arc<FieldEdits>,
    end: RefCell<Option<Result<Option<HeaderMap>, IncompleteBody>>>,
    /// Frames that hyper has taken.
    frames_taken: Cell<u64>,
    starved: Cell<Starvation>,
}

/// Time in which the backend waited for the client.
#[derive(Clone, Copy, Debug, Default)]
struct Starvation {
    since: Option<Instant>,
    before: Duration,
}

/// The whole body will not come, mostly because the client did not send it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct IncompleteBody {
    /// Because the client has left.
    pub(crate) client_left: bool,
}

impl fmt::Display for IncompleteBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the request body breaks off")
    }
}

impl std::error::Error for IncompleteBody {}

impl OutgoingBody {
    pub(super) fn none() -> OutgoingBody {
        OutgoingBody(None)
    }

    pub(super) fn from(pipe: &Rc<Pipe>) -> OutgoingBody {
        OutgoingBody(Some(pipe.clone()))
    }
}

impl Pipe {
    /// An empty pipe, charged to `account`; `edits` are those of the head.
    pub(crate) fn new(
        limits: Limits,
        length: Option<u64>,
        account: &Account,
        edits: Arc<FieldEdits>,
    ) -> Rc<Pipe> {
        let buffer = Buffer::new(limits, account);
        let (end, frames_taken, starved) = Default::default();
        Rc::new(Pipe { buffer, length, edits, end, frames_taken, starved })
    }

    /// Frames that hyper has taken so far.
    pub(super) fn frames_taken(&self) -> u64 {
        self.frames_taken.get()
    }

    /// Why the rest of the body will not arrive, if so.
    pub(super) fn incomplete(&self) -> Option<IncompleteBody> {
        let cut = self.end.borrow().as_ref().and_then(|end| end.as_ref().err().copied());
        cut.or_else(|| self.buffer.is_lost().then_some(IncompleteBody { client_left: false }))
    }

    /// Why what has arrived cannot be read from its temporary file, if so.
    pub(super) fn loss(&self) -> Option<String> {
        self.buffer.loss()
    }

    /// Whether the backend has got everything that has arrived, and the body has not ended.
    pub(super) fn is_starved(&self) -> bool {
        self.buffer.is_starved()
    }

    /// How long the backend has waited for the client in total.
    pub(super) fn starved_time(&self) -> Duration {
        self.starved.get().before + self.starving_for()
    }

    /// How long the backend has been waiting for the client; zero if it is not.
    pub(super) fn starving_for(&self) -> Duration {
        self.starved.get().since.map_or(Duration::ZERO, |since| since.elapsed())
    }

    /// Whether there is room for more; waits while that is not known.
    pub(crate) async fn room(&self) -> Room {
        self.buffer.room().await
    }

    /// Waits until there is room for more; false if the backend reads no more.
    pub(crate) async fn has_room(&self) -> bool {
        self.buffer.wait_for_room().await
    }

    /// Adds a copy of `bytes`.
    pub(crate) fn copy(&self, bytes: &[u8]) {
        self.stop_starving();
        self.buffer.copy(bytes);
    }

    /// Ends the body: all of it has arrived.
    pub(crate) fn end(&self, mut trailers: Option<HeaderMap>) {
        trailers.iter_mut().for_each(|fields| self.edits.apply_to_trailers(fields));
        self.set_end(Ok(trailers.filter(|fields| !fields.is_empty())));
    }

    /// Ends the body: the rest will not arrive.
    pub(crate) fn abort(&self, why: IncompleteBody) {
        self.set_end(Err(why));
    }

    fn set_end(&self, how: Result<Option<HeaderMap>, IncompleteBody>) {
        self.stop_starving();
        self.end.borrow_mut().get_or_insert(how);
        self.buffer.end();
    }

    fn stop_starving(&self) {
        self.starved.set(Starvation { since: None, before: self.starved_time() });
    }

    /// Whether the whole body has arrived.
    pub(super) fn has_ended(&self) -> bool {
        matches!(&*self.end.borrow(), Some(Ok(_)))
    }

    /// Whether the backend has got the whole body.
    pub(super) fn is_taken(&self) -> bool {
        self.has_ended() && self.buffer.is_done()
    }

    fn poll_frame(
        &self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, IncompleteBody>>> {
        match self.buffer.poll_take(context, MAX_FRAME) {
            Poll::Ready(Next::Bytes(bytes)) => {
                self.frames_taken.set(self.frames_taken.get() + 1);
                Poll::Ready(Some(Ok(Frame::data(bytes))))
            }
            Poll::Ready(Next::End) => Poll::Ready(match &mut *self.end.borrow_mut() {
                Some(Ok(trailers)) => trailers.take().map(|fields| Ok(Frame::trailers(fields))),
                Some(Err(cut)) => Some(Err(*cut)),
                None => None,
            }),
            Poll::Ready(Next::Lost) => {
                Poll::Ready(Some(Err(IncompleteBody { client_left: false })))
            }
            Poll::Pending => {
                let starved = self.starved.get();
                if starved.since.is_none() && self.is_starved() {
                    self.starved.set(Starvation { since: Some(Instant::now()), ..starved });
                }
                Poll::Pending
            }
        }
    }
}

impl Drop for OutgoingBody {
    fn drop(&mut self) {
        self.0.iter().for_each(|pipe| pipe.buffer.abandon());
    }
}

impl Body for OutgoingBody {
    type Data = Bytes;
    type Error = IncompleteBody;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, IncompleteBody>>> {
        self.0.as_ref().map_or(Poll::Ready(None), |pipe| pipe.poll_frame(context))
    }

    fn is_end_stream(&self) -> bool {
        // Not even for an empty chunked body: hyper would send it without its framing.
        self.0.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            None => SizeHint::with_exact(0),
            Some(pipe) => pipe.length.map_or_else(SizeHint::new, SizeHint::with_exact),
        }
    }
}

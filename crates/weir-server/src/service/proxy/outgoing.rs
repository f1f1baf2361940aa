//! The body of a request on its way to a backend: filled from the client's connection
//! ([`super::incoming`]), emptied by hyper.

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

/// Bytes that hyper gets at a time: what it has taken counts no more, so it must not be much.
const FRAME: usize = 16 * 1024;

/// A body, or none.
#[derive(Debug)]
pub(super) struct Outgoing(Option<Rc<Pipe>>);

/// What has come of a body and was not sent yet.
#[derive(Debug)]
pub(super) struct Pipe {
    buffer: Rc<Buffer>,
    /// Bytes of the whole, if that was said.
    length: Option<u64>,
    /// What its trailers may not have.
    edits: Arc<FieldEdits>,
    end: RefCell<Option<Result<Option<HeaderMap>, Cut>>>,
    /// Pieces that the backend has taken.
    taken: Cell<u64>,
    starved: Cell<Starved>,
}

/// The time in which the backend waited for the client.
#[derive(Clone, Copy, Debug, Default)]
struct Starved {
    since: Option<Instant>,
    before: Duration,
}

/// The client did not send its body to the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cut {
    /// It has left.
    pub(super) left: bool,
}

impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the client did not send the body of its request to the end")
    }
}

impl std::error::Error for Cut {}

impl Outgoing {
    pub(super) fn none() -> Outgoing {
        Outgoing(None)
    }

    pub(super) fn from(pipe: &Rc<Pipe>) -> Outgoing {
        Outgoing(Some(pipe.clone()))
    }
}

impl Pipe {
    /// For the client of `account`. `edits`: those of the head.
    pub(super) fn new(
        limits: Limits,
        length: Option<u64>,
        account: &Account,
        edits: Arc<FieldEdits>,
    ) -> Rc<Pipe> {
        let buffer = Buffer::new(limits, account);
        let (end, taken, starved) = Default::default();
        Rc::new(Pipe { buffer, length, edits, end, taken, starved })
    }

    /// Pieces that the backend has taken so far.
    pub(super) fn taken(&self) -> u64 {
        self.taken.get()
    }

    /// Why the rest of the body will not come, if so.
    pub(super) fn why_cut(&self) -> Option<Cut> {
        let cut = self.end.borrow().as_ref().and_then(|end| end.as_ref().err().copied());
        cut.or_else(|| self.buffer.is_lost().then_some(Cut { left: false }))
    }

    /// Whether the backend has had all that came, and the body has not ended.
    pub(super) fn is_starved(&self) -> bool {
        self.buffer.is_starved()
    }

    /// How long the backend has waited for the client in all.
    pub(super) fn starved(&self) -> Duration {
        self.starved.get().before + self.starves()
    }

    /// How long it has waited since it last got something; zero if it does not wait.
    pub(super) fn starves(&self) -> Duration {
        self.starved.get().since.map_or(Duration::ZERO, |since| since.elapsed())
    }

    /// Whether there is room; waits while that is not known.
    pub(super) async fn room(&self) -> Room {
        self.buffer.room().await
    }

    /// Waits until there is room; false if nobody reads any more.
    pub(super) async fn has_room(&self) -> bool {
        self.buffer.until_room().await
    }

    /// More has come.
    pub(super) fn copy(&self, bytes: &[u8]) {
        self.fed();
        self.buffer.copy(bytes);
    }

    /// The body has come whole.
    pub(super) fn end(&self, mut trailers: Option<HeaderMap>) {
        trailers.iter_mut().for_each(|fields| self.edits.apply_to_trailers(fields));
        self.ended(Ok(trailers.filter(|fields| !fields.is_empty())));
    }

    /// The rest of the body will not come.
    pub(super) fn cut(&self, why: Cut) {
        self.ended(Err(why));
    }

    fn ended(&self, how: Result<Option<HeaderMap>, Cut>) {
        self.fed();
        self.end.borrow_mut().get_or_insert(how);
        self.buffer.end();
    }

    fn fed(&self) {
        self.starved.set(Starved { since: None, before: self.starved() });
    }

    /// Whether the body has come whole.
    pub(super) fn has_ended(&self) -> bool {
        matches!(&*self.end.borrow(), Some(Ok(_)))
    }

    /// Whether the backend has had the whole of it.
    pub(super) fn is_taken(&self) -> bool {
        self.has_ended() && self.buffer.is_done()
    }

    fn poll_frame(&self, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Cut>>> {
        match self.buffer.poll_take(context, FRAME) {
            Poll::Ready(Next::Bytes(bytes)) => {
                self.taken.set(self.taken.get() + 1);
                Poll::Ready(Some(Ok(Frame::data(bytes))))
            }
            Poll::Ready(Next::End) => Poll::Ready(match &mut *self.end.borrow_mut() {
                Some(Ok(trailers)) => trailers.take().map(|fields| Ok(Frame::trailers(fields))),
                Some(Err(cut)) => Some(Err(*cut)),
                None => None,
            }),
            Poll::Ready(Next::Lost) => Poll::Ready(Some(Err(Cut { left: false }))),
            Poll::Pending => {
                let starved = self.starved.get();
                if starved.since.is_none() && self.is_starved() {
                    self.starved.set(Starved { since: Some(Instant::now()), ..starved });
                }
                Poll::Pending
            }
        }
    }
}

impl Drop for Outgoing {
    fn drop(&mut self) {
        self.0.iter().for_each(|pipe| pipe.buffer.leave());
    }
}

impl Body for Outgoing {
    type Data = Bytes;
    type Error = Cut;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Cut>>> {
        self.0.as_ref().map_or(Poll::Ready(None), |pipe| pipe.poll_frame(context))
    }

    fn is_end_stream(&self) -> bool {
        // An empty body in chunks is one all the same: hyper would send it without its framing.
        self.0.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            None => SizeHint::with_exact(0),
            Some(pipe) => pipe.length.map_or_else(SizeHint::new, SizeHint::with_exact),
        }
    }
}

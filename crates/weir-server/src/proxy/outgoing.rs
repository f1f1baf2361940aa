//! The body of a request on its way to a backend: a queue between the client's connection, which
//! fills it, and hyper, which empties it. It knows neither.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use bytes::{Bytes, BytesMut};
use http::HeaderMap;
use hyper::body::{Body, Frame, SizeHint};
use weir_http::forward::FieldEdits;

use super::memory::Memory;

/// What a piece costs beside its bytes: many tiny chunks must not take more memory than they may.
const FRAME: u64 = 256;

/// Pieces are put together up to so many bytes: a client that sends a byte at a time must not fill its
/// room with what pieces cost.
const SMALL: usize = 4096;

/// A body, or none.
#[derive(Debug)]
pub(super) struct Outgoing(Option<Rc<Pipe>>);

/// What has come of a body and was not sent yet.
#[derive(Debug)]
pub(super) struct Pipe {
    queue: RefCell<Queue>,
    memory: Arc<Memory>,
    /// Bytes that may wait here.
    room: u64,
    /// Bytes of the whole, if that was said.
    length: Option<u64>,
    /// What its trailers may not have.
    edits: Arc<FieldEdits>,
}

#[derive(Debug, Default)]
struct Queue {
    frames: VecDeque<Frame<Bytes>>,
    bytes: u64,
    /// Pieces that the backend has taken.
    taken: u64,
    end: Option<Result<(), Cut>>,
    /// hyper reads no more of it.
    dropped: bool,
    reader: Option<Waker>,
    writer: Option<Waker>,
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
    /// At most about `room` bytes wait, less if all memory is taken. `edits`: those of the head.
    pub(super) fn new(
        room: u64,
        length: Option<u64>,
        memory: Arc<Memory>,
        edits: Arc<FieldEdits>,
    ) -> Rc<Pipe> {
        Rc::new(Pipe { queue: RefCell::default(), memory, room: room.max(1), length, edits })
    }

    /// Whether nothing more fits, or nothing more comes.
    pub(super) fn is_full(&self) -> bool {
        let queue = self.queue.borrow();
        !self.may_take(&queue) || queue.end.is_some()
    }

    fn may_take(&self, queue: &Queue) -> bool {
        self.memory.has_room(queue.bytes, self.room)
    }

    /// Pieces that the backend has taken so far.
    pub(super) fn taken(&self) -> u64 {
        self.queue.borrow().taken
    }

    /// Why the rest of the body will not come, if so.
    pub(super) fn why_cut(&self) -> Option<Cut> {
        self.queue.borrow().end.and_then(Result::err)
    }

    /// Whether the backend has had all that came, and the body has not ended.
    pub(super) fn is_starved(&self) -> bool {
        let queue = self.queue.borrow();
        queue.frames.is_empty() && queue.end.is_none() && !queue.dropped
    }

    /// Waits until there is room; false if nobody reads any more.
    pub(super) async fn has_room(&self) -> bool {
        poll_fn(|context| {
            let mut queue = self.queue.borrow_mut();
            if queue.dropped {
                return Poll::Ready(false);
            }
            if self.may_take(&queue) {
                return Poll::Ready(true);
            }
            queue.writer = Some(context.waker().clone());
            Poll::Pending
        })
        .await
    }

    pub(super) fn push(&self, bytes: Bytes) {
        let mut queue = self.queue.borrow_mut();
        if queue.dropped {
            return;
        }
        let last = queue.frames.back_mut().and_then(Frame::data_mut);
        let count = match last.filter(|last| last.len() + bytes.len() <= SMALL) {
            Some(last) => {
                *last = joined(std::mem::take(last), &bytes);
                bytes.len() as u64
            }
            None => {
                let count = bytes.len() as u64 + FRAME;
                queue.frames.push_back(Frame::data(bytes));
                count
            }
        };
        queue.bytes += count;
        self.memory.take(count);
        queue.wake_reader();
    }

    /// The body has come whole.
    pub(super) fn end(&self, mut trailers: Option<HeaderMap>) {
        trailers.iter_mut().for_each(|fields| self.edits.apply_to_trailers(fields));
        let mut queue = self.queue.borrow_mut();
        if let Some(trailers) = trailers.filter(|fields| !fields.is_empty()) {
            queue.frames.push_back(Frame::trailers(trailers));
        }
        queue.end = Some(Ok(()));
        queue.wake_reader();
    }

    /// The rest of the body will not come.
    pub(super) fn cut(&self, why: Cut) {
        let mut queue = self.queue.borrow_mut();
        queue.end.get_or_insert(Err(why));
        queue.wake_reader();
    }

    /// Whether the body has come whole.
    pub(super) fn has_ended(&self) -> bool {
        self.queue.borrow().end == Some(Ok(()))
    }
}

/// Both, without copying the first if nobody else has it.
fn joined(first: Bytes, second: &[u8]) -> Bytes {
    let mut both = first.try_into_mut().unwrap_or_else(|shared| BytesMut::from(&shared[..]));
    both.extend_from_slice(second);
    both.freeze()
}

impl Queue {
    fn wake_reader(&mut self) {
        if let Some(reader) = self.reader.take() {
            reader.wake();
        }
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        self.memory.give_back(self.queue.get_mut().bytes);
    }
}

impl Drop for Outgoing {
    fn drop(&mut self) {
        let Some(pipe) = &self.0 else { return };
        let mut queue = pipe.queue.borrow_mut();
        queue.dropped = true;
        queue.frames.clear();
        pipe.memory.give_back(std::mem::take(&mut queue.bytes));
        if let Some(writer) = queue.writer.take() {
            writer.wake();
        }
    }
}

impl Body for Outgoing {
    type Data = Bytes;
    type Error = Cut;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Cut>>> {
        let Some(pipe) = &self.0 else { return Poll::Ready(None) };
        let mut queue = pipe.queue.borrow_mut();
        if let Some(frame) = queue.frames.pop_front() {
            let count = frame.data_ref().map_or(0, |data| data.len() as u64 + FRAME);
            queue.bytes -= count;
            queue.taken += 1;
            pipe.memory.give_back(count);
            if let Some(writer) = queue.writer.take() {
                writer.wake();
            }
            return Poll::Ready(Some(Ok(frame)));
        }
        match queue.end {
            Some(Ok(())) => Poll::Ready(None),
            Some(Err(cut)) => Poll::Ready(Some(Err(cut))),
            None => {
                queue.reader = Some(context.waker().clone());
                Poll::Pending
            }
        }
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

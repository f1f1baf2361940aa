//! The body of a backend's answer on its way to the client, which takes it at its own pace and the
//! uplink's. The proxy fills it; the protocol of the client's connection frames it, and `send` reads it.

use std::cell::{Cell, RefCell};
use std::ops::Deref;
use std::rc::Rc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::HeaderMap;

use super::buffer::{Buffer, Limits, Next, Room};
use super::space::Account;

/// Bytes that the client has not read yet, and the trailer fields after them.
#[derive(Debug)]
pub(crate) struct RelayedBody {
    buffer: Rc<Buffer>,
    end: Cell<Option<Result<(), Truncated>>>,
    trailers: RefCell<Option<HeaderMap>>,
}

/// A body that comes while it is sent: a backend's, or what a protocol makes of it.
pub(crate) trait Coming: std::fmt::Debug {
    /// Fills `out` with the bytes from `offset` on, and may drop those before; returns how many: none if
    /// none have arrived yet, they are not in memory, or no more follow.
    fn read(&self, offset: u64, out: &mut [u8]) -> usize;

    /// The bytes that have arrived so far, and whether these are all.
    fn extent(&self) -> (u64, bool);

    /// Whether there are bytes from `offset` on, or no more follow; if not, the task is woken then.
    fn poll_more(&self, context: &mut Context<'_>, offset: u64) -> Poll<Result<(), Truncated>>;

    /// The trailer fields, once all has arrived.
    fn trailers(&self) -> Option<HeaderMap>;
}

/// The response ended before its end: why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Truncated(pub(crate) &'static str);

const LOST: Truncated = Truncated("its temporary file cannot be read");

impl RelayedBody {
    /// An empty body, charged to `account`.
    pub(crate) fn new(limits: Limits, account: &Account) -> Rc<RelayedBody> {
        let (end, trailers) = Default::default();
        Rc::new(RelayedBody { buffer: Buffer::new(limits, account), end, trailers })
    }

    /// Adds bytes from the backend.
    pub(crate) fn push(&self, bytes: Bytes) {
        self.buffer.push(bytes);
    }

    /// Adds a copy of `bytes`.
    pub(crate) fn copy(&self, bytes: &[u8]) {
        self.buffer.copy(bytes);
    }

    /// Ends the body, whole or not. The first end counts.
    pub(crate) fn end(&self, how: Result<(), Truncated>) {
        self.end.set(self.end.get().or(Some(how)));
        self.buffer.end();
    }

    /// Ends the body, which is whole, with these trailer fields.
    pub(crate) fn end_with(&self, trailers: Option<HeaderMap>) {
        self.trailers.replace(trailers);
        self.end(Ok(()));
    }

    /// Whether there is room for more; waits while that is not known.
    pub(crate) async fn room(&self) -> Room {
        self.buffer.room().await
    }

    /// Waits until there is room for more; false if the client reads no more.
    pub(crate) async fn has_room(&self) -> bool {
        self.buffer.wait_for_room().await
    }

    /// Waits until the client reads no more.
    pub(crate) async fn client_left(&self) {
        self.buffer.wait_until_abandoned().await;
    }
}

/// The backend's end: dropping it ends the body.
#[derive(Debug)]
pub(crate) struct Writer(pub(crate) Rc<RelayedBody>);

impl Deref for Writer {
    type Target = Rc<RelayedBody>;

    fn deref(&self) -> &Rc<RelayedBody> {
        &self.0
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        // An end that was set before stays.
        self.0.end(Err(Truncated("weir gave up relaying it")));
    }
}

/// The client's end: dropping it tells the backend's end that nobody reads the rest.
#[derive(Debug)]
pub(crate) struct Reader(pub(crate) Rc<RelayedBody>);

impl Deref for Reader {
    type Target = RelayedBody;

    fn deref(&self) -> &RelayedBody {
        &self.0
    }
}

impl Coming for Reader {
    fn read(&self, offset: u64, out: &mut [u8]) -> usize {
        self.buffer.read(offset, out)
    }

    fn extent(&self) -> (u64, bool) {
        (self.buffer.arrived(), self.end.get() == Some(Ok(())))
    }

    fn poll_more(&self, context: &mut Context<'_>, offset: u64) -> Poll<Result<(), Truncated>> {
        self.buffer.poll_more(context, offset).map(|next| match next {
            Next::Bytes(_) => Ok(()),
            Next::End => self.end.get().unwrap_or(Ok(())),
            Next::Lost => Err(LOST),
        })
    }

    fn trailers(&self) -> Option<HeaderMap> {
        self.trailers.borrow().clone()
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.0.buffer.abandon();
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use super::super::space::Space;
    use super::*;

    #[tokio::test]
    async fn a_broken_answer_is_no_end_and_who_left_frees_its_memory() {
        let space = Space::new(1 << 20, 0, None);
        let account = space.account([10, 0, 0, 1].into());
        let relayed = RelayedBody::new(Limits { memory: 4, file: 0 }, &account);
        relayed.push(Bytes::from_static(b"12345"));
        assert_eq!(relayed.room().await, Room::Full);
        relayed.end(Err(Truncated("reset")));
        relayed.end(Ok(()));
        let reader = Reader(relayed.clone());
        let more = async |at| poll_fn(|context| reader.poll_more(context, at)).await;
        assert_eq!(more(0).await, Ok(()));
        assert_eq!(reader.extent(), (5, false));
        let mut out = [0; 9];
        assert_eq!((reader.read(3, &mut out), &out[..2]), (2, &b"45"[..]));
        assert_eq!(reader.read(5, &mut out), 0);
        assert_eq!(more(5).await, Err(Truncated("reset")));
        drop(reader);
        assert!(!relayed.has_room().await);
        assert_eq!(space.memory_used(), 0);
    }
}

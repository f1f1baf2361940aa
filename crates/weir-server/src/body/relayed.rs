//! The body of a backend's answer on its way to the client, which takes it at its own pace and the
//! uplink's. The proxy fills it; `send` reads it as the body of a response.

use std::cell::Cell;
use std::ops::Deref;
use std::rc::Rc;

use bytes::Bytes;

use super::buffer::{Buffer, Limits, Next, Room};
use super::space::Account;

/// Bytes that the client has not read yet, in the framing that the client gets: already in chunks if
/// the body is chunked.
#[derive(Debug)]
pub(crate) struct RelayedBody {
    buffer: Rc<Buffer>,
    end: Cell<Option<Result<(), Truncated>>>,
}

/// The response ended before its end: why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Truncated(pub(crate) &'static str);

const LOST: Truncated = Truncated("its temporary file cannot be read");

impl RelayedBody {
    /// An empty body, charged to `account`.
    pub(crate) fn new(limits: Limits, account: &Account) -> Rc<RelayedBody> {
        Rc::new(RelayedBody { buffer: Buffer::new(limits, account), end: Cell::new(None) })
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

    /// Fills `out` with the bytes from `offset` on and drops those before. `None`: none have arrived
    /// yet, they are not in memory, or no more follow.
    pub(crate) fn read(&self, offset: u64, out: &mut [u8]) -> Option<usize> {
        let count = self.buffer.read(offset, out);
        (count > 0).then_some(count)
    }

    /// The bytes that have arrived so far, and whether these are all.
    pub(crate) fn extent(&self) -> (u64, bool) {
        (self.buffer.arrived(), self.end.get() == Some(Ok(())))
    }

    /// Waits until there are bytes from `offset` on, or no more follow.
    pub(crate) async fn more(&self, offset: u64) -> Result<(), Truncated> {
        match self.buffer.more(offset).await {
            Next::Bytes(_) => Ok(()),
            Next::End => self.end.get().unwrap_or(Ok(())),
            Next::Lost => Err(LOST),
        }
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

impl Drop for Reader {
    fn drop(&mut self) {
        self.0.buffer.abandon();
    }
}

#[cfg(test)]
mod tests {
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
        assert_eq!(relayed.more(0).await, Ok(()));
        assert_eq!(relayed.extent(), (5, false));
        let mut out = [0; 9];
        assert_eq!((relayed.read(3, &mut out), &out[..2]), (Some(2), &b"45"[..]));
        assert_eq!(relayed.read(5, &mut out), None);
        assert_eq!(relayed.more(5).await, Err(Truncated("reset")));
        drop(Reader(relayed.clone()));
        assert!(!relayed.has_room().await);
        assert_eq!(space.memory_used(), 0);
    }
}

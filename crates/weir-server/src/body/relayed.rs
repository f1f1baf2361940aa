//! The body of a backend's answer on its way to the client, which takes it at its own pace and the
//! uplink's. The proxy fills it; `send` reads it as the body of a response.

use std::cell::Cell;
use std::ops::Deref;
use std::rc::Rc;

use bytes::Bytes;

use super::buffer::{Buffer, Limits, Next, Room};
use super::space::Account;

/// Bytes of an answer that its client has not taken. They are as they go over the connection, so
/// already in chunks if the client is to get chunks.
#[derive(Debug)]
pub(crate) struct Relayed {
    buffer: Rc<Buffer>,
    end: Cell<Option<Result<(), Broken>>>,
}

/// The backend's answer ended before its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Broken(pub(crate) &'static str);

const LOST: Broken = Broken("its temporary file cannot be read");

impl Relayed {
    /// For the client of `account`.
    pub(crate) fn new(limits: Limits, account: &Account) -> Rc<Relayed> {
        Rc::new(Relayed { buffer: Buffer::new(limits, account), end: Cell::new(None) })
    }

    /// More has come from the backend.
    pub(crate) fn push(&self, bytes: Bytes) {
        self.buffer.push(bytes);
    }

    /// The same of bytes that are somebody else's.
    pub(crate) fn copy(&self, bytes: &[u8]) {
        self.buffer.copy(bytes);
    }

    /// The backend has ended its answer, well or not. The first end counts.
    pub(crate) fn end(&self, how: Result<(), Broken>) {
        self.end.set(self.end.get().or(Some(how)));
        self.buffer.end();
    }

    /// Whether more may come; waits while that is not known.
    pub(crate) async fn room(&self) -> Room {
        self.buffer.room().await
    }

    /// Waits until the client has taken so much that more may come; false if it takes no more.
    pub(crate) async fn has_room(&self) -> bool {
        self.buffer.until_room().await
    }

    /// Waits until the client is not served any more.
    pub(crate) async fn client_left(&self) {
        self.buffer.until_left().await;
    }

    /// Fills `out` with what has come from `offset` on; what is before it is let go. `None`: nothing
    /// has come yet, it is not in memory, or nothing more comes.
    pub(crate) fn read(&self, offset: u64, out: &mut [u8]) -> Option<usize> {
        let count = self.buffer.read(offset, out);
        (count > 0).then_some(count)
    }

    /// Bytes of the body so far, and whether these are all.
    pub(crate) fn extent(&self) -> (u64, bool) {
        (self.buffer.came(), self.end.get() == Some(Ok(())))
    }

    /// Waits until there is something from `offset` on, or nothing more comes.
    pub(crate) async fn more(&self, offset: u64) -> Result<(), Broken> {
        match self.buffer.more(offset).await {
            Next::Bytes(_) => Ok(()),
            Next::End => self.end.get().unwrap_or(Ok(())),
            Next::Lost => Err(LOST),
        }
    }
}

/// The backend's side of an answer: when it is dropped, nothing more comes.
#[derive(Debug)]
pub(crate) struct Writer(pub(crate) Rc<Relayed>);

impl Deref for Writer {
    type Target = Rc<Relayed>;

    fn deref(&self) -> &Rc<Relayed> {
        &self.0
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        // An end that was told stays.
        self.0.end(Err(Broken("it was given up")));
    }
}

/// The client's side of an answer: when it is dropped, the backend's side hears that nobody takes
/// the rest.
#[derive(Debug)]
pub(crate) struct Reader(pub(crate) Rc<Relayed>);

impl Deref for Reader {
    type Target = Relayed;

    fn deref(&self) -> &Relayed {
        &self.0
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.0.buffer.leave();
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
        let relayed = Relayed::new(Limits { memory: 4, file: 0 }, &account);
        relayed.push(Bytes::from_static(b"12345"));
        assert_eq!(relayed.room().await, Room::Full);
        relayed.end(Err(Broken("reset")));
        relayed.end(Ok(()));
        assert_eq!(relayed.more(0).await, Ok(()));
        assert_eq!(relayed.extent(), (5, false));
        let mut out = [0; 9];
        assert_eq!((relayed.read(3, &mut out), &out[..2]), (Some(2), &b"45"[..]));
        assert_eq!(relayed.read(5, &mut out), None);
        assert_eq!(relayed.more(5).await, Err(Broken("reset")));
        drop(Reader(relayed.clone()));
        assert!(!relayed.has_room().await);
        assert_eq!(space.memory_used(), 0);
    }
}

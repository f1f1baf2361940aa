//! A body on its way between client and backend: it waits in memory first, then in a temporary file;
//! when both are full, whoever sends it waits. Bodies of requests and of answers ([`super::RelayedBody`]) go
//! through it. Both ends are tasks of one worker, and [`mover`] moves bytes to the file and back.

mod mover;
mod pieces;
mod spool;

use std::cell::RefCell;
use std::future::poll_fn;
use std::io;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;

use self::pieces::{JOIN_BELOW, Pieces};
use self::spool::Spool;
use super::space::{Account, Charge, Kind};

/// The most bytes that are written to the file, or read from it, at a time.
const BATCH: u64 = 256 * 1024;

/// How many bytes of one body may be buffered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// In memory, besides a batch on its way to the file and one that gathers for it.
    pub(crate) memory: u64,
    /// In a file; 0: no file.
    pub(crate) file: u64,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Buffer {
    state: RefCell<State>,
    limits: Limits,
    account: Account,
}

/// The order of the bytes is `front`, `spool`, `writing`, `back`.
#[derive(Debug)]
struct State {
    /// In memory, to be read next.
    front: Pieces,
    /// In the file.
    spool: Spool,
    /// A batch that is being written to the file.
    writing: Option<Pieces>,
    /// In memory, waiting for the file.
    back: Pieces,
    /// Bytes that are being read from the file.
    reading: u64,
    /// The memory that all this takes.
    charge: Charge,
    /// Bytes that arrived, and bytes that were read.
    arrived: u64,
    consumed: u64,
    /// The body has ended: no more bytes follow.
    ended: bool,
    /// Nobody reads any more.
    abandoned: bool,
    /// Why the file cannot be read: what was in it is lost, and nothing that follows is of use.
    lost: Option<io::Error>,
    /// The file takes no more bytes until all of it was read.
    file_full: bool,
    /// The task of [`mover`] runs.
    is_moving: bool,
    /// Who waits: for bytes, for room, for something to move.
    reader: Option<Waker>,
    writer: Option<Waker>,
    mover: Option<Waker>,
}

/// Whether there is room for more bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Room {
    Yes,
    /// Not until some are read.
    Full,
    /// Nobody reads them.
    Gone,
}

/// What the reader gets next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    Bytes(Bytes),
    /// The body has ended.
    End,
    /// The file cannot be read.
    Lost,
}

impl Buffer {
    pub(crate) fn new(limits: Limits, account: &Account) -> Rc<Buffer> {
        let file = account.temporary().map_or(0, |_| limits.file);
        let limits = Limits { memory: limits.memory.max(1), file };
        let state = State {
            front: Pieces::default(),
            spool: Spool::new(account),
            writing: None,
            back: Pieces::default(),
            reading: 0,
            charge: account.charge(Kind::Memory, 0),
            arrived: 0,
            consumed: 0,
            ended: false,
            abandoned: false,
            lost: None,
            file_full: false,
            is_moving: false,
            reader: None,
            writer: None,
            mover: None,
        };
        Rc::new(Buffer { state: RefCell::new(state), limits, account: account.clone() })
    }

    /// Adds bytes, whether or not there is room.
    pub(crate) fn push(self: &Rc<Self>, bytes: Bytes) {
        self.put(bytes.len(), |pieces| pieces.push(bytes));
    }

    /// Adds a copy of `bytes`, whether or not there is room.
    pub(crate) fn copy(self: &Rc<Self>, bytes: &[u8]) {
        self.put(bytes.len(), |pieces| pieces.copy(bytes));
    }

    fn put(self: &Rc<Self>, count: usize, put: impl FnOnce(&mut Pieces)) {
        let mut state = self.state.borrow_mut();
        if state.abandoned || state.lost.is_some() || count == 0 {
            return;
        }
        state.arrived += count as u64;
        if state.has_backlog() || self.limits.file > 0 && !self.has_memory(state.front.allocated())
        {
            put(&mut state.back);
            if std::mem::replace(&mut state.is_moving, true) {
                wake(&mut state.mover);
            } else {
                mover::start(self, &self.account);
            }
        } else {
            put(&mut state.front);
            wake(&mut state.reader);
        }
        state.update_charge();
    }

    /// Ends the body.
    pub(crate) fn end(&self) {
        let mut state = self.state.borrow_mut();
        state.ended = true;
        wake(&mut state.reader);
    }

    /// Whether there is room; waits while that is not known, because bytes are on their way to the
    /// file.
    pub(crate) async fn room(&self) -> Room {
        poll_fn(|context| self.poll_room(context, true)).await
    }

    /// Waits until there is room; false if nobody reads any more.
    pub(crate) async fn wait_for_room(&self) -> bool {
        poll_fn(|context| self.poll_room(context, false)).await == Room::Yes
    }

    fn poll_room(&self, context: &mut Context<'_>, or_full: bool) -> Poll<Room> {
        let mut state = self.state.borrow_mut();
        match self.room_in(&state) {
            Some(room) if or_full || room != Room::Full => return Poll::Ready(room),
            Some(_) => {}
            // Other bodies may have freed space since the mover looked.
            None => wake(&mut state.mover),
        }
        state.writer = Some(context.waker().clone());
        Poll::Pending
    }

    fn room_in(&self, state: &State) -> Option<Room> {
        if state.abandoned {
            return Some(Room::Gone);
        }
        if !state.has_backlog() && self.has_memory(state.front.allocated()) {
            return Some(Room::Yes);
        }
        let writing = state.writing.as_ref().map_or(0, Pieces::len);
        if !self.may_write(state, writing + state.back.len()) {
            return Some(Room::Full);
        }
        let gathers = state.back.allocated() < self.batch() && self.account.has_room(Kind::Memory);
        (state.back.is_empty() || gathers).then_some(Room::Yes)
    }

    /// Whether a body that takes `allocated` bytes of memory may take more. One piece is always allowed,
    /// or nothing would ever move.
    fn has_memory(&self, allocated: u64) -> bool {
        allocated == 0 || allocated < self.limits.memory && self.account.has_room(Kind::Memory)
    }

    /// Whether the file has room behind `before` bytes that are to be written first.
    fn may_write(&self, state: &State, before: u64) -> bool {
        !state.file_full
            && state.spool.size() + before < self.limits.file
            && self.account.has_room(Kind::Files)
            && self.account.temporary().is_some_and(|files| {
                // An existing file need not be made.
                files.are_usable(state.spool.is_empty())
            })
    }

    /// Bytes to write or read at a time.
    fn batch(&self) -> u64 {
        self.limits.memory.clamp(JOIN_BELOW as u64, BATCH)
    }

    /// Waits until nobody reads any more.
    pub(crate) async fn wait_until_abandoned(&self) {
        poll_fn(|context| {
            let mut state = self.state.borrow_mut();
            if state.abandoned {
                return Poll::Ready(());
            }
            state.writer = Some(context.waker().clone());
            Poll::Pending
        })
        .await;
    }

    /// Whether everything that arrived was read, and more is to follow.
    pub(crate) fn is_starved(&self) -> bool {
        let state = self.state.borrow();
        let is_over = state.ended || state.abandoned || state.lost.is_some();
        state.front.is_empty() && !state.has_backlog() && !is_over
    }

    /// Whether the whole body was read.
    pub(crate) fn is_done(&self) -> bool {
        let state = self.state.borrow();
        state.abandoned || state.ended && state.consumed == state.arrived
    }

    /// Whether the file cannot be read.
    pub(crate) fn is_lost(&self) -> bool {
        self.state.borrow().lost.is_some()
    }

    /// Why the file cannot be read, if so.
    pub(crate) fn loss(&self) -> Option<String> {
        self.state.borrow().lost.as_ref().map(ToString::to_string)
    }

    /// Bytes that have arrived so far.
    pub(crate) fn arrived(&self) -> u64 {
        self.state.borrow().arrived
    }

    /// Takes the next bytes, at most `most`.
    pub(crate) fn poll_take(&self, context: &mut Context<'_>, most: usize) -> Poll<Next> {
        let mut state = self.state.borrow_mut();
        let bytes = state.front.pop(most);
        if bytes.is_empty() {
            return state.poll_behind_front(context);
        }
        self.consume(&mut state, bytes.len() as u64);
        Poll::Ready(Next::Bytes(bytes))
    }

    /// Fills `out` with the bytes in memory from `offset` on, and returns how many; drops those
    /// before `offset`.
    pub(crate) fn read(&self, offset: u64, out: &mut [u8]) -> usize {
        let mut state = self.state.borrow_mut();
        self.drop_before(&mut state, offset);
        state.front.peek(out)
    }

    /// Waits until bytes can be read from `offset` on, or no more follow; drops those before `offset`.
    pub(crate) fn poll_more(&self, context: &mut Context<'_>, offset: u64) -> Poll<Next> {
        let mut state = self.state.borrow_mut();
        self.drop_before(&mut state, offset);
        match state.front.is_empty() {
            true => state.poll_behind_front(context),
            false => Poll::Ready(Next::Bytes(Bytes::new())),
        }
    }

    fn drop_before(&self, state: &mut State, offset: u64) {
        let count = offset.saturating_sub(state.consumed).min(state.front.len());
        if count > 0 {
            state.front.advance(count);
            self.consume(state, count);
        }
    }

    /// `count` bytes were read from the front.
    fn consume(&self, state: &mut State, count: u64) {
        state.consumed += count;
        self.bypass_empty_file(state);
        state.update_charge();
        wake(&mut state.writer);
        wake(&mut state.mover);
    }

    /// Once there is room in memory, bytes that wait for an empty file need not be written.
    fn bypass_empty_file(&self, state: &mut State) {
        let reaches = state.spool.is_empty() && state.writing.is_none();
        if reaches && !state.back.is_empty() && self.has_memory(state.front.allocated()) {
            state.front.append(&mut state.back);
            state.file_full = false;
            wake(&mut state.reader);
        }
    }

    /// Nobody reads the rest.
    pub(crate) fn abandon(&self) {
        let mut state = self.state.borrow_mut();
        state.abandoned = true;
        state.drop_bytes();
        wake(&mut state.writer);
    }
}

impl State {
    /// Whether there are bytes behind the front.
    fn has_backlog(&self) -> bool {
        !self.spool.is_empty() || self.writing.is_some() || !self.back.is_empty()
    }

    /// What the reader gets when the front is empty.
    fn poll_behind_front(&mut self, context: &mut Context<'_>) -> Poll<Next> {
        if self.lost.is_some() {
            return Poll::Ready(Next::Lost);
        }
        if self.ended && !self.has_backlog() {
            return Poll::Ready(Next::End);
        }
        self.reader = Some(context.waker().clone());
        Poll::Pending
    }

    /// Updates the charge for memory.
    fn update_charge(&mut self) {
        let writing = self.writing.as_ref().map_or(0, Pieces::allocated);
        self.charge.set(self.front.allocated() + writing + self.back.allocated() + self.reading);
    }

    fn drop_bytes(&mut self) {
        (self.front, self.back, self.writing) = Default::default();
        self.reading = 0;
        self.spool.clear();
        self.update_charge();
        wake(&mut self.mover);
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        wake(&mut self.state.get_mut().mover);
    }
}

fn wake(waker: &mut Option<Waker>) {
    if let Some(waker) = waker.take() {
        waker.wake();
    }
}

#[cfg(test)]
mod tests;

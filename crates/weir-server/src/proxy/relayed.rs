//! The body of a backend's answer between the backend, which fills it, and the client, which empties
//! it at its own pace and the uplink's. It does not know either's connection.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Poll, Waker};

use bytes::Bytes;

use super::memory::Memory;

/// Bytes of an answer that its client has not taken. They are as they go over the connection, so
/// already in chunks if the client is to get chunks.
#[derive(Debug)]
pub(crate) struct Relayed {
    state: RefCell<State>,
    memory: Arc<Memory>,
    /// Bytes that may wait here.
    room: u64,
}

#[derive(Debug, Default)]
struct State {
    pieces: VecDeque<Bytes>,
    /// Where in the body the first piece begins.
    start: u64,
    kept: u64,
    end: Option<Result<(), Broken>>,
    /// The client is not served any more.
    left: bool,
    client: Option<Waker>,
    backend: Option<Waker>,
}

/// The backend's answer ended before its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Broken(pub(crate) &'static str);

impl Relayed {
    /// At most about `room` bytes wait, less if all memory is taken.
    pub(super) fn new(room: u64, memory: Arc<Memory>) -> Rc<Relayed> {
        Rc::new(Relayed { state: RefCell::default(), memory, room: room.max(1) })
    }

    /// More has come from the backend.
    pub(super) fn push(&self, bytes: Bytes) {
        let mut state = self.state.borrow_mut();
        if bytes.is_empty() || state.left {
            return;
        }
        let count = bytes.len() as u64;
        state.kept += count;
        self.memory.take(count);
        state.pieces.push_back(bytes);
        wake(&mut state.client);
    }

    /// The backend has ended its answer, well or not.
    pub(super) fn end(&self, how: Result<(), Broken>) {
        let mut state = self.state.borrow_mut();
        state.end.get_or_insert(how);
        wake(&mut state.client);
    }

    /// Whether more may come now.
    pub(super) fn has_room_now(&self) -> bool {
        self.may_take(&self.state.borrow())
    }

    fn may_take(&self, state: &State) -> bool {
        self.memory.has_room(state.kept, self.room)
    }

    /// Waits until the client has taken so much that more may come; false if it takes no more.
    pub(super) async fn has_room(&self) -> bool {
        poll_fn(|context| {
            let mut state = self.state.borrow_mut();
            if state.left {
                return Poll::Ready(false);
            }
            if self.may_take(&state) {
                return Poll::Ready(true);
            }
            state.backend = Some(context.waker().clone());
            Poll::Pending
        })
        .await
    }

    /// Waits until the client is not served any more.
    pub(super) async fn client_left(&self) {
        poll_fn(|context| {
            let mut state = self.state.borrow_mut();
            if state.left {
                return Poll::Ready(());
            }
            state.backend = Some(context.waker().clone());
            Poll::Pending
        })
        .await;
    }

    /// Fills `out` with what has come from `offset` on; what is before it is let go. `None`: nothing
    /// has come yet, or nothing more comes.
    pub(crate) fn read(&self, offset: u64, out: &mut [u8]) -> Option<usize> {
        let mut state = self.state.borrow_mut();
        self.let_go(&mut state, offset);
        let mut skip = usize::try_from(offset - state.start).ok()?;
        let mut filled = 0;
        for piece in &state.pieces {
            let piece = piece.get(skip..).unwrap_or_default();
            skip = 0;
            let count = piece.len().min(out.len() - filled);
            out[filled..filled + count].copy_from_slice(&piece[..count]);
            filled += count;
            if filled == out.len() {
                break;
            }
        }
        (filled > 0).then_some(filled)
    }

    /// Forgets whole pieces before `offset`.
    fn let_go(&self, state: &mut State, offset: u64) {
        let mut gone = 0;
        while let Some(first) = state.pieces.front()
            && state.start + first.len() as u64 <= offset
        {
            gone += first.len() as u64;
            state.start += first.len() as u64;
            state.pieces.pop_front();
        }
        if gone > 0 {
            state.kept -= gone;
            self.memory.give_back(gone);
            wake(&mut state.backend);
        }
    }

    /// Bytes of the body so far, and whether these are all.
    pub(crate) fn extent(&self) -> (u64, bool) {
        let state = self.state.borrow();
        (state.start + state.kept, state.end == Some(Ok(())))
    }

    /// Waits until there is something from `offset` on, or nothing more comes.
    pub(crate) async fn more(&self, offset: u64) -> Result<(), Broken> {
        poll_fn(|context| {
            let mut state = self.state.borrow_mut();
            if state.start + state.kept > offset {
                return Poll::Ready(Ok(()));
            }
            if let Some(end) = state.end {
                return Poll::Ready(end);
            }
            state.client = Some(context.waker().clone());
            Poll::Pending
        })
        .await
    }

    /// Nobody takes the rest.
    pub(crate) fn leave(&self) {
        let mut state = self.state.borrow_mut();
        state.left = true;
        self.memory.give_back(state.kept);
        state.start += state.kept;
        state.kept = 0;
        state.pieces.clear();
        wake(&mut state.backend);
    }
}

fn wake(waker: &mut Option<Waker>) {
    if let Some(waker) = waker.take() {
        waker.wake();
    }
}

impl Drop for Relayed {
    fn drop(&mut self) {
        let kept = self.state.get_mut().kept;
        self.memory.give_back(kept);
    }
}

/// The client's side of an answer: when it is dropped, the backend's side hears that nobody takes
/// the rest.
#[derive(Debug)]
pub(crate) struct Reader(pub(super) Rc<Relayed>);

impl std::ops::Deref for Reader {
    type Target = Relayed;

    fn deref(&self) -> &Relayed {
        &self.0
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.0.leave();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::future::Future;
    use std::pin::pin;
    use std::task::Context;

    fn ready<F: Future>(future: F) -> Option<F::Output> {
        let mut context = Context::from_waker(Waker::noop());
        match pin!(future).poll(&mut context) {
            Poll::Ready(output) => Some(output),
            Poll::Pending => None,
        }
    }

    proptest! {
        #[test]
        fn what_goes_in_comes_out(
            pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..50), 0..40),
            takes in prop::collection::vec(1usize..70, 200),
        ) {
            let memory = Memory::new(1000);
            let relayed = Relayed::new(100, memory.clone());
            let whole: Vec<u8> = pieces.concat();
            let mut coming = pieces.into_iter();
            let mut out = Vec::new();
            let mut takes = takes.into_iter().cycle();
            loop {
                while ready(relayed.has_room()).is_some() {
                    match coming.next() {
                        Some(piece) => relayed.push(piece.into()),
                        None => {
                            relayed.end(Ok(()));
                            break;
                        }
                    }
                }
                prop_assert!(memory.used() <= 150);
                let mut space = vec![0; takes.next().unwrap_or(1)];
                match relayed.read(out.len() as u64, &mut space) {
                    Some(count) => out.extend_from_slice(&space[..count]),
                    None if relayed.extent() == (out.len() as u64, true) => break,
                    // What was read lately has made room only now.
                    None => prop_assert!(ready(relayed.has_room()).is_some()),
                }
            }
            prop_assert_eq!(out, whole);
            drop(relayed);
            prop_assert_eq!(memory.used(), 0);
        }
    }

    #[test]
    fn a_broken_answer_is_no_end_and_who_left_frees_its_memory() {
        let memory = Memory::new(1000);
        let relayed = Relayed::new(4, memory.clone());
        relayed.push(Bytes::from_static(b"12345"));
        assert!(ready(relayed.has_room()).is_none());
        relayed.end(Err(Broken("reset")));
        assert_eq!(ready(relayed.more(0)), Some(Ok(())));
        assert_eq!(relayed.extent(), (5, false));
        assert_eq!(ready(relayed.more(5)), Some(Err(Broken("reset"))));
        drop(Reader(relayed.clone()));
        assert_eq!(ready(relayed.has_room()), Some(false));
        assert_eq!(memory.used(), 0);
    }
}

//! The task that moves the bytes of one body between memory and its temporary file. Started by
//! [`super`] when memory has no room; it runs as long as bytes are in the file or wait for it.

use std::future::poll_fn;
use std::io;
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;

use super::pieces::JOIN_BELOW;
use super::{Buffer, State, wake};
use crate::body::space::{Account, Kind};
use crate::body::temporary::TemporaryFile;

/// What to do next.
#[derive(Debug)]
enum Move {
    Write { file: Option<Arc<TemporaryFile>>, at: u64, pieces: Vec<Bytes> },
    Read { file: Arc<TemporaryFile>, at: u64, count: u64 },
}

/// Begins to move the bytes behind the front of `buffer`.
pub(super) fn start(buffer: &Rc<Buffer>, account: &Account) {
    tokio::task::spawn_local(run(Rc::downgrade(buffer), account.clone()));
}

async fn run(buffer: Weak<Buffer>, account: Account) {
    let Some(files) = account.temporary() else { return };
    // A weak reference: dropping the buffer wakes this task, which then ends.
    let next = || {
        poll_fn(|context| match buffer.upgrade() {
            Some(buffer) => buffer.poll_move(context),
            None => Poll::Ready(None),
        })
    };
    while let Some(step) = next().await {
        match step {
            Move::Write { file, at, pieces } => {
                let written = files.write(file, at, pieces).await.ok();
                buffer.upgrade().inspect(|buffer| buffer.was_written(written));
            }
            Move::Read { file, at, count } => {
                let count = usize::try_from(count).unwrap_or(usize::MAX);
                let bytes = files.read(file, at, count).await;
                buffer.upgrade().inspect(|buffer| buffer.was_read(bytes));
            }
        }
    }
}

impl Buffer {
    /// The next move; `None` once there are no bytes behind the front.
    fn poll_move(&self, context: &mut Context<'_>) -> Poll<Option<Move>> {
        let mut state = self.state.borrow_mut();
        self.bypass_empty_file(&mut state);
        if state.abandoned || state.lost.is_some() || !state.has_backlog() {
            state.is_moving = false;
            wake(&mut state.writer);
            return Poll::Ready(None);
        }
        let (file, at) = state.spool.end();
        let start = state.spool.start();
        if state.front.is_empty() && start.is_some() {
            return Poll::Ready(self.begin_read(&mut state));
        }
        if !state.back.is_empty() && self.may_write(&state, 0) {
            let batch = state.back.split(self.batch());
            state.spool.reserve(batch.len());
            let pieces = batch.shared();
            state.writing = Some(batch);
            wake(&mut state.writer);
            return Poll::Ready(Some(Move::Write { file, at, pieces }));
        }
        if start.is_some() && self.has_memory(state.front.allocated()) {
            return Poll::Ready(self.begin_read(&mut state));
        }
        state.mover = Some(context.waker().clone());
        wake(&mut state.writer);
        Poll::Pending
    }

    fn begin_read(&self, state: &mut State) -> Option<Move> {
        let (file, at) = state.spool.start()?;
        let wanted = match self.account.has_room(Kind::Memory) {
            true => self.limits.memory.saturating_sub(state.front.allocated()).min(self.batch()),
            false => 0,
        };
        let count = wanted.max(JOIN_BELOW as u64).min(state.spool.len());
        state.reading = count;
        state.update_charge();
        Some(Move::Read { file, at, count })
    }

    /// A batch was written to `file`; `None`: it could not be.
    fn was_written(&self, file: Option<Arc<TemporaryFile>>) {
        let mut state = self.state.borrow_mut();
        let Some(mut batch) = state.writing.take() else { return };
        state.file_full |= file.is_none();
        if file.is_none() {
            batch.append(&mut state.back);
            state.back = batch;
            state.spool.wrote(0, None);
        } else {
            state.spool.wrote(batch.len(), file);
        }
        self.bypass_empty_file(&mut state);
        state.update_charge();
        wake(&mut state.writer);
    }

    /// Bytes were read from the file, or could not be.
    fn was_read(&self, bytes: io::Result<Bytes>) {
        let mut state = self.state.borrow_mut();
        state.reading = 0;
        match bytes {
            _ if state.abandoned => {}
            Ok(bytes) => {
                state.spool.was_read(bytes.len() as u64);
                state.front.push(bytes);
                state.file_full &= !state.spool.is_empty();
                self.bypass_empty_file(&mut state);
                state.update_charge();
            }
            Err(error) => {
                state.lost = Some(error);
                state.drop_bytes();
            }
        }
        wake(&mut state.reader);
        wake(&mut state.writer);
    }
}

//! What threads leave for one reader: events for the gate's owner, grants for the connections of a
//! worker. Read a batch at a time, with one wake-up.

use std::sync::{Mutex, PoisonError};

use tokio::sync::Notify;

/// Items that threads leave for one reader.
#[derive(Debug)]
pub(super) struct Mailbox<T> {
    items: Mutex<Vec<T>>,
    pub(super) filled: Notify,
}

impl<T> Default for Mailbox<T> {
    fn default() -> Self {
        Mailbox { items: Mutex::default(), filled: Notify::new() }
    }
}

impl<T> Mailbox<T> {
    pub(super) fn post(&self, item: T) {
        let mut items = self.items.lock().unwrap_or_else(PoisonError::into_inner);
        items.push(item);
        // Only the first wakes the reader; it takes all.
        if items.len() == 1 {
            self.filled.notify_one();
        }
    }

    /// Swaps what was posted for the empty `into`.
    pub(super) fn take(&self, into: &mut Vec<T>) {
        let mut items = self.items.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::swap(&mut *items, into);
    }
}

//! Memory for bodies on their way between clients and backends, over all workers. It does not hold
//! them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// See the module.
#[derive(Debug)]
pub(crate) struct Memory {
    used: AtomicU64,
    most: u64,
}

impl Memory {
    /// Of `most` bytes, or a little more: a piece that has come is kept.
    pub(crate) fn new(most: u64) -> Arc<Memory> {
        Arc::new(Memory { used: AtomicU64::new(0), most })
    }

    /// Whether a body of which `kept` bytes wait, of `room` that may, can have more. One piece may
    /// always wait, or nothing would ever go on.
    pub(super) fn has_room(&self, kept: u64, room: u64) -> bool {
        kept == 0 || kept < room && self.used() < self.most
    }

    pub(super) fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    pub(super) fn take(&self, bytes: u64) {
        self.used.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(super) fn give_back(&self, bytes: u64) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
    }
}

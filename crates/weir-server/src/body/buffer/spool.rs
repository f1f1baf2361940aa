//! The part of a body that is in a temporary file: how much was written, and how much was read again.
//! Used by [`super`].

use std::sync::Arc;

use crate::body::space::{Account, Charge, Kind};
use crate::body::temporary::TemporaryFile;

/// See the module.
#[derive(Debug)]
pub(super) struct Spool {
    file: Option<Arc<TemporaryFile>>,
    written: u64,
    read: u64,
    charge: Charge,
}

impl Spool {
    pub(super) fn new(account: &Account) -> Spool {
        Spool { file: None, written: 0, read: 0, charge: account.charge(Kind::Files, 0) }
    }

    /// Whether everything was read again.
    pub(super) fn is_empty(&self) -> bool {
        self.read == self.written
    }

    /// Bytes that were not read again yet.
    pub(super) fn len(&self) -> u64 {
        self.written - self.read
    }

    /// The file, and where in it to write next.
    pub(super) fn end(&self) -> (Option<Arc<TemporaryFile>>, u64) {
        (self.file.clone(), self.written)
    }

    /// The file, and where in it to read next; `None`: there is no file.
    pub(super) fn start(&self) -> Option<(Arc<TemporaryFile>, u64)> {
        self.file.clone().map(|file| (file, self.read))
    }

    /// The size of the file. Bytes that were read again count until all were: punching holes would not
    /// work on every file system.
    pub(super) fn size(&self) -> u64 {
        self.written
    }

    /// `count` more bytes are about to be written.
    pub(super) fn reserve(&mut self, count: u64) {
        self.charge.set(self.written + count);
    }

    /// `count` bytes were written to `file`; `None`: they were not.
    pub(super) fn wrote(&mut self, count: u64, file: Option<Arc<TemporaryFile>>) {
        if let Some(file) = file {
            self.file = Some(file);
            self.written += count;
        }
        self.charge.set(self.written);
    }

    /// The next `count` bytes were read. When all were, the file is dropped.
    pub(super) fn was_read(&mut self, count: u64) {
        self.read += count;
        if self.is_empty() {
            self.clear();
        }
    }

    /// Drops the file.
    pub(super) fn clear(&mut self) {
        (self.file, self.written, self.read) = (None, 0, 0);
        self.charge.set(0);
    }
}

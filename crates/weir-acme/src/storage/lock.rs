//! Locks between processes, which end with the process that holds them. Used by the storage.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

/// A lock that is held. Clones share it; dropping the last gives it back.
#[derive(Clone, Debug)]
pub(crate) struct Lock {
    // The kernel gives the lock back when the file is closed, so the process may die at any time. The
    // file stays: if it were removed, two could hold locks of the same name.
    _file: Arc<File>,
}

impl Lock {
    /// Takes the lock of the file `path`, which is made if it is not there; `None`: somebody else has it.
    pub(crate) fn take(path: &Path) -> io::Result<Option<Lock>> {
        let file =
            OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(path)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(Lock { _file: Arc::new(file) })),
            Err(Errno::WOULDBLOCK) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

//! Work that files have for the disk: what tells pieces of it apart, and what comes of each. The site and
//! its files give it to helpers through [`FileDisks`].

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::io::Errno;

use super::open::{Identity, Opened};
use super::root::Directory;
use crate::disk::{self, DiskId, Disks};

/// The disks as files use them.
pub(crate) type FileDisks = Disks<Key, DiskResult>;

/// A piece of work for the disk.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Key {
    /// Opening a name below a directory: its device and inode, and the name.
    Name(u64, u64, Arc<[u8]>),
    /// Finding out what a name stands for, likewise.
    Identity(u64, u64, Arc<[u8]>),
    /// Reading a file from an offset on: device, inode, offset.
    Part(u64, u64, u64),
    /// Looking where the site of this path is.
    Root(Arc<Path>),
    /// Going on with the list of a directory, for one response: a number of its own.
    List(u64),
}

impl Key {
    /// The key of one step of one list.
    pub(super) fn of_list() -> Key {
        static STEPS: AtomicU64 = AtomicU64::new(0);
        Key::List(STEPS.fetch_add(1, Ordering::Relaxed))
    }
}

impl disk::Key for Key {
    fn bytes(&self) -> usize {
        match self {
            Key::Name(_, _, name) | Key::Identity(_, _, name) => name.len(),
            // The path of a root is there once.
            Key::Part(..) | Key::Root(_) | Key::List(_) => 0,
        }
    }
}

/// What came of it.
#[derive(Clone, Debug)]
pub(crate) enum DiskResult {
    Opened(Result<Arc<Opened>, Errno>),
    /// With the disk that it is on.
    Identified(Result<(Identity, DiskId), Errno>),
    Part(Result<Arc<[u8]>, Errno>),
    Root(Result<Arc<Directory>, Errno>),
    /// The next bytes of a list, and whether these are the last.
    Listed(Result<(Arc<[u8]>, bool), Errno>),
}

impl DiskResult {
    /// The disk that a name was found on.
    pub(super) fn disk(&self) -> Option<DiskId> {
        match self {
            DiskResult::Opened(opened) => opened.as_ref().ok().map(|opened| opened.disk),
            DiskResult::Identified(found) => found.as_ref().ok().map(|(_, disk)| *disk),
            DiskResult::Part(_) | DiskResult::Root(_) | DiskResult::Listed(_) => None,
        }
    }
}

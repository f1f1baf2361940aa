//! Work that files have for the disk: what tells pieces of it apart, and what comes of each. The site and
//! its files give it to helpers through [`FileDisks`].

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::FileType;
use rustix::io::Errno;

use super::mounts::Mounts;
use super::open::{Identity, Opened};
use super::root::Directory;
use crate::disk::{self, DiskId, Disks};

/// The disks as files use them.
pub(crate) type FileDisks = Disks<Key, DiskResult>;

/// A piece of work for the disk.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Key {
    /// Opening a name below a directory: its device and inode, the place as a gate knows it, and the name.
    /// What hangs at a place is nothing to wait for at another.
    Name([u64; 3], Arc<[u8]>),
    /// Finding out what a name stands for, likewise.
    Identity([u64; 3], Arc<[u8]>),
    /// Reading a file from an offset on, as it was when it was opened: one who opened it after it changed
    /// wants other bytes, and maybe more.
    Part(Identity, u64),
    /// Looking whether a file that was read is as it was, for one who has read it: a number of its own, since
    /// a look that began before says nothing to another.
    Comparison(u64),
    /// Looking where the site of this path is, with this mounted there and above ([`Mounts::above`]).
    Root(Arc<Path>, u64),
    /// Looking what is mounted at this path and where it leads, after so many changes of the mount table.
    Mounts(Arc<Path>, Arc<[u8]>, u64),
    /// Going on with the list of a directory, for one response: a number of its own.
    List(u64),
}

impl Key {
    /// The key of one step of one list.
    pub(super) fn of_list() -> Key {
        Key::List(own_number())
    }

    /// The key of one comparison.
    pub(super) fn of_comparison() -> Key {
        Key::Comparison(own_number())
    }
}

/// A number that no other piece of work has.
fn own_number() -> u64 {
    static ISSUED: AtomicU64 = AtomicU64::new(0);
    ISSUED.fetch_add(1, Ordering::Relaxed)
}

impl disk::Key for Key {
    fn bytes(&self) -> usize {
        match self {
            Key::Name(_, name) | Key::Identity(_, name) => name.len(),
            // The paths of a root are there once.
            Key::Root(..) | Key::Mounts(..) => 0,
            Key::Part(..) | Key::Comparison(_) | Key::List(_) => 0,
        }
    }
}

/// What came of it.
#[derive(Clone, Debug)]
pub(crate) enum DiskResult {
    Opened(Result<Arc<Opened>, Errno>),
    /// What a name or an open file is, with the disk that it is on.
    Identified(Result<(Identity, DiskId), Errno>),
    Part(Result<Arc<[u8]>, Errno>),
    Root(Result<Arc<Directory>, Errno>),
    Mounts(Result<Arc<Mounts>, Errno>),
    /// The next bytes of a list, and whether these are the last.
    Listed(Result<(Arc<[u8]>, bool), Errno>),
}

impl DiskResult {
    /// The disk that a name was found on.
    pub(super) fn disk(&self) -> Option<DiskId> {
        match self {
            DiskResult::Opened(opened) => opened.as_ref().ok().map(|opened| opened.disk),
            DiskResult::Identified(found) => found.as_ref().ok().map(|(_, disk)| *disk),
            DiskResult::Part(_) | DiskResult::Root(_) => None,
            DiskResult::Mounts(_) | DiskResult::Listed(_) => None,
        }
    }

    /// Whether a name was found to be that of a directory.
    pub(super) fn is_directory(&self) -> bool {
        match self {
            DiskResult::Opened(Ok(opened)) => opened.kind == FileType::Directory,
            DiskResult::Identified(Ok((identity, _))) => identity.kind() == FileType::Directory,
            _ => false,
        }
    }
}

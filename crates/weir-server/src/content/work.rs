//! Work that files have for the disk: what tells pieces of it apart, and what comes of each. The site and
//! its files give it to helpers through [`FileDisks`].

use std::sync::Arc;

use rustix::io::Errno;

use super::open::Opened;
use super::root::Directory;
use crate::disk::{self, Disks};

/// The disks as files use them.
pub(crate) type FileDisks = Disks<Key, DiskResult>;

/// A piece of work for the disk.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Key {
    /// Opening a name below a directory: its device and inode, and the name.
    Name(u64, u64, Arc<[u8]>),
    /// Reading a file from an offset on: device, inode, offset.
    Part(u64, u64, u64),
    /// Looking where the site is.
    Root,
}

impl disk::Key for Key {
    fn bytes(&self) -> usize {
        match self {
            Key::Name(_, _, name) => name.len(),
            Key::Part(..) | Key::Root => 0,
        }
    }
}

/// What came of it.
#[derive(Clone, Debug)]
pub(crate) enum DiskResult {
    Opened(Result<Arc<Opened>, Errno>),
    Part(Result<Arc<[u8]>, Errno>),
    Root(Result<Arc<Directory>, Errno>),
}

//! Opening a name below a directory, never outside it: by a worker as far as memory tells, or by a
//! helper. It keeps nothing.

use std::ffi::CStr;
use std::io::IoSliceMut;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::fs::{FileType, Mode, OFlags, ResolveFlags, Stat, fstat, openat2};
use rustix::io::{Errno, preadv};
use weir_http::Status;

use super::mount::{self, Access};
use super::root::Directory;
use crate::clock;

/// What is read of a file at once, and the step in which it is known what is in memory.
pub(crate) const CHUNK: u64 = 128 * 1024;

/// How often a name is looked up anew when it was renamed meanwhile (RESOLVE_BENEATH, openat2(2)).
const RENAMED: usize = 8;

/// A file or directory that was opened.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(super) fd: Arc<OwnedFd>,
    pub(super) identity: Identity,
    pub(super) kind: FileType,
    /// `None`: not asked yet, and the file system is local.
    pub(super) access: Option<Access>,
    /// The content of a small file that a helper opened.
    pub(super) first: Option<Arc<[u8]>>,
}

/// What changes when a file changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(super) device: u64,
    pub(super) inode: u64,
    pub(super) length: u64,
    /// Modified and changed: seconds and nanoseconds.
    pub(super) modified: (i64, u32),
    changed: (i64, u32),
    mode: u32,
}

impl Opened {
    /// Whether the file is what it was when it was opened, and a change would show.
    pub(super) fn is_steady(&self) -> bool {
        !self.identity.is_recent(clock::unix_seconds())
            && Identity::now(&self.fd).is_ok_and(|now| now == self.identity)
    }
}

impl Identity {
    fn of(stat: &Stat) -> Identity {
        Identity {
            device: stat.st_dev,
            inode: stat.st_ino,
            length: u64::try_from(stat.st_size).unwrap_or(0),
            modified: (stat.st_mtime, stat.st_mtime_nsec as u32),
            changed: (stat.st_ctime, stat.st_ctime_nsec as u32),
            mode: stat.st_mode,
        }
    }

    /// What the file is now.
    pub(super) fn now(file: &OwnedFd) -> Result<Identity, Errno> {
        Ok(Identity::of(&fstat(file)?))
    }

    /// A change so soon after `unix_seconds` may have left no other time in the file.
    fn is_recent(&self, unix_seconds: i64) -> bool {
        unix_seconds - self.modified.0.max(self.changed.0) < 2
    }
}

/// Opens what memory knows. `AGAIN`: it does not know; `XDEV`: the name leads to another mount or
/// outside. In both cases [`from_disk`] tells.
pub(super) fn from_memory(directory: &Directory, name: &CStr) -> Result<Opened, Errno> {
    if !directory.local {
        return Err(Errno::AGAIN);
    }
    // Another mount could be a remote one, where opening waits.
    let how = ResolveFlags::CACHED | ResolveFlags::NO_XDEV;
    let (fd, stat) = open(directory, name, reading(), how)?;
    Ok(opened(fd, &stat))
}

/// What the name stands for, as far as memory knows, without opening it.
pub(super) fn identify(directory: &Directory, name: &CStr) -> Result<Identity, Errno> {
    if !directory.local {
        return Err(Errno::AGAIN);
    }
    let how = ResolveFlags::CACHED | ResolveFlags::NO_XDEV;
    let (_, stat) = open(directory, name, OFlags::PATH | OFlags::CLOEXEC, how)?;
    Ok(Identity::of(&stat))
}

/// Opens a name and reads a small file, however long it takes.
pub(super) fn from_disk(directory: &Directory, name: &CStr) -> Result<Opened, Errno> {
    let mut found = Err(Errno::AGAIN);
    for _ in 0..RENAMED {
        found = open(directory, name, reading(), ResolveFlags::empty());
        if !matches!(found, Err(Errno::AGAIN)) {
            break;
        }
    }
    let (fd, stat) = found?;
    let mut opened = opened(fd, &stat);
    if opened.kind == FileType::RegularFile {
        opened.access = Some(mount::access(&opened.fd)?);
        // What is longer may be wanted in part, or not at all.
        if opened.identity.length <= CHUNK {
            opened.first = Some(read(&opened.fd, 0, opened.identity.length as usize)?);
        }
    }
    Ok(opened)
}

// NONBLOCK: a FIFO must not wait for its writer.
fn reading() -> OFlags {
    OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY
}

fn open(
    directory: &Directory,
    name: &CStr,
    flags: OFlags,
    how: ResolveFlags,
) -> Result<(OwnedFd, Stat), Errno> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | how;
    let file = openat2(&directory.fd, name, flags, Mode::empty(), resolve)?;
    let stat = fstat(&file)?;
    Ok((file, stat))
}

fn opened(fd: OwnedFd, stat: &Stat) -> Opened {
    Opened {
        fd: Arc::new(fd),
        identity: Identity::of(stat),
        kind: FileType::from_raw_mode(stat.st_mode),
        access: None,
        first: None,
    }
}

/// Reads up to `count` bytes however long it takes; fewer only at the end.
pub(super) fn read(file: &OwnedFd, offset: u64, count: usize) -> Result<Arc<[u8]>, Errno> {
    let mut out = vec![0; count];
    let done =
        fill(&mut out, |buffer, done| preadv(file, &mut [IoSliceMut::new(buffer)], offset + done))?;
    out.truncate(done);
    Ok(out.into())
}

/// Reads until the buffer is full or the file ends; tells how much there was.
pub(super) fn fill(
    buffer: &mut [u8],
    mut read: impl FnMut(&mut [u8], u64) -> Result<usize, Errno>,
) -> Result<usize, Errno> {
    let mut done = 0;
    while done < buffer.len() {
        match read(&mut buffer[done..], done as u64) {
            Ok(0) => break,
            Ok(count) => done += count,
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(done)
}

/// The answer when a file could not be opened or read.
pub(super) fn status(error: Errno) -> Status {
    match error {
        Errno::NOENT | Errno::NOTDIR | Errno::NAMETOOLONG => Status::NotFound,
        // XDEV: a symbolic link that leads outside.
        Errno::ACCESS | Errno::PERM | Errno::LOOP | Errno::XDEV | Errno::NXIO => Status::Forbidden,
        Errno::MFILE | Errno::NFILE | Errno::NOMEM | Errno::AGAIN => Status::ServiceUnavailable,
        other => {
            tracing::error!("cannot open or read a file: {other}");
            Status::InternalServerError
        }
    }
}

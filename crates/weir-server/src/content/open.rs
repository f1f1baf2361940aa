//! Opening a name below a directory, never outside it: by a worker as far as memory tells, or by a
//! helper. It keeps nothing.

use std::ffi::CStr;
use std::io::IoSliceMut;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, OnceLock};
use std::thread;

use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, Stat, fstat, openat2};
use rustix::io::{Errno, preadv};
use weir_http::Status;
use weir_sched::Time;

use super::mount::{self, Access};
use super::root::Directory;
use crate::clock;
use crate::limits;
use crate::turn;

/// What is read of a file at once, and the step in which it is known what is in memory.
pub(crate) const CHUNK: u64 = 128 * 1024;

/// How often a name is looked up anew when it was renamed meanwhile (RESOLVE_BENEATH, openat2(2)).
const RENAMED: usize = 8;

/// A file or directory that was opened.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(super) fd: Arc<Descriptor>,
    /// When, or a little before.
    pub(super) at: Time,
    pub(super) identity: Identity,
    pub(super) kind: FileType,
    /// `None`: not asked yet, and the file system is local.
    pub(super) access: Option<Access>,
    /// The content of a small file that a helper opened.
    pub(super) first: Option<Arc<[u8]>>,
    /// Whether it was still the same after that, if a helper opened it.
    steady: Option<bool>,
}

/// A descriptor. If somebody else answers for the file, closing it may wait for that as well, and is
/// done on a thread of its own.
#[derive(Debug)]
pub(crate) struct Descriptor {
    fd: Option<OwnedFd>,
    remote: bool,
}

impl AsFd for Descriptor {
    fn as_fd(&self) -> BorrowedFd<'_> {
        // There is one until it is dropped.
        self.fd.as_ref().map_or(CWD, OwnedFd::as_fd)
    }
}

impl Drop for Descriptor {
    fn drop(&mut self) {
        static CLOSING: OnceLock<Sender<OwnedFd>> = OnceLock::new();
        let Some(fd) = self.fd.take().filter(|_| self.remote) else { return };
        let closing = CLOSING.get_or_init(|| {
            let (sender, waiting) = channel::<OwnedFd>();
            let close = move || waiting.into_iter().for_each(drop);
            if let Err(error) = thread::Builder::new().name("weir-close".to_owned()).spawn(close) {
                tracing::warn!("no thread to close files: {error}");
            }
            sender
        });
        // Without that thread it is closed here.
        let _ = closing.send(fd);
    }
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
        let is_same = || Identity::now(&self.fd).is_ok_and(|now| now == self.identity);
        !self.identity.is_recent(clock::unix_seconds()) && self.steady.unwrap_or_else(is_same)
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
    pub(super) fn now(file: impl AsFd) -> Result<Identity, Errno> {
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
    let at = turn::began();
    let (fd, stat) = open(directory, name, reading(), how)?;
    Ok(opened(fd, false, &stat, at))
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
    let at = clock::now();
    let mut found = Err(Errno::AGAIN);
    for _ in 0..RENAMED {
        found = open(directory, name, reading(), ResolveFlags::empty());
        if !matches!(found, Err(Errno::AGAIN)) {
            break;
        }
    }
    let (fd, stat) = found?;
    let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
    let access = if is_file { Some(mount::access(&fd)?) } else { None };
    let mut opened = opened(fd, access == Some(Access::Remote), &stat, at);
    opened.access = access;
    if is_file {
        // What is longer may be wanted in part, or not at all.
        if opened.identity.length <= CHUNK {
            opened.first = Some(read(&opened.fd, 0, opened.identity.length as usize)?);
        }
        opened.steady = Some(Identity::now(&opened.fd)? == opened.identity);
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
    if limits::is_last(&file) {
        return Err(Errno::MFILE);
    }
    let stat = fstat(&file)?;
    Ok((file, stat))
}

fn opened(fd: OwnedFd, remote: bool, stat: &Stat, at: Time) -> Opened {
    Opened {
        fd: Arc::new(Descriptor { fd: Some(fd), remote }),
        at,
        identity: Identity::of(stat),
        kind: FileType::from_raw_mode(stat.st_mode),
        access: None,
        first: None,
        steady: None,
    }
}

/// Reads up to `count` bytes however long it takes; fewer only at the end.
pub(super) fn read(file: &Descriptor, offset: u64, count: usize) -> Result<Arc<[u8]>, Errno> {
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
        Errno::MFILE | Errno::NFILE => {
            limits::note_shortage();
            Status::ServiceUnavailable
        }
        Errno::NOMEM | Errno::AGAIN => Status::ServiceUnavailable,
        other => {
            tracing::error!("cannot open or read a file: {other}");
            Status::InternalServerError
        }
    }
}

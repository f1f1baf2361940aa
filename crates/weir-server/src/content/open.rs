//! Opens a name below a directory and never outside it: by a worker, as far as memory tells, or by a
//! helper. Used by the site.

use std::ffi::{CStr, CString};
use std::io::IoSliceMut;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use http::StatusCode;
use rustix::fs::{FileType, OFlags, ResolveFlags, Stat, fstat};
use rustix::io::{Errno, preadv};
use weir_sched::Time;

use super::below;
use super::descriptor::{Closing, Descriptor};
use super::mount::{self, Access};
use super::root::Directory;
use crate::disk::DiskId;
use crate::runtime::turn;
use crate::sys::clock;
use crate::sys::descriptors;

/// Bytes that are read of a file at a time, and the unit in which it is known what is in memory.
pub(crate) const CHUNK: u64 = 128 * 1024;

/// From this length on (bytes), files are sent straight from the page cache: copying costs more.
pub(crate) const DIRECT_FROM: u64 = 32 * 1024;

/// How often a name is looked up anew: one with a `..`, its own or a symbolic link's, because whatever is
/// renamed or mounted at the same time, anywhere, makes the kernel say AGAIN (RESOLVE_BENEATH,
/// openat2(2)); without /proc any, because it may come to stand for something else before it is opened.
const RENAMED: usize = 8;

/// A file or directory that was opened.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(super) fd: Arc<Descriptor>,
    /// When it was opened, or a little before.
    pub(super) at: Time,
    pub(super) identity: Identity,
    pub(super) kind: FileType,
    /// The disk that it is on.
    pub(super) disk: DiskId,
    /// `None`: not asked yet, and the file system is local.
    pub(super) access: Option<Access>,
    /// The content of a small file that a helper opened.
    pub(super) first: Option<Arc<[u8]>>,
    /// Whether it was still the same after it was read, if a helper did that.
    steady: Option<bool>,
}

/// The metadata that changes when a file changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Identity {
    pub(super) device: u64,
    pub(super) inode: u64,
    pub(super) length: u64,
    /// Time of modification, in seconds since 1970 and nanoseconds: its owner may set it.
    pub(super) modified: (i64, u32),
    /// Time of change, likewise: only the kernel sets it.
    pub(super) changed: (i64, u32),
    pub(super) mode: u32,
}

impl Opened {
    /// Whether the file has not changed since it was opened, and its next change would show in its times.
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

    /// Whether it is that of a file, of a directory or of something else.
    pub(super) fn kind(&self) -> FileType {
        FileType::from_raw_mode(self.mode)
    }

    /// What the file is now.
    pub(super) fn now(file: impl AsFd) -> Result<Identity, Errno> {
        Ok(Identity::of(&fstat(file)?))
    }

    /// Whether it changed so shortly before `unix_seconds` that its next change might leave the same
    /// times.
    fn is_recent(&self, unix_seconds: i64) -> bool {
        // Not every file system has a time of change. A time of modification may lie ahead for ever.
        let since = unix_seconds - self.modified.0;
        unix_seconds - self.changed.0 < 2 || (0..2).contains(&since)
    }
}

/// Opens a name without waiting for a disk.
///
/// # Errors
///
/// `AGAIN`: it is not in memory, leads to another mount, or outside by a `..`. A mount or unmount anywhere
/// at the same time, or a rename on this path (with `..`: any rename), makes the kernel say so of a cached
/// name as well. `XDEV`: it leads outside by an absolute symbolic link. In both cases [`from_disk`] finds
/// out.
pub(super) fn from_memory(directory: &Directory, name: &CStr) -> Result<Opened, Errno> {
    if !directory.local {
        return Err(Errno::AGAIN);
    }
    let at = turn::began();
    let (fd, stat) = below::open(directory, name, IN_MEMORY)?;
    // Of the mount of the directory, therefore.
    Ok(opened(fd, false, &stat, at, directory.disk))
}

/// What the name stands for, without opening it or, unless it `may_wait`, waiting for a disk; errors as of
/// [`from_memory`].
pub(super) fn identify(
    directory: &Directory,
    name: &CStr,
    may_wait: bool,
) -> Result<Identity, Errno> {
    if !directory.local && !may_wait {
        return Err(Errno::AGAIN);
    }
    let how = if may_wait { ResolveFlags::empty() } else { IN_MEMORY };
    let (_, stat) = below::look(directory, name, how)?;
    Ok(Identity::of(&stat))
}

/// What the name stands for and the disk that it is on, without opening it, however long it takes. For
/// helpers.
pub(super) fn identify_on_disk(
    directory: &Directory,
    name: &[u8],
) -> Result<(Identity, DiskId), Errno> {
    let name = CString::new(name).map_err(|_| Errno::INVAL)?;
    let identity = unless_renamed(|| identify(directory, &name, true))?;
    Ok((identity, DiskId::below(identity.device)))
}

/// Opens a name, however long it takes, and with `reads` reads a file of up to a chunk. For helpers.
pub(super) fn from_disk(directory: &Directory, name: &[u8], reads: bool) -> Result<Opened, Errno> {
    let name = CString::new(name).map_err(|_| Errno::INVAL)?;
    let at = clock::now();
    let (fd, stat) = unless_renamed(|| below::open(directory, &name, ResolveFlags::empty()))?;
    let is_file = below::is_file(&stat);
    let access = if is_file { Some(mount::access(&fd)?) } else { None };
    let disk = DiskId::below(stat.st_dev);
    let mut opened = opened(fd, access == Some(Access::Remote), &stat, at, disk);
    opened.access = access;
    if is_file {
        // What is longer may be wanted in part, or not at all.
        if reads && opened.identity.length <= CHUNK {
            opened.first = Some(read(&opened.fd, 0, opened.identity.length as usize)?);
        }
        opened.steady = Some(Identity::now(&opened.fd)? == opened.identity);
    }
    Ok(opened)
}

/// Opens a directory so that the names in it can be read, however long it takes; `name` is empty for
/// `directory` itself. For helpers.
pub(super) fn to_list(directory: &Directory, name: &[u8]) -> Result<OwnedFd, Errno> {
    let name = if name.is_empty() { b"." } else { name };
    let name = CString::new(name).map_err(|_| Errno::INVAL)?;
    let flags = below::reading() | OFlags::DIRECTORY;
    unless_renamed(|| below::descriptor(directory, &name, flags, ResolveFlags::empty()))
}

/// Looks again while something is renamed at the same time.
fn unless_renamed<T>(mut look: impl FnMut() -> Result<T, Errno>) -> Result<T, Errno> {
    let mut found = look();
    for _ in 1..RENAMED {
        if !matches!(found, Err(Errno::AGAIN)) {
            break;
        }
        found = look();
    }
    found
}

/// Another mount could be a remote one, where opening waits.
const IN_MEMORY: ResolveFlags = ResolveFlags::CACHED.union(ResolveFlags::NO_XDEV);

fn opened(fd: OwnedFd, remote: bool, stat: &Stat, at: Time, disk: DiskId) -> Opened {
    let identity = Identity::of(stat);
    let closing = match remote {
        true => Closing::MayHang,
        // It is open while it is sent, and may be kept open longer; a shorter one is read at once.
        false if below::is_file(stat) && identity.length > DIRECT_FROM => Closing::MayFree,
        false => Closing::AtOnce,
    };
    Opened {
        fd: Arc::new(Descriptor::new(fd, identity.device, closing)),
        at,
        identity,
        kind: FileType::from_raw_mode(stat.st_mode),
        disk,
        access: None,
        first: None,
        steady: None,
    }
}

/// Reads `count` bytes, however long it takes; fewer only at the end of the file.
pub(super) fn read(file: &Descriptor, offset: u64, count: usize) -> Result<Arc<[u8]>, Errno> {
    let mut out = vec![0; count];
    let done =
        fill(&mut out, |buffer, done| preadv(file, &mut [IoSliceMut::new(buffer)], offset + done))?;
    out.truncate(done);
    Ok(out.into())
}

/// Calls `read` until the buffer is full or the file ends; returns how many bytes there were.
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

/// The status of the answer when a file could not be opened or read.
pub(super) fn status(error: Errno) -> StatusCode {
    match error {
        Errno::NOENT | Errno::NOTDIR | Errno::NAMETOOLONG => StatusCode::NOT_FOUND,
        // XDEV: a symbolic link that leads outside.
        Errno::ACCESS | Errno::PERM | Errno::LOOP | Errno::XDEV | Errno::NXIO => {
            StatusCode::FORBIDDEN
        }
        Errno::MFILE | Errno::NFILE => {
            descriptors::note_shortage();
            StatusCode::SERVICE_UNAVAILABLE
        }
        Errno::NOMEM | Errno::AGAIN => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, FileTimes};
    use std::time::{Duration, SystemTime};

    use super::*;

    #[test]
    fn closing_a_deleted_file_takes_long_unless_it_is_small() {
        for (length, takes_long) in [(DIRECT_FROM, false), (DIRECT_FROM + 1, true)] {
            let directory = tempfile::tempdir().unwrap();
            let name = directory.path().join("file");
            fs::write(&name, vec![1; length as usize]).unwrap();
            let held = Directory::open(directory.path()).unwrap();
            let opened = from_disk(&held, b"file", false).unwrap();
            assert!(!opened.fd.takes_long(), "{length}");
            fs::remove_file(&name).unwrap();
            assert_eq!(opened.fd.takes_long(), takes_long, "{length}");
        }
    }

    #[test]
    fn reading_leaves_the_time_of_the_last_access() {
        let directory = tempfile::tempdir().unwrap();
        let name = directory.path().join("file");
        fs::write(&name, "content").unwrap();
        // Older than the last change: otherwise most file systems would leave it, too.
        let long_ago = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
        fs::File::open(&name).unwrap().set_times(FileTimes::new().set_accessed(long_ago)).unwrap();
        let held = Directory::open(directory.path()).unwrap();
        let opened = from_disk(&held, b"file", true).unwrap();
        assert_eq!(opened.first.as_deref(), Some(&b"content"[..]));
        assert_eq!(fs::metadata(&name).unwrap().accessed().unwrap(), long_ago);
    }

    #[test]
    fn a_change_is_recent_for_two_seconds() {
        let recent = |modified, changed, now| {
            let (modified, changed) = ((modified, 0), (changed, 0));
            Identity { device: 1, inode: 1, length: 1, modified, changed, mode: 0 }.is_recent(now)
        };
        assert!(recent(100, 100, 101) && !recent(100, 100, 102));
        // A build's fixed time, and one that lies ahead: the kernel's own tells.
        for modified in [5, 1000] {
            assert!(recent(modified, 100, 101) && !recent(modified, 100, 102));
        }
        // A file system without a time of change; a clock that was set back.
        assert!(recent(100, 0, 101) && !recent(100, 0, 102) && recent(100, 1000, 500));
    }
}

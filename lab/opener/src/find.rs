//! What a name below a root stands for: as far as memory tells, which never waits, or however long it
//! takes. Whatever is neither a file nor a directory is looked at and never opened: opening a FIFO lets
//! its writer go on, opening a device may move it. Used by the opener and its helpers.

use std::num::NonZeroU64;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{
    Advice, AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags, Statx, StatxFlags, fadvise, open,
    openat2, statx,
};
use rustix::io::{Errno, pread};
use rustix::path::DecInt;
use weir_server::{FileAccess, file_access};

use crate::closing::{Descriptor, Device, MOST_UNCLOSED, unclosed_on, wait_for_one};
use crate::roots::Below;

/// How often a name with a `..`, its own or a symbolic link's, is looked up anew: whatever is renamed or
/// mounted at the same time, anywhere, makes the kernel say AGAIN (RESOLVE_BENEATH, openat2(2)).
const RENAMED: usize = 8;

/// How often a name is looked up in memory: a mount or unmount anywhere at the same time, or a rename on
/// this path (with `..`: any rename), makes the kernel say that a cached name is not in memory. A helper
/// would look it up behind a disk that may hang.
const MISTAKEN: usize = 3;

/// How often a helper waits for descriptors to be closed.
const SHORT: usize = 8;

/// Bytes that are read at a time to warm a file.
const PIECE: usize = 64 * 1024;

/// Metadata as they are known here. Otherwise another machine or process that has the file (NFS, FUSE) is
/// asked, and may not answer.
const KNOWN: AtFlags = AtFlags::STATX_DONT_SYNC;

/// What tells files apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Identity {
    device: Device,
    inode: u64,
}

/// A name as it was looked at.
#[derive(Debug)]
pub(crate) enum Looked {
    File(Identity),
    /// A descriptor that names it.
    Directory(OwnedFd),
    Other,
}

/// A file that is open.
#[derive(Clone, Debug)]
pub(crate) struct OpenFile {
    pub(crate) fd: Arc<Descriptor>,
    pub(crate) identity: Identity,
    pub(crate) access: FileAccess,
}

/// A name that a helper has opened.
#[derive(Clone, Debug)]
pub(crate) enum Opened {
    File(OpenFile),
    Directory(Arc<OwnedFd>),
    Other,
}

/// What a name stands for, without waiting for a disk.
///
/// # Errors
///
/// `AGAIN`: it is not in memory, or leads outside the root by a `..`. All others are certain; `XDEV`: it
/// leads outside by an absolute symbolic link.
pub(crate) fn in_memory(below: Below<'_>) -> Result<Looked, Errno> {
    let mut looked = Err(Errno::AGAIN);
    for _ in 0..MISTAKEN {
        looked = look(below, ResolveFlags::CACHED, KNOWN);
        if !matches!(looked, Err(Errno::AGAIN)) {
            break;
        }
    }
    let (fd, found) = looked?;
    Ok(match file_type(&found) {
        FileType::RegularFile => Looked::File(Identity::of(&found)),
        FileType::Directory => Looked::Directory(fd),
        _ => Looked::Other,
    })
}

/// Opens a name and warms up to `window` bytes of a file, however long it takes.
///
/// # Errors
///
/// As openat2(2) and read(2) have them; `XDEV`: it leads outside the root; `BUSY`: too many files of its
/// file system wait for their close.
pub(crate) fn from_disk(below: Below<'_>, window: u64) -> Result<Opened, Errno> {
    again_when_closed(|| open_from_disk(below, window), wait_for_one)
}

/// Opens, and again where descriptors are short or many are unclosed, as long as `wait` says that one was
/// closed.
fn again_when_closed<T>(
    open: impl Fn() -> Result<T, Errno>,
    wait: impl Fn() -> bool,
) -> Result<T, Errno> {
    for _ in 0..SHORT {
        match open() {
            Err(Errno::MFILE | Errno::NFILE | Errno::BUSY) if wait() => {}
            done => return done,
        }
    }
    open()
}

fn open_from_disk(below: Below<'_>, window: u64) -> Result<Opened, Errno> {
    let mut found = Err(Errno::AGAIN);
    for _ in 0..RENAMED {
        found = look(below, ResolveFlags::empty(), AtFlags::empty());
        if !matches!(found, Err(Errno::AGAIN)) {
            break;
        }
    }
    let (named, found) = found?;
    match file_type(&found) {
        FileType::RegularFile => {}
        FileType::Directory => return Ok(Opened::Directory(Arc::new(named))),
        _ => return Ok(Opened::Other),
    }
    let identity = Identity::of(&found);
    // What is opened has to be closed again.
    if unclosed_on(identity.device) >= MOST_UNCLOSED {
        return Err(Errno::BUSY);
    }
    let fd = read_only(&named)?;
    let access = file_access(&fd)?;
    let fd = Arc::new(Descriptor::new(fd, identity.device));
    let file = OpenFile { fd, identity, access };
    warm(&file, window)?;
    Ok(Opened::File(file))
}

/// Brings the first bytes of a file into memory: one request to the disk for all, then a wait for them.
///
/// # Errors
///
/// As read(2) has them.
pub(crate) fn warm(file: &OpenFile, window: u64) -> Result<(), Errno> {
    let bytes = length(file).min(window);
    if bytes == 0 {
        // To the kernel no length stands for all that there is.
        return Ok(());
    }
    // What cannot be asked for ahead is read all the same.
    let _ = fadvise(&file.fd, 0, NonZeroU64::new(bytes), Advice::WillNeed);
    let mut piece = [0; PIECE];
    let mut done = 0;
    while done < bytes {
        let most = PIECE.min((bytes - done) as usize);
        match pread(&file.fd, &mut piece[..most], done) {
            // It was truncated.
            Ok(0) => break,
            Ok(count) => done += count as u64,
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Its length, as far as this machine knows: another may have the file.
pub(crate) fn length(file: &OpenFile) -> u64 {
    metadata(&file.fd, KNOWN).map_or(0, |found| found.stx_size)
}

impl Identity {
    fn of(found: &Statx) -> Identity {
        Identity { device: (found.stx_dev_major, found.stx_dev_minor), inode: found.stx_ino }
    }
}

/// What a name stands for, without opening it.
fn look(below: Below<'_>, how: ResolveFlags, sync: AtFlags) -> Result<(OwnedFd, Statx), Errno> {
    let directory = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root = openat2(CWD, below.root, directory, Mode::empty(), how)?;
    let inside = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | how;
    let fd = openat2(&root, below.name, OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), inside)?;
    let found = metadata(&fd, sync)?;
    Ok((fd, found))
}

/// Type, identity and length.
fn metadata(fd: impl AsFd, sync: AtFlags) -> Result<Statx, Errno> {
    statx(fd, c"", AtFlags::EMPTY_PATH | sync, StatxFlags::BASIC_STATS)
}

fn file_type(found: &Statx) -> FileType {
    FileType::from_raw_mode(found.stx_mode.into())
}

/// Opens the very file that a descriptor names, whatever its name stands for by now.
fn read_only(named: impl AsFd) -> Result<OwnedFd, Errno> {
    let number = DecInt::from_fd(named);
    let path = Path::new("/proc/self/fd").join(number);
    // NONBLOCK: nothing waits for a lease on the file.
    let reading = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    // Otherwise a look at what is in memory sets the time of access, which may wait for the journal.
    match open(&path, reading | OFlags::NOATIME, Mode::empty()) {
        // Its owner and root may.
        Err(Errno::PERM) => open(&path, reading, Mode::empty()),
        opened => opened,
    }
}

#[cfg(test)]
mod tests;

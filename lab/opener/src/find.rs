//! What a name below a root stands for: as far as memory tells, which never waits, or however long it
//! takes. Whatever is neither a file nor a directory is looked at and never opened: opening a FIFO lets
//! its writer go on, opening a device may move it. Used by the opener and its helpers.

use std::num::NonZeroU64;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{
    Advice, CWD, FileType, Mode, OFlags, ResolveFlags, Stat, fadvise, fstat, open, openat2,
};
use rustix::io::{Errno, pread};
use rustix::path::DecInt;
use weir_server::{FileAccess, file_access};

use crate::roots::Below;

/// How often a name is looked up anew when something was renamed meanwhile (RESOLVE_BENEATH, openat2(2)).
const RENAMED: usize = 8;

/// Bytes that are read at a time to warm a file.
const PIECE: usize = 64 * 1024;

/// What tells files apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Identity {
    device: u64,
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
    pub(crate) fd: Arc<OwnedFd>,
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
/// `AGAIN`: it is not in memory. All others are certain; `XDEV`: it leads outside the root.
pub(crate) fn in_memory(below: Below<'_>) -> Result<Looked, Errno> {
    let (fd, stat) = look(below, ResolveFlags::CACHED)?;
    Ok(match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Looked::File(Identity::of(&stat)),
        FileType::Directory => Looked::Directory(fd),
        _ => Looked::Other,
    })
}

/// Opens a name and warms up to `window` bytes of a file, however long it takes.
///
/// # Errors
///
/// As openat2(2) and read(2) have them; `XDEV`: it leads outside the root.
pub(crate) fn from_disk(below: Below<'_>, window: u64) -> Result<Opened, Errno> {
    let mut found = Err(Errno::AGAIN);
    for _ in 0..RENAMED {
        found = look(below, ResolveFlags::empty());
        if !matches!(found, Err(Errno::AGAIN)) {
            break;
        }
    }
    let (named, stat) = found?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => {}
        FileType::Directory => return Ok(Opened::Directory(Arc::new(named))),
        _ => return Ok(Opened::Other),
    }
    let fd = read_only(&named)?;
    let access = file_access(&fd)?;
    let file = OpenFile { fd: Arc::new(fd), identity: Identity::of(&stat), access };
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

/// Its length as it is.
pub(crate) fn length(file: &OpenFile) -> u64 {
    // An open file's metadata are in memory.
    fstat(&file.fd).map_or(0, |stat| u64::try_from(stat.st_size).unwrap_or(0))
}

impl Identity {
    fn of(stat: &Stat) -> Identity {
        Identity { device: stat.st_dev, inode: stat.st_ino }
    }
}

/// What a name stands for, without opening it.
fn look(below: Below<'_>, how: ResolveFlags) -> Result<(OwnedFd, Stat), Errno> {
    let directory = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root = openat2(CWD, below.root, directory, Mode::empty(), how)?;
    let inside = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | how;
    let fd = openat2(&root, below.name, OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), inside)?;
    let stat = fstat(&fd)?;
    Ok((fd, stat))
}

/// Opens the very file that a descriptor names, whatever its name stands for by now.
fn read_only(named: impl AsFd) -> Result<OwnedFd, Errno> {
    let number = DecInt::from_fd(named);
    let path = Path::new("/proc/self/fd").join(number);
    // NONBLOCK: nothing waits for a lease on the file.
    let reading = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    open(path, reading, Mode::empty())
}

#[cfg(test)]
mod tests;

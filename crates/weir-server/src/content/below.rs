//! The system calls that open a name below a directory and never outside it. Whatever is neither a file
//! nor a directory is looked at and never opened: opening a FIFO lets its writer go on, opening a device may
//! move it. Used by whatever opens files.

use std::ffi::CStr;
use std::os::fd::OwnedFd;
use std::sync::OnceLock;

use rustix::fs::{FileType, Mode, OFlags, ResolveFlags, Stat, fstat, openat, openat2};
use rustix::io::Errno;
use rustix::path::DecInt;
use rustix::process::geteuid;
use rustix::thread::{CapabilitySet, capabilities};

use super::root::Directory;
use crate::sys::descriptors;

/// Opens a file to be read; of anything else, a descriptor that only names it (`O_PATH`).
///
/// # Errors
///
/// Those of openat2(2). `AGAIN` also if /proc is not mounted and the name came to stand for something else.
pub(super) fn open(
    directory: &Directory,
    name: &CStr,
    how: ResolveFlags,
) -> Result<(OwnedFd, Stat), Errno> {
    let (found, stat) = look(directory, name, how)?;
    if !is_file(&stat) {
        return Ok((found, stat));
    }
    match descriptors() {
        Some(descriptors) => {
            let number = DecInt::from_fd(&found);
            let file = to_read(&stat, |flags| {
                openat(descriptors, number.as_c_str(), flags, Mode::empty())
            })?;
            drop(found);
            Ok((spared(file)?, stat))
        }
        // By its name, which may stand for something else by now: then the caller tries again.
        None => {
            let file = to_read(&stat, |flags| descriptor(directory, name, flags, how))?;
            let now = fstat(&file)?;
            let is_same = (now.st_dev, now.st_ino) == (stat.st_dev, stat.st_ino);
            if is_same { Ok((file, stat)) } else { Err(Errno::AGAIN) }
        }
    }
}

/// Opens a file by `open` so that reading it leaves the time of its last access as it is: to set that, a worker
/// might wait for the file system's journal.
fn to_read(stat: &Stat, open: impl Fn(OFlags) -> Result<OwnedFd, Errno>) -> Result<OwnedFd, Errno> {
    if may_leave_access_time(stat.st_uid) {
        match open(reading() | OFlags::NOATIME) {
            // In a user namespace or on FUSE it may be refused all the same.
            Err(Errno::PERM) => {}
            opened => return opened,
        }
    }
    open(reading())
}

/// Whether this process may ask for that where this user owns the file: as its owner, or with CAP_FOWNER
/// (open(2)). It keeps its rights for as long as it lives.
fn may_leave_access_time(owner: u32) -> bool {
    static RIGHTS: OnceLock<(u32, bool)> = OnceLock::new();
    let rights = || {
        let effective = capabilities(None).map(|sets| sets.effective);
        let of_any = effective.is_ok_and(|held| held.contains(CapabilitySet::FOWNER));
        (geteuid().as_raw(), of_any)
    };
    let &(own, of_any) = RIGHTS.get_or_init(rights);
    of_any || owner == own
}

/// What a name stands for, without opening it.
pub(super) fn look(
    directory: &Directory,
    name: &CStr,
    how: ResolveFlags,
) -> Result<(OwnedFd, Stat), Errno> {
    let found = descriptor(directory, name, OFlags::PATH | OFlags::CLOEXEC, how)?;
    let stat = fstat(&found)?;
    Ok((found, stat))
}

/// Opens a name with these flags.
pub(super) fn descriptor(
    directory: &Directory,
    name: &CStr,
    flags: OFlags,
    how: ResolveFlags,
) -> Result<OwnedFd, Errno> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | how;
    let file = openat2(&directory.fd, name, flags, Mode::empty(), resolve)?;
    if descriptors::is_last(&file) {
        return Err(Errno::MFILE);
    }
    Ok(file)
}

/// /proc/self/fd, where the process's own descriptors can be reopened: that is the very file that was
/// looked at, whatever its name stands for by then. `None`: /proc is not mounted.
fn descriptors() -> Option<&'static OwnedFd> {
    static DESCRIPTORS: OnceLock<OwnedFd> = OnceLock::new();
    if let Some(descriptors) = DESCRIPTORS.get() {
        return Some(descriptors);
    }
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let opened = rustix::fs::open("/proc/self/fd", flags, Mode::empty()).ok()?;
    Some(DESCRIPTORS.get_or_init(|| opened))
}

/// Moves a descriptor out of the reserve if descriptors are short: to the number that was just closed.
fn spared(file: OwnedFd) -> Result<OwnedFd, Errno> {
    if descriptors::taken_of_reserve(&file) == 0 {
        return Ok(file);
    }
    let file = descriptors::out_of_reserve(file).unwrap_or_else(|same| same);
    if descriptors::is_last(&file) { Err(Errno::MFILE) } else { Ok(file) }
}

/// How what is to be read is opened.
// NONBLOCK: nothing waits for a lease on the file.
pub(super) fn reading() -> OFlags {
    OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY
}

/// Whether it is a file, and nothing else that has a name.
pub(super) fn is_file(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::chown;
    use std::thread;

    use rustix::thread::{CapabilitySets, set_capabilities};

    use super::*;

    #[test]
    fn a_file_is_opened_whose_time_of_access_may_not_be_left() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let is_root = geteuid().is_root();
        let path = if is_root { file.path() } else { "/etc/passwd".as_ref() };
        if is_root {
            chown(path, Some(1), None).unwrap();
        }
        let open = |flags| rustix::fs::open(path, flags, Mode::empty());
        let refused = || {
            // The rights are those of the thread; what the process may was found out before.
            assert_eq!(may_leave_access_time(1), is_root);
            let CapabilitySets { effective, permitted, inheritable } = capabilities(None).unwrap();
            let effective = effective - CapabilitySet::FOWNER;
            set_capabilities(None, CapabilitySets { effective, permitted, inheritable }).unwrap();
            assert_eq!(open(reading() | OFlags::NOATIME).unwrap_err(), Errno::PERM);
            let stat = rustix::fs::stat(path).unwrap();
            assert!(to_read(&stat, open).is_ok());
        };
        thread::scope(|scope| scope.spawn(refused).join()).unwrap();
    }
}

//! The directory that is served (`root`): held open, and looked for again where its path leads. Used by
//! the site, which looks names up below it.

use std::cell::{Cell, RefCell};
use std::ffi::{CString, OsStr};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rustix::fs::{
    AtFlags, CWD, Mode, OFlags, ResolveFlags, StatxFlags, fstat, makedev, open, openat2, statat,
    statx,
};
use rustix::io::Errno;
use weir_sched::Time;

use super::mount;
use super::mounts::{Mounts, path_of};
use crate::disk::DiskId;

/// How often it is checked where the path leads.
const LOOK: Duration = Duration::from_millis(900);

/// A directory that is held open.
#[derive(Debug)]
pub(crate) struct Directory {
    pub(super) fd: OwnedFd,
    pub(super) device: u64,
    pub(super) inode: u64,
    /// The disk that it is on.
    pub(super) disk: DiskId,
    /// Workers may open files below it: it is not of a remote file system.
    pub(super) local: bool,
    /// What was mounted there when it was opened.
    pub(super) mounts: Arc<Mounts>,
}

impl Directory {
    /// Opens it; this may wait for a disk.
    pub(super) fn open(path: &Path) -> Result<Directory, Errno> {
        let fd = open(path, flags(), Mode::empty())?;
        let stat = fstat(&fd)?;
        let local = mount::is_local(&fd)?;
        let disk = DiskId::below(stat.st_dev);
        // Without /proc there is nothing to tell mounts apart by.
        let mounts = Arc::new(Mounts::around(path, &path_of(&fd)).unwrap_or_default());
        Ok(Directory { fd, device: stat.st_dev, inode: stat.st_ino, disk, local, mounts })
    }

    /// One that was found on the device of this one, which is local. Does not wait.
    ///
    /// # Errors
    ///
    /// `AGAIN`: it is on another device, which may be that of a remote file system: only asking it tells.
    fn beside(&self, fd: OwnedFd) -> Result<Directory, Errno> {
        // DONT_SYNC: a remote file system goes by what is in memory.
        let how = AtFlags::EMPTY_PATH | AtFlags::STATX_DONT_SYNC;
        let found = statx(&fd, c"", how, StatxFlags::INO)?;
        let device = makedev(found.stx_dev_major, found.stx_dev_minor);
        if device != self.device {
            return Err(Errno::AGAIN);
        }
        let (inode, disk) = (found.stx_ino, DiskId::as_known(device));
        let mounts = self.mounts.clone();
        Ok(Directory { fd, device, inode, disk, local: self.local, mounts })
    }

    /// Whether this is the same directory as `other`, and that still exists: the numbers of removed
    /// directories are used again.
    fn is(&self, other: &Directory) -> bool {
        (self.device, self.inode) == (other.device, other.inode)
            // A remote file system may not answer.
            && (!other.local || fstat(&other.fd).is_ok_and(|stat| stat.st_nlink > 0))
    }
}

/// The path of a name below `root`, for the log: control characters are escaped.
pub(super) fn printable(root: &Path, name: &[u8]) -> String {
    let path = root.join(OsStr::from_bytes(name));
    path.to_string_lossy().escape_debug().to_string()
}

// PATH: the directory need not be readable.
fn flags() -> OFlags {
    OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC
}

/// What came of looking for the directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Look {
    /// It is the one that was held before.
    Same,
    /// Another one has taken its place.
    Changed,
    /// There is none.
    Vanished,
    /// Unknown without waiting: a helper has to look.
    Unknown,
}

/// The directory and where it should be.
#[derive(Debug)]
pub(crate) struct Root {
    pub(super) path: Arc<Path>,
    name: CString,
    directory: RefCell<Arc<Directory>>,
    looked: Cell<Time>,
    vanished: Cell<bool>,
}

impl Root {
    /// Opens it; this may wait for a disk.
    ///
    /// # Errors
    ///
    /// Those of opening it; also if no name in it could be looked up, since all would be refused.
    pub(crate) fn open(path: &Path) -> io::Result<Root> {
        let directory = Directory::open(path)?;
        if statat(&directory.fd, ".", AtFlags::empty()).is_err_and(|error| error == Errno::ACCESS) {
            let what = "permission denied: its user may not look up names in it (x is missing)";
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, what));
        }
        let directory = RefCell::new(Arc::new(directory));
        let name = CString::new(path.as_os_str().as_bytes())?;
        let (looked, vanished) = (Cell::new(Time::ZERO), Cell::new(false));
        Ok(Root { path: path.into(), name, directory, looked, vanished })
    }

    /// The path of a name below it, for the log.
    pub(super) fn printable(&self, name: &[u8]) -> String {
        printable(&self.path, name)
    }

    pub(super) fn directory(&self) -> Arc<Directory> {
        self.directory.borrow().clone()
    }

    /// Whether it is time to look again where the path leads.
    pub(super) fn is_stale(&self, now: Time) -> bool {
        self.vanished.get() || now.since(self.looked.get()) > LOOK
    }

    pub(super) fn has_vanished(&self) -> bool {
        self.vanished.get()
    }

    /// Looks where the path leads, as far as memory tells.
    pub(super) fn look(&self, now: Time) -> Look {
        self.looked.set(now);
        let held = self.directory();
        if !held.local {
            return Look::Unknown;
        }
        let found = openat2(CWD, &self.name, flags(), Mode::empty(), ResolveFlags::CACHED);
        match found.and_then(|fd| held.beside(fd)) {
            Err(Errno::AGAIN) => Look::Unknown,
            found => self.found(found.map(Arc::new)),
        }
    }

    /// Takes note of what was found where the path leads.
    pub(super) fn found(&self, found: Result<Arc<Directory>, Errno>) -> Look {
        let gone = [Errno::NOENT, Errno::NOTDIR, Errno::LOOP];
        if let Err(error) = &found
            && !gone.contains(error)
        {
            // A shortage of descriptors, for example, says nothing of the directory.
            return Look::Unknown;
        }
        let vanished = found.is_err();
        let look = match found {
            Ok(directory) if directory.is(&self.directory.borrow()) => {
                if directory.disk != self.directory.borrow().disk {
                    // Somebody has looked below its device.
                    *self.directory.borrow_mut() = directory;
                }
                Look::Same
            }
            Ok(directory) => {
                tracing::info!(
                    "root {} was replaced: serving the new directory",
                    self.path.display()
                );
                *self.directory.borrow_mut() = directory;
                Look::Changed
            }
            Err(error) => {
                if !self.vanished.get() {
                    tracing::warn!(
                        "root {} has disappeared: {error}; requests for files get 503",
                        self.path.display()
                    );
                }
                Look::Vanished
            }
        };
        if self.vanished.replace(vanished) && !vanished {
            tracing::info!("root {} is there again", self.path.display());
        }
        look
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_on_another_device_is_for_a_helper() {
        let at = tempfile::tempdir().unwrap();
        let held = Directory::open(at.path()).unwrap();
        let found = |path: &Path| held.beside(open(path, flags(), Mode::empty()).unwrap());
        let same = found(at.path()).unwrap();
        assert!(same.is(&held) && same.local);
        let above = found(at.path().parent().unwrap()).unwrap();
        assert!(!above.is(&held) && above.device == held.device);
        assert_eq!(found(Path::new("/proc")).unwrap_err(), Errno::AGAIN);
    }
}

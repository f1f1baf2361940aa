//! What a disk is called in the table of mounts, so that what the disks of dead processes have left
//! can be told from disks in use, and be removed in the order in which a disk is taken apart. Every
//! new disk begins with it.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::fs::FlockOperation;
use rustix::mount::UnmountFlags;

use crate::error::Error;
use crate::loopback;
use crate::mounts::{self, PATIENCE, while_free};

/// FUSE mounts are below it, for they are no place to work in.
const DIRECTORY: &str = "/run/slowdisk";

/// Marks FUSE mounts as ours.
const PREFIX: &str = "slowdisk:";

/// The name of a disk: its process, which a number alone would not name for ever,
/// and its number in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Name {
    process: u32,
    /// When the process started, in clock ticks since boot.
    started: u64,
    number: u32,
}

impl Name {
    /// A new name for a disk of this process.
    pub(crate) fn new() -> Result<Name, Error> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let process = std::process::id();
        let started = started(process)
            .ok_or_else(|| Error::new("cannot read /proc/self/stat: is /proc mounted?"))?;
        Ok(Name { process, started, number: NUMBER.fetch_add(1, Ordering::Relaxed) })
    }

    fn text(self) -> String {
        format!("{}-{}-{}", self.process, self.started, self.number)
    }

    fn parse(text: &str) -> Option<Name> {
        let mut parts = text.split('-');
        let name = Name {
            process: parts.next()?.parse().ok()?,
            started: parts.next()?.parse().ok()?,
            number: parts.next()?.parse().ok()?,
        };
        parts.next().is_none().then_some(name)
    }

    /// Where its FUSE file system is mounted.
    pub(crate) fn directory(self) -> PathBuf {
        Path::new(DIRECTORY).join(self.text())
    }

    /// The source of that mount.
    pub(crate) fn source(self) -> String {
        format!("{PREFIX}{}", self.text())
    }

    /// Whether nobody will answer for that disk any more.
    fn dead(self) -> bool {
        started(self.process) != Some(self.started) || dying(self.process)
    }
}

/// When the process started; none if it is gone, or only waits to be waited for.
fn started(process: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name before it may contain anything.
    let (_, fields) = stat.rsplit_once(") ")?;
    let mut fields = fields.split(' ');
    if matches!(fields.next()?, "Z" | "X") {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

/// Whether the process has been killed, but one of its threads waits for its own
/// disk, which the others, gone already, will never answer.
fn dying(process: u32) -> bool {
    const KILL: u64 = 1 << 8;
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let pending = status.lines().find_map(|line| line.strip_prefix("SigPnd:"));
    let pending = pending.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    pending.is_some_and(|mask| mask & KILL != 0)
}

/// Remove what disks of processes that are gone have left: mounts, loop devices and
/// directories. Disks of living processes are left alone. Returns what was removed.
///
/// # Errors
///
/// The table of mounts cannot be read; or something could not be removed, and the
/// error says what: the rest has been.
pub fn clean() -> Result<Vec<PathBuf>, Error> {
    let mut removed = Vec::new();
    let mut left = Vec::new();
    // Two that clean at the same time would trip over each other.
    let Ok(directory) = fs::File::open(DIRECTORY) else { return Ok(removed) };
    let _ = rustix::fs::flock(&directory, FlockOperation::LockExclusive);
    for mount in mounts::all()? {
        let source = mount.source.to_string_lossy();
        let name = source.strip_prefix(PREFIX).and_then(Name::parse);
        if mount.kind != "fuse" || !name.is_some_and(Name::dead) {
            continue;
        }
        if take_apart(&mount.at, &mut removed)? {
            removed.push(mount.at);
        } else {
            left.push(mount.at.display().to_string());
        }
    }
    // Directories of disks that did not get as far as a mount.
    for entry in fs::read_dir(DIRECTORY).into_iter().flatten().flatten() {
        let name = entry.file_name().to_str().and_then(Name::parse);
        if name.is_some_and(Name::dead) && fs::remove_dir(entry.path()).is_ok() {
            removed.push(entry.path());
        }
    }
    if left.is_empty() {
        return Ok(removed);
    }
    let left = left.join(", ");
    Err(Error::new(format!(
        "not all is removed of {left}: end what still uses the file system there, then clean again"
    )))
}

/// Take apart the disk whose FUSE mount is at `at`; false if something is left.
fn take_apart(at: &Path, removed: &mut Vec<PathBuf>) -> Result<bool, Error> {
    // This alone never unmounts what is in use, but ends the connection: whoever
    // still waits for an answer gets an error, so that the rest cannot block.
    let _ = rustix::mount::unmount(at, UnmountFlags::FORCE);
    let mut gone = true;
    for device in loopback::below(at) {
        for mount in mounts::all()? {
            if mount.source == device.device {
                gone &= mounts::unmount_or_detach(&mount.at, while_free(gone, PATIENCE));
                removed.push(mount.at);
            }
        }
        gone &= device.detach(while_free(gone, PATIENCE));
        removed.push(device.device);
    }
    if mounts::all()?.iter().any(|mount| mount.at == at) {
        gone &= mounts::unmount_or_detach(at, while_free(gone, PATIENCE));
    }
    let _ = fs::remove_dir(at);
    Ok(gone)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_alive_and_others_are_not() {
        let name = Name::new().unwrap();
        assert_eq!(Name::parse(&name.text()), Some(name));
        assert!(!name.dead());
        assert!(Name { started: name.started + 1, ..name }.dead());
        assert!(Name { process: u32::MAX, ..name }.dead());
        assert_eq!(Name::parse("1-2-3-4"), None);
        assert_eq!(Name::parse("1-2"), None);
    }
}

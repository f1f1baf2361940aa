//! What is mounted where, and unmounting what may be busy for a moment: for disks, loop devices and
//! leftovers.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::mount::UnmountFlags;

use crate::error::Error;

/// How long to wait for users of a mount or device to go: the kernel lets go of things late, and later on a
/// busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// One line of `/proc/self/mountinfo`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mount {
    pub(crate) at: PathBuf,
    pub(crate) kind: String,
    pub(crate) source: PathBuf,
}

/// All mounts that this process sees.
pub(crate) fn all() -> Result<Vec<Mount>, Error> {
    let file = "/proc/self/mountinfo";
    let text = std::fs::read(file).map_err(|e| Error::new(format!("cannot read {file}: {e}")))?;
    Ok(text.split(|&b| b == b'\n').filter_map(parse).collect())
}

/// Fields: id, parent, device, root, *mount point*, options, any number of optional
/// fields, `-`, *type*, *source*, options.
fn parse(line: &[u8]) -> Option<Mount> {
    let mut fields = line.split(|&b| b == b' ');
    let at = unescape(fields.nth(4)?);
    fields.find(|&field| field == b"-")?;
    let kind = String::from_utf8_lossy(fields.next()?).into_owned();
    Some(Mount { at, kind, source: unescape(fields.next()?) })
}

/// Blanks and backslashes are written as `\` and three octal digits.
fn unescape(field: &[u8]) -> PathBuf {
    let mut plain = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&byte, after)) = rest.split_first() {
        let digits = (byte == b'\\').then(|| after.get(..3)).flatten();
        let octal = digits.and_then(|d| u8::from_str_radix(str::from_utf8(d).ok()?, 8).ok());
        plain.push(octal.unwrap_or(byte));
        rest = octal.and_then(|_| after.get(3..)).unwrap_or(after);
    }
    OsString::from_vec(plain).into()
}

/// Unmount what is mounted at `at`, waiting for its users to go, but not longer than `patience`.
///
/// # Errors
///
/// It is still busy, and still mounted; or it was not mounted.
pub(crate) fn unmount(at: &Path, patience: Duration) -> Result<(), Error> {
    let deadline = Instant::now() + patience;
    loop {
        match rustix::mount::unmount(at, UnmountFlags::empty()) {
            Ok(()) => return Ok(()),
            Err(Errno::BUSY) if Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(10));
            }
            Err(e) => {
                let at = at.display();
                return Err(Error::new(format!(
                    "cannot unmount {at}: {e}; close what is open there, and leave it"
                )));
            }
        }
    }
}

/// Unmount what is mounted at `at`; if it is busy for longer than `patience`, hide it until it is not.
/// True if it is really gone.
pub(crate) fn unmount_or_detach(at: &Path, patience: Duration) -> bool {
    if unmount(at, patience).is_ok() {
        return true;
    }
    // It may not be mounted at all, and then there is nothing to hide.
    let _ = rustix::mount::unmount(at, UnmountFlags::DETACH);
    false
}

/// How long to wait for the next part of a disk: not at all if what lies above it is still in use.
pub(crate) fn while_free(is_free: bool, patience: Duration) -> Duration {
    if is_free { patience } else { Duration::ZERO }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_taken_apart() {
        let line = br"36 35 98:0 /mnt1 /mnt\040two\134 rw,noatime master:1 - ext3 /dev/loop3 rw";
        let mount =
            Mount { at: r"/mnt two\".into(), kind: "ext3".into(), source: "/dev/loop3".into() };
        assert_eq!(parse(line), Some(mount));
        assert_eq!(parse(b""), None);
        assert_eq!(parse(br"36 35 98:0 / /a\0 rw - t s rw").unwrap().at, Path::new(r"/a\0"));
    }

    #[test]
    fn the_root_is_mounted() {
        assert!(all().unwrap().iter().any(|mount| mount.at == Path::new("/")));
    }
}

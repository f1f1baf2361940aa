//! What a file system can do: whether its files can be read without waiting for a disk. Used by whatever
//! opens files.

use std::io::IoSliceMut;
use std::os::fd::AsFd;

use rustix::fs::fstatfs;
use rustix::io::{Errno, ReadWriteFlags, preadv2};

/// How files of a file system are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Everything is in memory (tmpfs, ramfs).
    Memory,
    /// Reads with `RWF_NOWAIT` fail instead of waiting for the disk (ext4, xfs, btrfs).
    NoWait,
    /// Reads may wait for the disk (overlayfs): only helpers read.
    Blocking,
    /// Another process or machine has the files, and may not answer (NFS, FUSE): helpers open them, too.
    Remote,
}

/// Types of remote file systems (statfs(2) and linux/magic.h): NFS, FUSE, SMB in three versions, Ceph, 9P, AFS in two kinds, Coda, Lustre, OCFS2, GFS2.
const REMOTE: [u32; 13] = [
    0x6969,
    0x6573_5546,
    0x517B,
    0xFF53_4D42,
    0xFE53_4D42,
    0x00C3_6400,
    0x0102_1997,
    0x5346_414F,
    0x6B41_4653,
    0x7375_7245,
    0x0BD0_0BD0,
    0x7461_636F,
    0x0116_1970,
];

/// tmpfs and ramfs.
const MEMORY: [u32; 2] = [0x0102_1994, 0x8584_58F6];

/// No file is so long.
const BEYOND: u64 = 1 << 62;

/// How files are read of the file system that `file` is on. May wait for that file system.
///
/// # Errors
///
/// The file system does not say.
pub fn access(file: impl AsFd) -> Result<Access, Errno> {
    let kind = fstatfs(&file)?.f_type as u32;
    if MEMORY.contains(&kind) {
        return Ok(Access::Memory);
    }
    if REMOTE.contains(&kind) {
        return Ok(Access::Remote);
    }
    // Beyond the end of any file: a byte that is not in memory would be read from the disk, alone.
    let mut byte = [0];
    match preadv2(&file, &mut [IoSliceMut::new(&mut byte)], BEYOND, ReadWriteFlags::NOWAIT) {
        Ok(_) | Err(Errno::AGAIN) => Ok(Access::NoWait),
        Err(_) => Ok(Access::Blocking),
    }
}

/// Whether a worker may open files below this directory. May wait for its file system.
pub(super) fn is_local(directory: impl AsFd) -> Result<bool, Errno> {
    Ok(!REMOTE.contains(&(fstatfs(directory)?.f_type as u32)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    #[test]
    fn memory_is_told_from_what_another_process_answers_for() {
        let shared = File::open("/dev/shm").unwrap();
        assert_eq!(access(&shared), Ok(Access::Memory));
        assert_eq!(is_local(&shared), Ok(true));
        // proc does not know RWF_NOWAIT.
        assert_eq!(access(File::open("/proc/version").unwrap()), Ok(Access::Blocking));
    }
}

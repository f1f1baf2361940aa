//! Tells whether a file has changed, without reading it. Used for the files that are read anew while the
//! server runs: certificates and passwords.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// What a file is like; another content has another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileStamp {
    inode: u64,
    length: u64,
    modified: (i64, i64),
    /// Of its permissions and its owner, too.
    changed: (i64, i64),
}

impl FileStamp {
    /// `None`: it cannot be told, such as of a file that is missing.
    pub(crate) fn of(file: &Path) -> Option<FileStamp> {
        let found = fs::metadata(file).ok()?;
        let modified = (found.mtime(), found.mtime_nsec());
        let changed = (found.ctime(), found.ctime_nsec());
        Some(FileStamp { inode: found.ino(), length: found.len(), modified, changed })
    }
}

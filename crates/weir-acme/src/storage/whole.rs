//! Files that are replaced whole or not at all, and survive a crash. Used by the storage.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use tempfile::NamedTempFile;

/// Writes `bytes` to `path`, a file in `directory` with mode 0600, in place of what was there.
///
/// # Errors
///
/// If not all of it is on the disk; the old file is kept then, and nothing else left behind.
pub(super) fn write(directory: &Path, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = NamedTempFile::new_in(directory)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    // Without this the new name could be lost in a crash.
    File::open(directory)?.sync_all()
}

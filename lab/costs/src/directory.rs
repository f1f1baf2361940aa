//! Directories that servers of any user can reach.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use weir_peers::{Error, Result};

/// Make a directory that every user may enter.
pub(crate) fn open(path: &Path) -> Result<()> {
    let failed = |e| Error::file("make the directory", path, &e);
    fs::create_dir_all(path).map_err(failed)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).map_err(failed)
}

//! Why the storage could not do something. Returned by all of it.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// What could not be done with which file, and why.
#[derive(Debug)]
pub(crate) struct StorageError {
    action: &'static str,
    path: PathBuf,
    error: io::Error,
}

impl StorageError {
    /// `action`: a verb, such as "write".
    pub(crate) fn new(action: &'static str, path: &Path, error: io::Error) -> StorageError {
        StorageError { action, path: path.to_owned(), error }
    }

    fn remedy(&self) -> &'static str {
        match self.error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "; make room on that disk",
            io::ErrorKind::PermissionDenied => {
                "; let the user that runs the server own the directory, or choose another"
            }
            io::ErrorKind::ReadOnlyFilesystem => "; choose a directory that can be written",
            io::ErrorKind::InvalidData => "; remove the file, and a new one is obtained",
            _ => "",
        }
    }
}

impl fmt::Display for StorageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let StorageError { action, path, error } = self;
        write!(f, "cannot {action} {}: {error}{}", path.display(), self.remedy())
    }
}

impl std::error::Error for StorageError {}

impl From<StorageError> for Failure {
    fn from(error: StorageError) -> Failure {
        Failure::unjudged(error.to_string())
    }
}

//! Why TLS to a backend cannot be set up: what is wrong with a file or a name. Made when the server
//! starts, which shows it.

use std::fmt;
use std::path::Path;

/// What is wrong, where, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientTlsError(String);

impl ClientTlsError {
    pub(super) fn new(what: impl Into<String>) -> ClientTlsError {
        ClientTlsError(what.into())
    }

    /// What is wrong with the file at `path`.
    pub(super) fn of_file(path: &Path, what: impl fmt::Display) -> ClientTlsError {
        ClientTlsError(format!("{}: {what}", path.display()))
    }
}

impl fmt::Display for ClientTlsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ClientTlsError {}

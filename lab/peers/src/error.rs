//! Why something of the lab failed, as a sentence for the user: what was wrong, where, and what to do
//! about it. Nobody decides by kinds of errors, so there are none.

use std::fmt;
use std::path::Path;

/// What was wrong, where, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error(pub String);

impl Error {
    /// `cannot DOING PATH: ERROR`, for a file or directory.
    pub fn file(doing: &str, path: &Path, error: &dyn fmt::Display) -> Error {
        Error(format!("cannot {doing} {}: {error}", path.display()))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

impl From<String> for Error {
    fn from(text: String) -> Error {
        Error(text)
    }
}

impl From<&str> for Error {
    fn from(text: &str) -> Error {
        Error(text.to_owned())
    }
}

/// The lab's result.
pub type Result<T, E = Error> = std::result::Result<T, E>;

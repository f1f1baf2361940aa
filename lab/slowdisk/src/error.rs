//! The one error of this crate: a sentence for the person who runs a benchmark.
//! There are no kinds, for nobody can do anything about it but read it.

use std::fmt;

/// What was wrong, where, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error(String);

impl Error {
    pub(crate) fn new(sentence: impl Into<String>) -> Error {
        Error(sentence.into())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

impl From<String> for Error {
    fn from(sentence: String) -> Error {
        Error(sentence)
    }
}

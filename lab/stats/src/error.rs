//! What can be wrong with a file of records: which file, which line, what to do.

use std::fmt;

/// Why records could not be read or written. Displays as `FILE, line N: what was wrong`.
#[derive(Debug)]
pub struct Error {
    /// The file, or what stands for it.
    pub file: String,
    /// The line, counted from 1 with the header; `None` when the error is not about one line.
    pub line: Option<u64>,
    /// What was wrong, and what to do.
    pub message: String,
}

impl Error {
    pub(crate) fn new(file: &str, line: Option<u64>, message: impl Into<String>) -> Error {
        Error { file: file.into(), line, message: message.into() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}, line {line}: {}", self.file, self.message),
            None => write!(f, "{}: {}", self.file, self.message),
        }
    }
}

impl std::error::Error for Error {}

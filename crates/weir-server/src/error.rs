//! Why the server could not start, or ended: what every part that is built from the configuration
//! fails with. `weir serve` shows it.

use std::fmt;
use std::io;

/// Why the server could not start, or ended.
#[derive(Debug)]
pub struct ServeError(String);

impl ServeError {
    /// `error` says all: which part failed, at what, and what to do.
    pub(crate) fn told(error: impl fmt::Display) -> ServeError {
        ServeError(error.to_string())
    }

    /// `what`: which part failed, at what; `error`: how.
    pub(crate) fn new(what: impl fmt::Display, error: &io::Error) -> ServeError {
        ServeError(format!("{what}: {error}"))
    }
}

impl fmt::Display for ServeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ServeError {}

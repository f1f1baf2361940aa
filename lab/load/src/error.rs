//! Why a run of the generator could not be made; everything here that can fail returns it.

use std::fmt;

/// Why a run could not be made: what was wrong, and what to do.
#[derive(Debug)]
pub struct Error(pub String);

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

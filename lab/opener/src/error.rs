//! Why the opener cannot start, as a sentence for the user. Nobody decides by kinds of errors, so there
//! are none.

use std::fmt;

/// What was wrong, where, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error(pub(crate) String);

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

//! The error of this crate's laws, shapes and arrivals, in a sentence for the user. Trace files
//! have [`crate::read::TraceError`], which points at a line.

use std::fmt;

/// What was asked for and cannot be had: which parameter is wrong and what is expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invalid(pub String);

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Invalid {}

//! The error of this crate's laws, shapes and arrivals. It does not know trace files, which have
//! lines to point at.

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

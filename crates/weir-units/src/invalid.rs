//! Why a text is not the quantity it should be. Returned by every type of this crate.

use std::fmt;

/// What was written, what was expected, and an example.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invalid(String);

impl Invalid {
    /// `text` is not `expected`, such as `a rate`; `remedy` follows `write`.
    pub fn new(text: &str, expected: impl fmt::Display, remedy: impl fmt::Display) -> Invalid {
        Invalid(format!("\"{text}\" is not {expected}; write {remedy}"))
    }
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Invalid {}

impl From<Invalid> for String {
    fn from(Invalid(message): Invalid) -> String {
        message
    }
}

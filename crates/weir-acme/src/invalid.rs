//! Why a value that the user gave makes no sense. Returned by the settings and by names.

use std::fmt;

/// Why a value makes no sense, and what would.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidSetting(String);

impl InvalidSetting {
    pub(crate) fn new(text: impl Into<String>) -> InvalidSetting {
        InvalidSetting(text.into())
    }
}

impl fmt::Display for InvalidSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for InvalidSetting {}

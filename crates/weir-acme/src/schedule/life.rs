//! From when until when a certificate is valid. Used by everything that decides about renewal.

use std::time::{Duration, SystemTime};

/// The validity of a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Life {
    /// It is valid from here on.
    pub(crate) not_before: SystemTime,
    /// It is valid until here.
    pub(crate) not_after: SystemTime,
}

impl Life {
    /// How long it is valid; nothing if it ends before it begins.
    pub(crate) fn length(&self) -> Duration {
        self.not_after.duration_since(self.not_before).unwrap_or_default()
    }

    /// The time when `share` (0 to 1) of the life is over.
    pub(crate) fn after(&self, share: f64) -> SystemTime {
        self.not_before + self.length().mul_f64(share.clamp(0.0, 1.0))
    }
}

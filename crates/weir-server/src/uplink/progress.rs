//! How far a response is, as its band depends on it. Used by [`super::classes`] and what it chooses from.

use std::time::Duration;

/// See the module.
#[derive(Clone, Copy, Debug)]
pub(super) struct Progress {
    /// Its bytes, `u64::MAX` if nobody knows.
    pub(super) size: u64,
    /// Those that are still to be sent, likewise.
    pub(super) left: u64,
    /// To its client, when it began; zero if that is not known.
    pub(super) round_trip: Duration,
}

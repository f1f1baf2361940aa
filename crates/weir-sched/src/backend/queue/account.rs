//! What one client of a backend has and has had. Used by [`super::clients`], which keeps one for
//! each client.

use crate::backend::mean::Mean;
use crate::time::Time;

/// Means of how long slots are taken forget with a weight of one in so many.
pub(super) const MEMORY: u32 = 64;
pub(super) const OWN_MEMORY: u32 = 8;

/// What a client has and has had.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Account {
    pub(super) held: u32,
    pub(super) aside: u32,
    pub(super) waiting: u32,
    /// Its slots' time, in nanoseconds of virtual time.
    pub(super) tag: u64,
    /// Since when none of its calls waits.
    pub(super) quiet: Time,
    /// How long its calls had slots.
    pub(super) took: Mean,
}

impl Account {
    pub(super) fn is_here(&self) -> bool {
        self.held > 0 || self.waiting > 0
    }
}

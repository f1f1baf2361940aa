//! A server's wakes and processes while it works. The bench watches in phases of their own, since it
//! takes processor time.

use std::sync::atomic::AtomicBool;

use crate::outcome::Observed;

/// Watch these processes and all that they start until `end` is set; nothing where they cannot be
/// watched.
pub(super) fn server(_processes: &[u32], _end: &AtomicBool) -> Option<Observed> {
    None
}

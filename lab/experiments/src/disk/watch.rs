//! A server's wakes and processes while it works. The bench watches in phases of their own, since it
//! takes processor time.

use std::sync::atomic::AtomicBool;

use weir_peers::Result;

use crate::outcome::Observed;

/// Watch this process and all that it starts for so many seconds, or until `end` is set; nothing where
/// they cannot be watched.
///
/// # Errors
///
/// When watching breaks off.
pub(super) fn server(_process: u32, _seconds: f64, _end: &AtomicBool) -> Result<Option<Observed>> {
    Ok(None)
}

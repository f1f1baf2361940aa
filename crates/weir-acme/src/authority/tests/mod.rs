//! Servers to test with, and orders at one that takes its time.

pub(crate) mod fake;
mod processing;
pub(crate) mod slow;
pub(crate) mod stand;

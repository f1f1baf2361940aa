//! Rawat 2003, SWIFT.

pub(super) mod wan;

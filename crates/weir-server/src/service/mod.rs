//! What answers requests: files, backends, the admin address.

pub(crate) mod admin;
pub(crate) mod proxy;

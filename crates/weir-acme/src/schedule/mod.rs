//! When to order a certificate, when to ask for renewal information, and how long to wait after a
//! failure. Without I/O, clock or chance of its own: every call is told the time and what was drawn.
//! Used by the keeper of each certificate.
//!
//! The time is what the machine's clock says, for certificates end by it. It may jump: nothing here
//! waits longer than [`plan::LONGEST_WAIT`] without being asked again, and a pause that began in what
//! is the future after a jump begins anew.

pub(crate) mod life;
pub(crate) mod pause;
pub(crate) mod plan;
pub(crate) mod processing;
pub(crate) mod renewal;
pub(crate) mod retry;

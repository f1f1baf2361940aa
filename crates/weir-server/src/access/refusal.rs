//! Why a request is not answered with what it asks for. Made by everything in this room; the protocols
//! make an answer of it.

use std::sync::Arc;
use std::time::Duration;

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// Its client's network may not ask.
    Forbidden,
    /// Its client asks too often; after how long it may ask again.
    TooMany(Duration),
    /// It must name a user and a password: the challenge (RFC 9110, section 11.6.1).
    Unauthorized(Arc<str>),
    /// So many passwords wait to be checked that it would take too long.
    Busy,
}

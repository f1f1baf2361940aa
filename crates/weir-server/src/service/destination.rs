//! Where a request goes: what answers it, by its host and path. Told by [`super::Service`], read by every
//! protocol.

use std::rc::Rc;

use http::StatusCode;

use super::proxy::Route;

/// See the module.
pub(crate) enum Destination {
    Files,
    /// The answer to the challenge of a certificate authority.
    Challenge(String),
    Admin,
    Backends(Rc<Route>),
    Redirect {
        location: String,
        status: StatusCode,
    },
    Nowhere(StatusCode),
}

impl Destination {
    /// Whether more fields are wanted than those that a [`Request`] names.
    pub(crate) fn wants_fields(&self) -> bool {
        matches!(self, Destination::Backends(_) | Destination::Admin)
    }
}

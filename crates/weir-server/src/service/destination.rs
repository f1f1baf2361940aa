//! Where a request goes: what answers it, by its host and path. Told by [`super::Service`], read by every
//! protocol.

use std::rc::Rc;

use http::StatusCode;

use super::proxy::Route;

/// See the module.
pub(crate) enum Destination {
    /// The files of the site with this number: 0 is that of the server, the others are those of routes.
    Files(usize),
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

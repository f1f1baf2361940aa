//! Where a request goes: what answers it, by its host and path. Told by [`super::Service`], read by every
//! protocol.

use std::rc::Rc;
use std::sync::Arc;

use http::StatusCode;

use super::proxy::Route;
use crate::access::{Guard, Refusal};

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
    /// Somewhere that not everybody may go to: the protocol asks first.
    Guarded(Box<Guarded>),
    /// It was asked, and the request is not answered with what it asks for.
    Refused {
        refusal: Refusal,
        /// The number of the site that it was for, if it was for files.
        site: Option<usize>,
    },
}

impl Destination {
    /// This, once its client was not let in.
    pub(crate) fn refused(&self, refusal: Refusal) -> Destination {
        Destination::Refused { refusal, site: self.site() }
    }

    /// The number of the site whose files it is.
    fn site(&self) -> Option<usize> {
        match self {
            Destination::Files(site) => Some(*site),
            Destination::Guarded(guarded) => guarded.to.site(),
            _ => None,
        }
    }
}

/// A destination with something before it.
pub(crate) struct Guarded {
    pub(crate) guard: Arc<Guard>,
    pub(crate) to: Destination,
}

//! How a connection sends over the uplink. Opened by [`super::LocalUplink`] for each connection that does;
//! the connection's protocol passes it to `send` with every response.

use super::banded::Banded;
use super::flow::Flow;

/// See the module.
#[derive(Debug)]
pub(crate) enum Lane {
    /// weir keeps the queue.
    Paced(Flow),
    /// The kernel keeps it, in bands.
    Banded(Banded),
}

impl Lane {
    /// A request with a body comes.
    pub(crate) fn receives(&self) {
        if let Lane::Banded(banded) = self {
            banded.receives();
        }
    }
}

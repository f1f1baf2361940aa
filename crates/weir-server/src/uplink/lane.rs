//! How a connection sends over the uplink. Opened by [`super::LocalUplink`] for each connection that does;
//! the connection's protocol passes it to `send` with every response.

use super::banded::Banded;
use super::flow::Flow;
use crate::identity::PeerAddress;

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

    /// The connection in the kernel's bands, if it goes through them.
    pub(crate) fn banded(&self) -> Option<&Banded> {
        match self {
            Lane::Paced(_) => None,
            Lane::Banded(banded) => Some(banded),
        }
    }

    /// The responses from now on are for the client at this address, whose share of the link they have: a
    /// connection of a trusted proxy serves many. No response is under way.
    pub(crate) fn serves(&self, client: PeerAddress) {
        match self {
            Lane::Paced(flow) => flow.serves(client),
            Lane::Banded(banded) => banded.serves(client),
        }
    }
}

//! The uplink as one worker sees it: its connections that send over it, and the clients that are not
//! behind it. Connections open their flows here; the worker runs the task that hands out grants.

use std::rc::Rc;
use std::sync::Arc;

use super::flow::{Flow, LocalFlows};
use super::{InFlightQuery, Uplink};
use crate::config::Prefix;
use crate::identity::PeerAddress;
use crate::transport::Transport;

/// See the module.
#[derive(Debug)]
pub(crate) struct LocalUplink {
    uplink: Arc<Uplink>,
    flows: Rc<LocalFlows>,
    /// Clients that are not behind this uplink.
    exempt: Vec<Prefix>,
    /// The worker's number.
    worker: usize,
}

impl LocalUplink {
    /// For the worker of that number.
    pub(crate) fn new(uplink: Arc<Uplink>, exempt: Vec<Prefix>, worker: usize) -> LocalUplink {
        LocalUplink { uplink, flows: Rc::default(), exempt, worker }
    }

    /// The place of a connection at the uplink; `None` if its client is not behind it.
    pub(crate) fn open_flow(&self, socket: &Rc<Transport>, peer: PeerAddress) -> Option<Flow> {
        let address = peer.ip().to_canonical();
        if self.exempt.iter().any(|Prefix(network)| network.contains(&address)) {
            return None;
        }
        Some(Flow::open(self.uplink.clone(), self.flows.clone(), self.worker, socket, peer))
    }

    /// Hands grants to the worker's connections, for as long as the worker runs.
    pub(crate) async fn distribute(&self) {
        self.flows.distribute(&self.uplink, self.worker).await;
    }

    /// Counts the bytes of the worker's connections in the kernel, if that is what the uplink goes by.
    pub(crate) async fn count_in_kernel(&self) {
        self.flows.count(&self.uplink, self.worker).await;
    }

    /// Tells a query how many bytes the clients of the worker's connections have not acknowledged.
    pub(crate) fn answer(&self, query: InFlightQuery) {
        let _ = query.send(self.flows.bytes_in_flight());
    }
}

//! The uplink as one worker sees it: its connections that send over it, and the clients that are not
//! behind it. Connections open their flows here; the worker runs the task that hands out grants.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use weir_sched::Grant;

use super::banded::Banded;
use super::classes::Classes;
use super::events::{Blocked, Event};
use super::flow::{Flow, USUAL_MSS, packets};
use super::kernel::{COUNT_EVERY, COUNTS_ONE};
use super::lane::Lane;
use super::registry::Registry;
use super::{InFlightQuery, Uplink};
use crate::config::Prefix;
use crate::identity::PeerAddress;
use crate::transport::Transport;

/// See the module.
#[derive(Debug)]
pub(crate) struct LocalUplink {
    uplink: Arc<Uplink>,
    registry: Rc<Registry>,
    /// Clients that are not behind this uplink.
    exempt: RefCell<Vec<Prefix>>,
    /// The worker's number.
    worker: usize,
    /// In kernel mode: which band responses belong to.
    classes: Option<Rc<Classes>>,
}

impl LocalUplink {
    /// For the worker of that number.
    pub(crate) fn new(uplink: Arc<Uplink>, exempt: Vec<Prefix>, worker: usize) -> LocalUplink {
        let classes = uplink.bands.as_ref().map(|(_, order)| Rc::new(Classes::new(*order)));
        let exempt = RefCell::new(exempt);
        LocalUplink { uplink, registry: Rc::default(), exempt, worker, classes }
    }

    /// From the next connection on these clients are not behind the uplink, and no others.
    pub(crate) fn set_exempt(&self, exempt: Vec<Prefix>) {
        self.exempt.replace(exempt);
    }

    /// How a connection from `peer` sends over the uplink for `client`, which it is itself or which a load
    /// balancer names; `None` if that client is not behind it.
    pub(crate) fn open_lane(
        &self,
        socket: &Rc<Transport>,
        peer: PeerAddress,
        client: PeerAddress,
    ) -> Option<Lane> {
        let address = client.ip().to_canonical();
        if self.exempt.borrow().iter().any(|Prefix(network)| network.contains(&address)) {
            return None;
        }
        let (uplink, registry) = (self.uplink.clone(), self.registry.clone());
        // The client at a Unix socket is on this host and behind no device. It may be a proxy, and the bands
        // of a device have no order for what it reads.
        if self.classes.is_some() && socket.tcp_info().is_err() {
            return None;
        }
        // Packets go to the other end, whichever client it names. A Unix socket has none: what is at its
        // other end, on this host, sends them to the client.
        let end = peer.known_ip().map_or(client, |_| peer);
        Some(match &self.classes {
            None => Lane::Paced(Flow::open(uplink, registry, self.worker, socket, end, client)),
            Some(classes) => {
                let (classes, worker) = (classes.clone(), self.worker);
                Lane::Banded(Banded::open(uplink, registry, classes, worker, socket, end, client))
            }
        })
    }

    /// Counts what a connection from `peer` sent before it had a lane: a handshake that came to nothing.
    pub(crate) fn charge_beside(&self, socket: &Transport, peer: PeerAddress) {
        let mss = socket.tcp_info().map_or(USUAL_MSS, |info| info.snd_mss);
        let packets = packets(mss, 0, self.uplink.overhead_to(peer));
        self.uplink.charge_extra(packets.wire(socket.take_beside()));
    }

    /// Hands grants to the responses of the worker's connections, for as long as the worker runs.
    pub(crate) async fn distribute(&self) {
        let Some(outbox) = self.uplink.outboxes.get(self.worker) else { return };
        let mut grants = Vec::new();
        loop {
            outbox.filled.notified().await;
            outbox.take(&mut grants);
            self.hand_over(grants.drain(..));
        }
    }

    /// Hands grants to the jobs that they name. One that comes after its job's end goes back: its lease
    /// had run out, and the same bytes were granted again.
    pub(super) fn hand_over(&self, grants: impl Iterator<Item = Grant>) {
        for grant in grants {
            if !self.registry.hand_over(&grant) {
                self.uplink.inbox.post(Event::Used { grant, bytes: 0, blocked: Blocked::No });
            }
        }
    }

    /// Counts the bytes of the worker's connections in the kernel again and again, if that is what the
    /// uplink goes by.
    pub(crate) async fn count_in_kernel(&self) {
        let Some(in_kernel) = &self.uplink.in_kernel else { return };
        loop {
            if self.registry.flows() == 0 {
                in_kernel.counted(self.worker, 0);
                self.uplink.inbox.filled.notify_one();
                self.registry.opened.notified().await;
            }
            let flows = self.registry.flows().try_into().unwrap_or(u32::MAX);
            tokio::time::sleep(COUNT_EVERY.max(COUNTS_ONE.saturating_mul(flows))).await;
            if self.uplink.waiting() > 0 {
                let bytes = match in_kernel.counts_queued_here() {
                    true => self.registry.bytes_queued_here(),
                    false => self.registry.bytes_in_flight(),
                };
                in_kernel.counted(self.worker, bytes);
                self.uplink.inbox.filled.notify_one();
            }
        }
    }

    /// Tells a query how many bytes the clients of the worker's connections have not acknowledged.
    pub(crate) fn answer(&self, query: InFlightQuery) {
        let _ = query.send(self.registry.bytes_in_flight());
    }
}

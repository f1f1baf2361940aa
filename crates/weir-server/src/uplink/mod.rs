//! The uplink: one gate that all connections of all workers send through, at the rate of the link.
//! Built when the server starts; connections send through it, the admin address shows it.
//!
//! The gate belongs to one task ([`owner`]). Connections ([`Flow`]) and their responses ([`Job`]) post
//! events to it; grants come back to the responses, one batch and one wake-up for each worker at a
//! time. While nobody waits, a response that fits one grant takes its bytes from the pacer directly,
//! without the gate.

pub mod bands;
mod events;
mod flow;
mod job;
mod kernel;
mod local;
mod mailbox;
mod meter;
mod owner;
mod registry;
#[cfg(test)]
mod tests;

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use tokio::sync::{Notify, oneshot};
use weir_sched::{ClientId, Gate, GateConfig, Grant, Pacer, WireOverhead};

use crate::config::UplinkConfig;
use crate::identity::{self, PeerAddress};
use crate::metrics::Metrics;

use events::Event;
use kernel::InKernel;
use mailbox::Mailbox;

pub(crate) use events::Blocked;
pub(crate) use flow::Flow;
pub(crate) use job::Job;
pub(crate) use local::LocalUplink;
pub(crate) use owner::run_gate;

/// Asks a worker for the unacknowledged bytes of its connections; the answer goes into it.
pub(crate) type InFlightQuery = oneshot::Sender<u64>;

/// What all threads share of the uplink.
#[derive(Debug)]
pub(crate) struct Uplink {
    pacer: Arc<Pacer>,
    /// What a packet costs over IPv4.
    overhead: WireOverhead,
    /// Bytes of one grant before it is cut to segments.
    grant: u64,
    /// The policy is told of every reading of a path.
    path_updates: bool,
    /// Instead of the pacer, the bytes in the kernel tell when the link may be given more.
    in_kernel: Option<InKernel>,
    /// Responses that wait at the gate, or are on their way there.
    waiting: AtomicUsize,
    /// The number of the next connection or response.
    next_number: AtomicU64,
    /// Connections that are open.
    open: AtomicUsize,
    unused: Notify,
    inbox: Mailbox<Event>,
    /// Grants to the connections of each worker.
    outboxes: Vec<Mailbox<Grant>>,
    metrics: Arc<Metrics>,
}

/// A gate for the uplink of the configuration, and what its users share.
pub(crate) fn build(
    config: UplinkConfig,
    workers: usize,
    metrics: Arc<Metrics>,
) -> (Arc<Uplink>, Gate) {
    let in_kernel = config.in_kernel.map(|cap| InKernel::new(cap, workers));
    let pacer = match in_kernel {
        None => Pacer::new(config.rate.scaled(config.pace)),
        Some(_) => Pacer::new(config.rate.scaled(kernel::UNPACED)),
    };
    let pacer = Arc::new(pacer);
    let mut gate_config = GateConfig::new(config.policy);
    if let Some(in_kernel) = &in_kernel {
        gate_config.grant = pacer.rate().time_for(in_kernel.grant());
    }
    let gate = Gate::new(gate_config, pacer.clone());
    let uplink = Uplink {
        pacer,
        overhead: config.framing,
        grant: gate.grant_size(),
        path_updates: config.policy.needs().path_updates,
        in_kernel,
        waiting: AtomicUsize::new(0),
        next_number: AtomicU64::new(0),
        open: AtomicUsize::new(0),
        unused: Notify::new(),
        inbox: Mailbox::default(),
        outboxes: (0..workers).map(|_| Mailbox::default()).collect(),
        metrics,
    };
    (Arc::new(uplink), gate)
}

impl Uplink {
    /// Responses that wait for the link.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    /// One of this class of size ([`Waiting::class`](crate::metrics::Waiting::class)) begins to wait.
    fn begins_to_wait(&self, class: usize) {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        self.metrics.waiting.begins(class);
    }

    /// One of this class ends waiting.
    fn ends_waiting(&self, class: usize) {
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        self.metrics.waiting.ends(class);
    }

    /// A number for a connection or a response that no other has had.
    fn next_number(&self) -> u64 {
        self.next_number.fetch_add(1, Ordering::Relaxed)
    }

    /// Bytes on the wire since the server started.
    pub(crate) fn bytes_on_wire(&self) -> u64 {
        self.pacer.charged()
    }

    /// Waits until no connection of any worker uses it.
    pub(crate) async fn until_unused(&self) {
        while self.open.load(Ordering::Relaxed) > 0 {
            self.unused.notified().await;
        }
    }

    /// What packets to `peer` cost.
    fn overhead_to(&self, peer: PeerAddress) -> WireOverhead {
        match peer.ip().to_canonical() {
            IpAddr::V4(_) => self.overhead,
            IpAddr::V6(_) => self.overhead.over_ipv6(),
        }
    }
}

/// Who has a share of the link.
fn client(peer: PeerAddress) -> ClientId {
    match identity::network(peer.ip()) {
        IpAddr::V4(address) => ClientId(address.to_ipv6_mapped().to_bits()),
        IpAddr::V6(network) => ClientId(network.to_bits()),
    }
}

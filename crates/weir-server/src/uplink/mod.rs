//! The uplink: one gate that all connections of all workers send through, at the rate of the link.
//! Built when the server starts; connections send through it, the admin address shows it.
//!
//! The gate belongs to one task ([`owner`]). Connections ([`Flow`]) and their responses ([`Job`]) post
//! events to it; grants come back to the responses, one batch and one wake-up for each worker at a
//! time. While nobody waits, a response that fits one grant takes its bytes from the pacer directly,
//! without the gate.
//!
//! In kernel mode (`uplink = "kernel"`) the queue is the kernel's, in [`bands`]: a connection is
//! [`Banded`], and its responses get the band of what they have left. The gate holds those that are
//! large, so that the kernel's queue is short and the one with the least left is in it.

mod asked;
mod banded;
pub mod bands;
mod by_size;
mod by_swift;
mod classes;
mod events;
mod flow;
mod in_force;
mod job;
mod kernel;
mod lane;
mod local;
mod mailbox;
mod meter;
mod owner;
mod progress;
mod registry;
#[cfg(test)]
mod tests;

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::{Notify, oneshot};
use weir_sched::{
    BitRate, ClientId, Gate, GateConfig, Grant, Pacer, PolicyKind, WireOverhead, policy,
};

use crate::config::{KernelCap, KernelConfig, KernelOrder, SwiftRoundTrip, UplinkConfig};
use crate::identity::{self, PeerAddress};
use crate::metrics::Metrics;
use crate::sys::clock;

use events::Event;
use in_force::BandsInForce;
use kernel::InKernel;
use mailbox::Mailbox;

pub(crate) use banded::{Banded, WHOLE};
pub(crate) use events::Blocked;
pub(crate) use flow::Flow;
pub(crate) use in_force::{Sight, look};
pub(crate) use job::Job;
pub(crate) use lane::Lane;
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
    grant: AtomicU64,
    /// The policy is told of every reading of a path.
    path_updates: AtomicBool,
    /// The round trip that a request names stands for the measured one.
    round_trip_is_asked: bool,
    /// Instead of the pacer, the bytes in the kernel tell when the link may be given more.
    in_kernel: Option<InKernel>,
    /// In kernel mode: whether bands are in force, and what they go by.
    bands: Option<(BandsInForce, KernelOrder)>,
    /// In kernel mode: bytes of responses that the kernel has taken.
    handed_over: AtomicU64,
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

/// A gate for the uplink that weir paces, and what its users share.
pub(crate) fn build(
    config: UplinkConfig,
    workers: usize,
    metrics: Arc<Metrics>,
) -> (Arc<Uplink>, Gate) {
    let in_kernel = config.in_kernel.map(|cap| InKernel::unacknowledged(cap, workers));
    let rate = pace(&config);
    metrics.in_force.scheduled(true);
    let mut gate_config = GateConfig::new(config.policy);
    if let Some(in_kernel) = &in_kernel {
        gate_config.grant = rate.time_for(in_kernel.grant());
    }
    let gate = Gate::new(gate_config, Arc::new(Pacer::new(rate)));
    let uplink = Uplink {
        overhead: config.framing,
        path_updates: AtomicBool::new(config.policy.needs().path_updates),
        round_trip_is_asked: config.round_trip == SwiftRoundTrip::Request,
        in_kernel,
        ..Uplink::new(&gate, workers, metrics)
    };
    (Arc::new(uplink), gate)
}

/// The same for the uplink that is in the kernel. The policy in weir orders what bands cannot tell
/// apart: SRPT, or SWIFT with bands by SWIFT.
pub(crate) fn build_in_kernel(
    config: &KernelConfig,
    workers: usize,
    metrics: Arc<Metrics>,
) -> (Arc<Uplink>, Gate) {
    let in_kernel = match config.cap {
        KernelCap::Off => None,
        KernelCap::Auto => Some(InKernel::adaptive(workers)),
        KernelCap::Bytes(cap) => Some(InKernel::queued_here(cap, workers)),
    };
    // Only the cap limits.
    let pacer = Arc::new(Pacer::new(kernel::NO_RATE));
    let (policy, round_trip_is_asked) = match config.order {
        KernelOrder::Size(_) => (policy::SRPT, false),
        KernelOrder::Swift(round_trip) => (policy::SWIFT, round_trip == SwiftRoundTrip::Request),
    };
    let gate = Gate::new(GateConfig::new(policy), pacer);
    let in_force = BandsInForce::new(config.device.clone(), metrics.clone());
    let bands = Some((in_force, config.order));
    let uplink =
        Uplink { in_kernel, bands, round_trip_is_asked, ..Uplink::new(&gate, workers, metrics) };
    (Arc::new(uplink), gate)
}

/// What the pacer lets through: the share of the link that is used, or so much that a cap on what is
/// unacknowledged is all that limits.
fn pace(config: &UplinkConfig) -> BitRate {
    match config.in_kernel {
        None => config.rate.scaled(config.pace),
        Some(_) => config.rate.scaled(kernel::UNPACED),
    }
}

impl Uplink {
    /// Paced by the gate's pacer, on Ethernet.
    fn new(gate: &Gate, workers: usize, metrics: Arc<Metrics>) -> Uplink {
        Uplink {
            pacer: gate.pacer().clone(),
            overhead: WireOverhead::ETHERNET,
            grant: AtomicU64::new(gate.grant_size()),
            path_updates: AtomicBool::new(false),
            round_trip_is_asked: false,
            in_kernel: None,
            bands: None,
            handed_over: AtomicU64::new(0),
            waiting: AtomicUsize::new(0),
            next_number: AtomicU64::new(0),
            open: AtomicUsize::new(0),
            unused: Notify::new(),
            inbox: Mailbox::default(),
            outboxes: (0..workers).map(|_| Mailbox::default()).collect(),
            metrics,
        }
    }

    /// From the owner's next turn on the link has the rate and the policy of `config`. For an uplink that
    /// weir paces: nothing else has a rate.
    pub(crate) fn change(&self, config: &UplinkConfig) {
        let (policy, rate) = (config.policy, pace(config));
        self.inbox.post(Event::Change { policy, rate });
    }

    /// The gate gives grants of so many bytes now, by this policy.
    fn changed(&self, grant: u64, policy: PolicyKind) {
        self.grant.store(grant, Ordering::Relaxed);
        self.path_updates.store(policy.needs().path_updates, Ordering::Relaxed);
    }

    /// In kernel mode, looks again and again whether a device has bands.
    pub(crate) async fn watch_bands(&self) {
        if let Some((in_force, _)) = &self.bands {
            in_force.watch().await;
        }
    }

    /// Whether the order is in force: always where weir paces, in kernel mode while there are bands.
    fn in_order(&self) -> bool {
        self.bands.as_ref().is_none_or(|(in_force, _)| in_force.hold())
    }

    /// The kernel has refused a priority.
    fn priority_refused(&self, error: &std::io::Error) {
        if let Some((in_force, _)) = &self.bands {
            in_force.refuse(error);
        }
    }

    /// The round trip that a request with this query names, if requests are asked for it.
    fn asked(&self, query: Option<&str>) -> Option<Duration> {
        query.filter(|_| self.round_trip_is_asked).and_then(asked::round_trip)
    }

    /// Whether the kernel has so much that no more may be granted, while grants for `granted` bytes are
    /// out.
    fn is_full(&self, granted: u64) -> bool {
        self.in_order() && self.in_kernel.as_ref().is_some_and(|kernel| kernel.is_full(granted))
    }

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

    /// Counts bytes on the wire that no response asked for. In kernel mode there is no pace to keep, and a
    /// flow is a response, whose connection may have been counted with the one before.
    fn charge_extra(&self, bytes: u64) {
        if self.bands.is_none() {
            self.pacer.charge_extra(clock::now(), bytes);
        }
    }

    /// Gives back bytes on the wire that a response was charged and did not need.
    fn refund(&self, bytes: u64) {
        if self.bands.is_none() {
            self.pacer.refund(bytes);
        }
    }

    /// A number for a connection or a response that no other has had.
    fn next_number(&self) -> u64 {
        self.next_number.fetch_add(1, Ordering::Relaxed)
    }

    /// Bytes sent since the server started: on the wire, with all that packets add. In kernel mode, where
    /// the pacer is not told of small responses, those of heads and bodies.
    pub(crate) fn bytes_sent(&self) -> u64 {
        match self.bands {
            None => self.pacer.charged(),
            Some(_) => self.handed_over.load(Ordering::Relaxed),
        }
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

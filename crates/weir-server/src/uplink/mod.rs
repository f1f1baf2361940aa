//! The uplink: one gate that all connections of all workers send through, at the rate of the link.
//! Built when the server starts; connections send through it, the admin address shows it.
//!
//! The gate belongs to one task ([`owner`]). Connections ([`Flow`]) post events to it and get grants
//! back, one batch and one wake-up for each worker at a time. While nobody waits, a response that fits
//! one grant takes its bytes from the pacer directly, without the gate.

mod flow;
mod kernel;
mod local;
mod meter;
mod owner;

use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{Notify, oneshot};
use weir_sched::{
    ClientId, FlowSpec, Gate, GateConfig, Grant, ObjectId, Pacer, Path, WireOverhead,
};

use crate::config::UplinkConfig;
use crate::identity::{self, PeerAddress};
use crate::metrics::Metrics;

use kernel::InKernel;

pub(crate) use flow::Flow;
pub(crate) use local::LocalUplink;
pub(crate) use owner::own;

/// What connections tell the gate's owner. A connection is known by its number.
#[derive(Debug)]
enum Event {
    Open {
        worker: usize,
        spec: FlowSpec,
    },
    Arrive {
        flow: u64,
        size: Option<u64>,
        range_of: Option<ObjectId>,
        /// As it is now, if the kernel says.
        path: Option<Path>,
    },
    /// The kernel was asked of the path for another reason, and the policy wants to know.
    PathChanged {
        flow: u64,
        path: Path,
    },
    Ready {
        flow: u64,
    },
    Used {
        grant: Grant,
        bytes: u64,
        blocked: bool,
    },
    /// Its response was sent whole, or its client has gone.
    Ended {
        flow: u64,
        complete: bool,
    },
    Probe {
        flow: u64,
    },
    Close {
        flow: u64,
    },
}

/// Asks a worker for the unacknowledged bytes of its connections; the answer goes into it.
pub(crate) type InFlightQuery = oneshot::Sender<u64>;

/// What all threads share of the uplink.
#[derive(Debug)]
pub(crate) struct Uplink {
    pacer: Arc<Pacer>,
    framing: WireOverhead,
    /// Bytes of one grant before it is cut to segments.
    grant: u64,
    /// The policy is told of every reading of a path.
    path_updates: bool,
    /// Instead of the pacer, the bytes in the kernel tell when the link may be given more.
    in_kernel: Option<InKernel>,
    /// Responses that wait at the gate, or are on their way there.
    waiting: AtomicUsize,
    /// The number of the next connection.
    flows: AtomicU64,
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
        framing: config.framing,
        grant: gate.grant_size(),
        path_updates: config.policy.needs().path_updates,
        in_kernel,
        waiting: AtomicUsize::new(0),
        flows: AtomicU64::new(0),
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
    fn framing_to(&self, peer: PeerAddress) -> WireOverhead {
        match peer.ip().to_canonical() {
            IpAddr::V4(_) => self.framing,
            IpAddr::V6(_) => self.framing.over_ipv6(),
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

/// Items that threads leave for one reader.
#[derive(Debug)]
struct Mailbox<T> {
    items: Mutex<Vec<T>>,
    filled: Notify,
}

impl<T> Default for Mailbox<T> {
    fn default() -> Self {
        Mailbox { items: Mutex::default(), filled: Notify::new() }
    }
}

impl<T> Mailbox<T> {
    fn post(&self, item: T) {
        let mut items = self.items.lock().unwrap_or_else(PoisonError::into_inner);
        items.push(item);
        // Only the first wakes the reader; it takes all.
        if items.len() == 1 {
            self.filled.notify_one();
        }
    }

    /// Swaps what was posted for the empty `into`.
    fn take(&self, into: &mut Vec<T>) {
        let mut items = self.items.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::swap(&mut *items, into);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_is_an_ipv4_address_or_an_ipv6_network() {
        let of = |peer: &str| client(PeerAddress::Ip(peer.parse().expect("an address")));
        assert_eq!(of("192.0.2.1:1"), of("192.0.2.1:2"));
        assert_eq!(of("192.0.2.1:1"), of("[::ffff:192.0.2.1]:1"));
        assert_ne!(of("192.0.2.1:1"), of("192.0.2.2:1"));
        assert_eq!(of("[2001:db8::1]:1"), of("[2001:db8::2:3:4:5]:1"));
        assert_ne!(of("[2001:db8::1]:1"), of("[2001:db8:0:1::1]:1"));
    }
}

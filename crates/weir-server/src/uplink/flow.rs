//! A connection that sends over the uplink: its socket, how its stream is cut into packets, and what
//! it puts on the wire beside its responses. With TLS each packet counts as if it held one record, and
//! what longer records save is given back once they are sent. Opened by [`super::LocalUplink`] for each
//! connection, in kernel mode by [`super::Banded`] for each response that waits; `send` sends small
//! responses through it at once and begins a job on it for the others.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use weir_sched::{ClientId, FairnessRecord, FlowSpec, Packets, Path, WireOverhead};

use super::events::Event;
use super::meter::Meter;
use super::registry::Registry;
use super::{Uplink, client};
use crate::identity::PeerAddress;
use crate::sys::TcpInfo;
use crate::sys::clock;
use crate::transport::Transport;

/// Bytes of a segment if the kernel does not say.
pub(super) const USUAL_MSS: u32 = 1448;

/// See the module. Its responses at the gate are [`Job`](super::Job)s.
#[derive(Debug)]
pub(crate) struct Flow {
    pub(super) uplink: Arc<Uplink>,
    pub(super) registry: Rc<Registry>,
    worker: usize,
    /// What the gate knows it by, for as long as it serves this client.
    pub(super) number: Cell<u64>,
    client: Cell<ClientId>,
    socket: Rc<Transport>,
    packets: Packets,
    /// Bytes that a record adds to what it carries; 0 in clear text.
    record: u32,
    meter: RefCell<Meter>,
    /// The round trip that the request under way names, if requests are asked for it.
    pub(super) asked: Cell<Option<Duration>>,
}

impl Flow {
    /// `end`: the other end, which packets are sized for; `address`: that of the client whose share of the
    /// link its responses have.
    pub(super) fn open(
        uplink: Arc<Uplink>,
        registry: Rc<Registry>,
        worker: usize,
        socket: &Rc<Transport>,
        end: PeerAddress,
        address: PeerAddress,
    ) -> Flow {
        let info = socket.tcp_info().ok();
        let mss = info.map_or(USUAL_MSS, |info| info.snd_mss.max(1));
        // With at most a segment unsent in the kernel, a connection that cannot take more is
        // noticed, and no response waits behind another's data.
        if uplink.in_kernel.is_none()
            && let Err(error) = socket.limit_unsent(mss)
        {
            tracing::debug!("TCP_NOTSENT_LOWAT: {error}");
        }
        uplink.open.fetch_add(1, Ordering::Relaxed);
        let record = socket.record_overhead();
        let packets = packets(mss, record, uplink.overhead_to(end));
        let path = info.map(|info| path(&info)).unwrap_or_default();
        let meter = Meter::new(uplink.overhead_to(end));
        let beside = socket.take_beside();
        // Until now there is only the handshake of TLS, and the kernel has counted its packets.
        let of_tls = match info {
            Some(info) if beside > 0 => {
                beside + uplink.overhead_to(end).control(u64::from(info.data_segs_out))
            }
            _ => beside,
        };
        uplink.charge_extra(meter.handshake() + of_tls);
        let flow = Flow {
            number: Cell::new(uplink.next_number()),
            uplink,
            registry,
            worker,
            client: Cell::new(client(address)),
            socket: socket.clone(),
            packets,
            record,
            meter: RefCell::new(meter),
            asked: Cell::new(None),
        };
        flow.enter(path);
        flow
    }

    /// The responses from now on are for the client at this address; none is under way. To the gate it is
    /// another connection.
    pub(super) fn serves(&self, address: PeerAddress) {
        let client = client(address);
        if self.client.replace(client) == client {
            return;
        }
        self.leave();
        self.number.set(self.uplink.next_number());
        self.enter(self.path().unwrap_or_default());
    }

    /// Makes it known by its number.
    fn enter(&self, path: Path) {
        let flow = self.number.get();
        self.registry.add_flow(flow, self.socket.clone());
        let spec = FlowSpec { client: self.client.get(), packets: self.packets, path };
        self.post(Event::Open { flow, worker: self.worker, spec });
    }

    fn leave(&self) {
        self.registry.remove_flow(self.number.get());
        self.post(Event::Close { flow: self.number.get() });
    }

    /// Takes the bytes of a whole response from the pacer, if they fit one grant and nobody waits. True if
    /// they were taken.
    pub(crate) fn take_if_free(&self, bytes: u64) -> bool {
        self.uplink.in_kernel.is_none()
            && bytes <= self.uplink.grant.load(Ordering::Relaxed).max(u64::from(self.packets.mss))
            && self.uplink.waiting.load(Ordering::Relaxed) == 0
            && self.uplink.pacer.take(clock::now(), self.packets.wire(bytes))
    }

    /// Counts a response that was sent without the gate: it gained nothing and lost nothing against fair
    /// sharing.
    pub(crate) fn sent_at_once(&self, bytes: u64) {
        self.settle_records(bytes);
        self.uplink.metrics.fairness.settled(&FairnessRecord {
            size: bytes,
            won: 0.0,
            client_was_slow: false,
        });
    }

    /// Has the pacer count the records that `bytes` went in, instead of one for each packet.
    pub(super) fn settle_records(&self, bytes: u64) {
        if self.record == 0 {
            return;
        }
        let counted =
            bytes.div_ceil(u64::from(self.packets.mss)).saturating_mul(u64::from(self.record));
        let added = self.socket.take_record_bytes();
        self.uplink.refund(counted.saturating_sub(added));
        self.uplink.charge_extra(added.saturating_sub(counted));
    }

    /// The path to the client as it is now, if the kernel says.
    pub(super) fn path(&self) -> Option<Path> {
        self.socket.tcp_info().ok().map(|info| self.path_of(&info))
    }

    /// The next response answers a request with this query.
    pub(crate) fn answers(&self, query: Option<&str>) {
        self.asked.set(self.uplink.asked(query));
    }

    fn path_of(&self, info: &TcpInfo) -> Path {
        let measured = path(info);
        Path { round_trip: self.asked.get().unwrap_or(measured.round_trip), ..measured }
    }

    /// Charges what the connection sent beside its responses since the last call. Returns the path, of
    /// which the kernel was asked, too.
    pub(super) fn charge_extra(&self) -> Option<Path> {
        let info = self.socket.tcp_info().ok()?;
        let bytes = self.meter.borrow_mut().extra(&info) + self.beside();
        if bytes > 0 {
            self.uplink.charge_extra(bytes);
        }
        Some(self.path_of(&info))
    }

    /// Wire bytes of records beside those of responses since the last call: tickets go with the first
    /// response, and the last record goes with the end of the connection.
    fn beside(&self) -> u64 {
        let Packets { mss, overhead } = self.packets;
        let bytes = overhead.bytes.saturating_sub(self.record);
        let packets = Packets { mss: mss + self.record, overhead: WireOverhead { bytes } };
        packets.shared(self.socket.take_beside())
    }

    pub(super) fn post(&self, event: Event) {
        self.uplink.inbox.post(event);
    }
}

/// How a stream of `mss` bytes a segment is cut, if each segment holds one record.
pub(super) fn packets(mss: u32, record: u32, overhead: WireOverhead) -> Packets {
    let bytes = overhead.bytes.saturating_add(record);
    Packets { mss: mss.saturating_sub(record).max(1), overhead: WireOverhead { bytes } }
}

fn path(info: &TcpInfo) -> Path {
    let window = u64::from(info.snd_cwnd) * u64::from(info.snd_mss);
    Path { round_trip: info.round_trip(), window, window_credit: info.window_credit() }
}

impl Drop for Flow {
    fn drop(&mut self) {
        self.leave();
        // What was sent again after the last response had been handed over counts as well: on a
        // lossy path that is most of what is sent again. The last acknowledgement is among it, or
        // still to come.
        let meter = self.meter.get_mut();
        let extra = self.socket.tcp_info().map_or(0, |info| meter.extra(&info));
        let farewell = extra.max(meter.farewell());
        self.uplink.charge_extra(farewell + self.beside());
        if self.uplink.open.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.uplink.unused.notify_one();
        }
    }
}

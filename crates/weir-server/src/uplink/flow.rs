//! A connection's side of the uplink: it tells the gate what happens and waits for grants. Opened by
//! [`super::LocalUplink`] for each connection, used by `send`.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, VecDeque};
use std::future::poll_fn;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Poll, Waker};
use std::time::Duration;

use weir_sched::{FairnessRecord, FlowSpec, Grant, ObjectId, Packets, Path};

use super::kernel::COUNT_EVERY;
use super::meter::Meter;
use super::{Event, Uplink, client};
use crate::identity::PeerAddress;
use crate::metrics::Waiting;
use crate::sys::TcpInfo;
use crate::sys::clock;
use crate::transport::Transport;

/// After how many grants it is measured what was retransmitted.
const LOOK_EVERY: u32 = 16;

/// Bytes of a segment if the kernel does not say.
const USUAL_MSS: u32 = 1448;

/// A connection, and the grants that wait for its task.
#[derive(Debug)]
struct Slot {
    socket: Rc<Transport>,
    grants: RefCell<VecDeque<Grant>>,
    /// A response waits for grants. One that comes later (its lease had run out, and the same bytes
    /// were granted again) must not serve the next response.
    expects: Cell<bool>,
    waker: RefCell<Option<Waker>>,
}

/// The connections of one worker, by number.
#[derive(Debug, Default)]
pub(super) struct LocalFlows(RefCell<HashMap<u64, Rc<Slot>>>);

impl LocalFlows {
    /// Bytes of these connections that their clients have not acknowledged.
    pub(crate) fn bytes_in_flight(&self) -> u64 {
        let flows = self.0.borrow();
        flows.values().filter_map(|slot| slot.socket.unacknowledged().ok()).sum()
    }

    /// Counts the bytes of these connections in the kernel again and again, if that is what the
    /// uplink goes by.
    pub(crate) async fn count(&self, uplink: &Uplink, worker: usize) {
        let Some(in_kernel) = &uplink.in_kernel else { return };
        loop {
            tokio::time::sleep(COUNT_EVERY).await;
            if uplink.waiting() > 0 {
                in_kernel.counted(worker, self.bytes_in_flight());
                uplink.inbox.filled.notify_one();
            }
        }
    }

    /// Hands the grants for `worker` to its connections, for as long as the worker runs.
    pub(crate) async fn distribute(&self, uplink: &Uplink, worker: usize) {
        let Some(outbox) = uplink.outboxes.get(worker) else { return };
        let mut grants = Vec::new();
        loop {
            outbox.filled.notified().await;
            outbox.take(&mut grants);
            let flows = self.0.borrow();
            for grant in grants.drain(..) {
                match flows.get(&grant.tag) {
                    Some(slot) if slot.expects.get() => {
                        slot.grants.borrow_mut().push_back(grant);
                        if let Some(waker) = slot.waker.borrow_mut().take() {
                            waker.wake();
                        }
                    }
                    _ => uplink.inbox.post(Event::Used { grant, bytes: 0, blocked: false }),
                }
            }
        }
    }
}

/// A connection that sends over the uplink.
#[derive(Debug)]
pub(crate) struct Flow {
    uplink: Arc<Uplink>,
    registry: Rc<LocalFlows>,
    slot: Rc<Slot>,
    number: u64,
    packets: Packets,
    meter: Meter,
    grants_since_look: u32,
    /// A response of it is at the gate.
    waiting: bool,
    /// It counts among those that wait for the link.
    counted: Cell<bool>,
    /// By size.
    class: usize,
}

impl Flow {
    pub(super) fn open(
        uplink: Arc<Uplink>,
        registry: Rc<LocalFlows>,
        worker: usize,
        socket: &Rc<Transport>,
        peer: PeerAddress,
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
        let number = uplink.flows.fetch_add(1, Ordering::Relaxed);
        let (grants, expects, waker) = Default::default();
        let slot = Rc::new(Slot { socket: socket.clone(), grants, expects, waker });
        registry.0.borrow_mut().insert(number, slot.clone());
        let packets = Packets { mss, overhead: uplink.framing_to(peer) };
        let spec = FlowSpec {
            client: client(peer),
            packets,
            tag: number,
            path: info.map(|info| path(&info)).unwrap_or_default(),
        };
        uplink.inbox.post(Event::Open { worker, spec });
        let meter = Meter::new(packets.overhead);
        uplink.pacer.charge_extra(clock::now(), meter.handshake());
        Flow {
            uplink,
            registry,
            slot,
            number,
            packets,
            meter,
            grants_since_look: 0,
            waiting: false,
            counted: Cell::new(false),
            class: 0,
        }
    }

    /// Takes the bytes of a whole response from the pacer, if they fit one grant and nobody waits. True if
    /// they were taken.
    pub(crate) fn take_if_free(&self, bytes: u64) -> bool {
        self.uplink.in_kernel.is_none()
            && bytes <= self.uplink.grant.max(u64::from(self.packets.mss))
            && self.uplink.waiting.load(Ordering::Relaxed) == 0
            && self.uplink.pacer.take(clock::now(), self.packets.wire(bytes))
    }

    /// Counts a response that was sent without the gate: it gained nothing and lost nothing against fair
    /// sharing.
    pub(crate) fn sent_at_once(&self, bytes: u64) {
        self.uplink.metrics.fairness.settled(&FairnessRecord {
            size: bytes,
            won: 0.0,
            client_was_slow: false,
        });
    }

    /// A response of `bytes` (`None`: of unknown length) comes to the gate.
    pub(crate) fn arrive(&mut self, bytes: Option<u64>, range_of: Option<ObjectId>) {
        self.waiting = true;
        self.slot.expects.set(true);
        self.class = Waiting::class(bytes);
        self.count(true);
        // The window has opened, or closed, since the last response.
        let path = self.slot.socket.tcp_info().ok().map(|info| path(&info));
        self.post(Event::Arrive { flow: self.number, size: bytes, range_of, path });
    }

    /// Waits for the next grant.
    pub(crate) async fn granted(&mut self) -> Grant {
        let grant = poll_fn(|context| match self.slot.grants.borrow_mut().pop_front() {
            Some(grant) => Poll::Ready(grant),
            None => {
                *self.slot.waker.borrow_mut() = Some(context.waker().clone());
                Poll::Pending
            }
        })
        .await;
        self.grants_since_look += 1;
        grant
    }

    /// Reports what was sent of a grant, and whether the socket is full.
    pub(crate) fn used(&self, grant: &Grant, bytes: u64, blocked: bool) {
        self.post(Event::Used { grant: *grant, bytes, blocked });
    }

    /// The response waits for something other than the link, such as a backend that sends something now
    /// and then. It does not count among those that wait for the link meanwhile.
    pub(crate) fn idle(&self) {
        self.count(false);
    }

    fn count(&self, counts: bool) {
        let (all, by_size) = (&self.uplink.waiting, &self.uplink.metrics.waiting);
        match (self.counted.replace(counts), counts) {
            (false, true) => {
                all.fetch_add(1, Ordering::Relaxed);
                by_size.begins(self.class);
            }
            (true, false) => {
                all.fetch_sub(1, Ordering::Relaxed);
                by_size.ends(self.class);
            }
            _ => {}
        }
    }

    /// The socket takes data again, or there is something to send again.
    pub(crate) fn ready(&self) {
        self.count(self.waiting);
        self.post(Event::Ready { flow: self.number });
    }

    /// The client has closed its side: a few bytes, sent ahead of its turn, will tell whether it has gone.
    pub(crate) fn probe(&self) {
        self.post(Event::Probe { flow: self.number });
    }

    /// The response has been sent, or its client has gone.
    pub(crate) fn leave(&mut self, socket: &Transport, complete: bool) {
        self.charge_extra(socket);
        if !complete {
            self.uplink.metrics.dead_jobs.inc();
        }
        self.end_waiting(complete);
    }

    /// Counts what the connection sent beside its responses.
    pub(crate) fn charge_extra(&mut self, socket: &Transport) {
        self.grants_since_look = 0;
        let Ok(info) = socket.tcp_info() else { return };
        if self.waiting && self.uplink.path_updates {
            self.post(Event::PathChanged { flow: self.number, path: path(&info) });
        }
        let bytes = self.meter.extra(&info);
        if bytes > 0 {
            self.uplink.pacer.charge_extra(clock::now(), bytes);
        }
    }

    /// The same, but only every 16 grants: for a response that is never blocked.
    pub(crate) fn look(&mut self, socket: &Transport) {
        if self.grants_since_look >= LOOK_EVERY {
            self.charge_extra(socket);
        }
    }

    fn end_waiting(&mut self, complete: bool) {
        if std::mem::take(&mut self.waiting) {
            self.count(false);
            self.post(Event::Ended { flow: self.number, complete });
        }
        self.slot.expects.set(false);
        // A grant that was given twice must not serve the next response.
        for grant in self.slot.grants.borrow_mut().drain(..) {
            self.post(Event::Used { grant, bytes: 0, blocked: false });
        }
    }

    fn post(&self, event: Event) {
        self.uplink.inbox.post(event);
    }
}

fn path(info: &TcpInfo) -> Path {
    let round_trip = Duration::from_micros(info.rtt.into());
    let window = u64::from(info.snd_cwnd) * u64::from(info.snd_mss);
    Path { round_trip, window, window_credit: info.window_credit() }
}

impl Drop for Flow {
    fn drop(&mut self) {
        self.end_waiting(false);
        self.registry.0.borrow_mut().remove(&self.number);
        self.post(Event::Close { flow: self.number });
        // What was sent again after the last response had been handed over counts as well: on a
        // lossy path that is most of what is sent again. The last acknowledgement is among it, or
        // still to come.
        let extra = self.slot.socket.tcp_info().map_or(0, |info| self.meter.extra(&info));
        self.uplink.pacer.charge_extra(clock::now(), extra.max(self.meter.farewell()));
        if self.uplink.open.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.uplink.unused.notify_one();
        }
    }
}

//! A connection whose responses go through the kernel's bands. Opened by [`super::LocalUplink`] in kernel
//! mode; `send` asks it, before it hands bytes over, for the right band and how much may go in it.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::Uplink;
use super::bands::{CONTROL_PRIORITY, OTHERS_PRIORITY};
use super::classes::Classes;
use super::flow::Flow;
use super::kernel::InKernel;
use super::progress::Progress;
use super::registry::Registry;
use crate::identity::PeerAddress;
use crate::transport::{FIRST_UNSENT, Transport};

/// A response of at most so many bytes is handed over as a whole and stays in its band: the kernel has
/// all of it before the first of it is sent. It never waits in weir. So does the rest of a larger one
/// from here on, which still changes bands. The paper's last cutoff.
pub(crate) const WHOLE: u64 = 50_000;

/// Bytes that a large response may have unsent where there is no cap.
const UNCAPPED_UNSENT: u32 = 16 * 1024;

/// See the module.
#[derive(Debug)]
pub(crate) struct Banded {
    uplink: Arc<Uplink>,
    registry: Rc<Registry>,
    classes: Rc<Classes>,
    socket: Rc<Transport>,
    /// The other end: how large packets are goes by it.
    peer: PeerAddress,
    /// The client whose responses it carries.
    client: Cell<PeerAddress>,
    worker: usize,
    /// Its number in the registry.
    number: u64,
    /// The socket's, so that it is set only where it changes.
    priority: Cell<u32>,
    /// How much it may have unsent, likewise.
    unsent: Cell<u32>,
    /// The round trip that the request under way names, if requests are asked for it.
    asked: Cell<Option<Duration>>,
    /// Bytes of the response under way, and the round trip when it began.
    size: Cell<u64>,
    round_trip: Cell<Duration>,
}

impl Banded {
    /// `peer`: the other end, which packets are sized for; `client`: whose responses it carries.
    pub(super) fn open(
        uplink: Arc<Uplink>,
        registry: Rc<Registry>,
        classes: Rc<Classes>,
        worker: usize,
        socket: &Rc<Transport>,
        peer: PeerAddress,
        client: PeerAddress,
    ) -> Banded {
        uplink.open.fetch_add(1, Ordering::Relaxed);
        // The kernel would count `send_timeout`, too, and takes the time that packets wait in a band for the
        // client's. `send` can tell the two apart.
        if let Err(error) = socket.unset_user_timeout() {
            tracing::debug!("TCP_USER_TIMEOUT: {error}");
        }
        let socket = socket.clone();
        let number = uplink.next_number();
        registry.add_banded(number, socket.clone());
        let (priority, unsent) = (Cell::new(OTHERS_PRIORITY), Cell::new(FIRST_UNSENT));
        let (asked, size, round_trip) = Default::default();
        let client = Cell::new(client);
        Banded {
            uplink,
            registry,
            classes,
            socket,
            peer,
            client,
            worker,
            number,
            priority,
            unsent,
            asked,
            size,
            round_trip,
        }
    }

    /// The next response answers a request with this query.
    pub(crate) fn answers(&self, query: Option<&str>) {
        self.asked.set(self.uplink.asked(query));
    }

    /// The responses from now on are for the client at this address.
    pub(super) fn serves(&self, client: PeerAddress) {
        self.client.set(client);
    }

    /// A response of `left` bytes begins, `u64::MAX` if nobody knows how many.
    pub(crate) fn begins(&self, left: u64) {
        if left != u64::MAX {
            self.classes.begins(left);
        }
        self.size.set(left);
        if self.classes.need_round_trip() {
            let measured = || Some(self.socket.tcp_info().ok()?.round_trip());
            let round_trip = self.asked.get().or_else(measured);
            self.round_trip.set(round_trip.unwrap_or_default());
        }
        // If packets of the response before are queued, this one follows them in their band.
        self.enter_band(left);
        // All of a small one. Of a large one twice the cap: the kernel tells of room only when less than
        // half of this is unsent, and what is below the cap must not count as full, since others would be
        // sent meanwhile. The gate keeps what is queued to the cap; this does not limit it.
        let unsent = if left <= WHOLE { FIRST_UNSENT } else { self.unsent_of_large() };
        if unsent != self.unsent.get() {
            self.limit_unsent(unsent);
        }
    }

    /// A large response goes on: it may have more unsent if the cap has grown.
    pub(crate) fn goes_on(&self, left: u64) {
        // If packets of it are queued, what follows goes in their band.
        self.enter_band(left);
        let unsent = self.unsent_of_large();
        if unsent > self.unsent.get() {
            self.limit_unsent(unsent);
        }
    }

    /// The kernel has taken so many bytes of a response.
    pub(crate) fn sent(&self, bytes: u64) {
        self.uplink.handed_over.fetch_add(bytes, Ordering::Relaxed);
    }

    /// How many bytes the kernel may have unsent.
    #[cfg(test)]
    pub(super) fn unsent(&self) -> u32 {
        self.unsent.get()
    }

    fn unsent_of_large(&self) -> u32 {
        let cap = self.uplink.in_kernel.as_ref().map(InKernel::cap);
        cap.map_or(UNCAPPED_UNSENT, |cap| u32::try_from(cap.saturating_mul(2)).unwrap_or(u32::MAX))
    }

    fn limit_unsent(&self, unsent: u32) {
        self.unsent.set(unsent);
        if let Err(error) = self.socket.limit_unsent(unsent) {
            tracing::debug!("TCP_NOTSENT_LOWAT: {error}");
        }
    }

    /// A request with a body comes: what is said before its response goes first, as acknowledgements of
    /// the body do.
    pub(crate) fn receives(&self) {
        self.enter(CONTROL_PRIORITY);
    }

    /// Whether a response waits in weir while it has so much left.
    pub(crate) fn waits(&self, left: u64) -> bool {
        left > WHOLE && self.uplink.in_kernel.is_some() && self.uplink.in_order()
    }

    /// Its place at the gate, for a response that waits.
    pub(crate) fn at_gate(&self) -> Flow {
        let (uplink, registry) = (self.uplink.clone(), self.registry.clone());
        let (end, client) = (self.peer, self.client.get());
        let flow = Flow::open(uplink, registry, self.worker, &self.socket, end, client);
        flow.asked.set(self.asked.get());
        flow
    }

    /// Has what is sent from now on go through the band of a response with `left` bytes left; false if it
    /// cannot yet, because data of a later band are still here.
    pub(crate) fn enter_band(&self, left: u64) -> bool {
        self.enter(self.classes.priority(self.progress(left)))
    }

    fn enter(&self, wanted: u32) -> bool {
        let has = self.priority.get();
        if has == wanted || !self.uplink.in_order() {
            return true;
        }
        // A socket that never had a band has sent no data.
        if wanted > has && has != OTHERS_PRIORITY && self.has_data_here() {
            return false;
        }
        match self.socket.set_priority(wanted) {
            Ok(()) => self.priority.set(wanted),
            Err(error) => self.uplink.priority_refused(&error),
        }
        true
    }

    /// Whether data that were handed over have not left this host: packets that would be overtaken, or bytes
    /// that belong to the band they were handed over in. The part of a segment waits for what follows it.
    fn has_data_here(&self) -> bool {
        let is_unsent = || self.socket.tcp_info().is_ok_and(|info| info.has_unsent_segment());
        self.has_packets_here() || is_unsent()
    }

    /// Whether packets of the connection wait for a device of this host.
    pub(crate) fn has_packets_here(&self) -> bool {
        self.socket.queued_here().is_ok_and(|bytes| bytes > 0)
    }

    /// How many of the `left` bytes belong to the band that they have now.
    pub(crate) fn to_cutoff(&self, left: u64) -> u64 {
        self.classes.to_cutoff(self.progress(left))
    }

    fn progress(&self, left: u64) -> Progress {
        Progress { size: self.size.get(), left, round_trip: self.round_trip.get() }
    }
}

/// The gate lives as long as any connection may come to it.
impl Drop for Banded {
    fn drop(&mut self) {
        self.registry.remove_banded(self.number);
        if self.uplink.open.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.uplink.unused.notify_one();
        }
    }
}

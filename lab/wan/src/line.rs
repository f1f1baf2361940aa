//! One direction of the link: loss, then the rate with its queue, then the delay of the packet's
//! class. The caller gives the time with each call, in whole nanoseconds since any origin, so that
//! nothing is rounded but the time on the wire; the mover drives two lines.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, VecDeque};
use std::net::IpAddr;
use std::time::Duration;

use crate::client::Delays;
use crate::loss::Losses;
use crate::{Class, Counts, Direction, Error};

/// Ethernet's header on every IP packet, as HTB counts it on a veth or an Ethernet device.
pub const FRAME: usize = 14;

/// Packets later than this are counted as late.
const LATE: Duration = Duration::from_micros(200);
/// And as very late.
const VERY_LATE: Duration = Duration::from_millis(1);

/// One direction with packets of type `P`.
#[derive(Debug)]
pub struct Line<P> {
    losses: Losses,
    rate: Option<u64>,
    queue: usize,
    delays: Delays,
    /// The latest time seen.
    now: Duration,
    /// When the wire has sent what it was given.
    free: Duration,
    /// When each packet that waits for the wire gets it.
    starts: VecDeque<Duration>,
    underway: BinaryHeap<Underway<P>>,
    counts: Counts,
}

#[derive(Debug)]
struct Underway<P> {
    due: Duration,
    number: u64,
    bytes: usize,
    packet: P,
}

impl<P> Line<P> {
    /// A direction; `stream` tells the losses of one direction from those of the other.
    ///
    /// # Errors
    ///
    /// Refuses a rate of 0, impossible losses and classes.
    pub fn new(
        options: &Direction,
        classes: &[Class],
        seed: u64,
        stream: u64,
    ) -> Result<Line<P>, Error> {
        if options.rate == Some(0) {
            return Err(Error::new("the rate is 0 bit/s: give at least 1, or no rate"));
        }
        Ok(Line {
            losses: Losses::new(options.loss, seed, stream)?,
            rate: options.rate,
            queue: options.queue,
            delays: Delays::new(classes)?,
            now: Duration::ZERO,
            free: Duration::ZERO,
            starts: VecDeque::new(),
            underway: BinaryHeap::new(),
            counts: Counts::default(),
        })
    }

    /// A packet of so many bytes (of IP) comes in. It is given back when it is lost or dropped.
    pub fn push(
        &mut self,
        now: Duration,
        client: Option<IpAddr>,
        bytes: usize,
        packet: P,
    ) -> Option<P> {
        self.now = self.now.max(now);
        let number = self.counts.packets_in;
        self.counts.packets_in += 1;
        self.counts.bytes_in += bytes as u64;
        if self.losses.next_is_lost() {
            self.counts.lost += 1;
            return Some(packet);
        }
        let Some(sent) = self.send(bytes) else {
            self.counts.dropped += 1;
            return Some(packet);
        };
        let due = sent.saturating_add(self.delays.of(client));
        self.underway.push(Underway { due, number, bytes, packet });
        self.counts.underway += 1;
        None
    }

    /// When the wire has sent this packet; `None` if it may not even wait.
    fn send(&mut self, bytes: usize) -> Option<Duration> {
        let Some(rate) = self.rate else {
            return Some(self.now);
        };
        while self.starts.front().is_some_and(|&start| start <= self.now) {
            self.starts.pop_front();
        }
        if self.free > self.now {
            if self.starts.len() >= self.queue {
                return None;
            }
            self.starts.push_back(self.free);
            self.counts.most_queued = self.counts.most_queued.max(self.starts.len());
        }
        self.free = self.free.max(self.now).saturating_add(on_the_wire(bytes, rate));
        Some(self.free)
    }

    /// The next packet that is due by now: the earliest, and of those the one that came first.
    pub fn pop_due(&mut self, now: Duration) -> Option<P> {
        self.now = self.now.max(now);
        let first = self.underway.peek_mut().filter(|first| first.due <= self.now)?;
        let first = std::collections::binary_heap::PeekMut::pop(first);
        let late = self.now - first.due;
        self.counts.late += u64::from(late > LATE);
        self.counts.very_late += u64::from(late > VERY_LATE);
        self.counts.most_late = self.counts.most_late.max(late);
        self.counts.underway -= 1;
        self.counts.packets_out += 1;
        self.counts.bytes_out += first.bytes as u64;
        Some(first.packet)
    }

    /// When the next packet is due; `None` if there is none.
    pub fn next_due(&self) -> Option<Duration> {
        self.underway.peek().map(|first| first.due)
    }

    /// A packet of so many bytes, popped before, could not be handed on.
    pub fn refused(&mut self, bytes: usize) {
        self.counts.packets_out -= 1;
        self.counts.bytes_out -= bytes as u64;
        self.counts.refused += 1;
    }

    /// What happened so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }
}

/// How long a packet is on the wire, rounded up to a nanosecond so that the rate is never exceeded.
pub fn on_the_wire(bytes: usize, rate: u64) -> Duration {
    let bits = (bytes + FRAME) as u128 * 8;
    let nanoseconds = (bits * 1_000_000_000).div_ceil(u128::from(rate));
    Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(u64::MAX))
}

/// The heap's greatest is the packet due first.
impl<P> Ord for Underway<P> {
    fn cmp(&self, other: &Self) -> Ordering {
        (other.due, other.number).cmp(&(self.due, self.number))
    }
}

impl<P> PartialOrd for Underway<P> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<P> PartialEq for Underway<P> {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

impl<P> Eq for Underway<P> {}

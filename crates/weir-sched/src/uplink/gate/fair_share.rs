//! How one response takes part in virtual fair sharing: how far it has come, how much its path lets
//! be under way, whether its client takes data. Each entry of the gate has one; `fair_sharing`
//! moves it on.

use std::time::Duration;

use super::short_queue::ShortQueue;
use crate::policy::Path;
use crate::time::Time;
use crate::uplink::wire::Packets;
use crate::virtual_fair::{Level, whole_bytes};
use weir_units::BitRate;

/// Responses of one share that were sent and whose fair finish is still to come; with more, the
/// oldest is recorded as if its fair finish came now.
const PARTS: usize = 256;

/// A place in the virtual sharing. Responses that follow each other take it over.
#[derive(Debug)]
pub(super) struct FairShare {
    /// Where it will have had everything, if nothing holds it up; counts only while it shares.
    pub(super) finish: Level,
    pub(super) state: State,
    /// What may be under way to its client; `None`: more than the link carries meanwhile.
    window: Option<Box<Window>>,
    /// Its client has taken nothing for longer than a round trip explains.
    pub(super) stalled: bool,
    /// Responses that were sent and are not finished here, in order.
    parts: ShortQueue<SentPart>,
}

/// Where a share stands. Services are in 2^-32 byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// It gets its part; something happens at this level.
    Sharing { until: Level },
    /// Its client takes nothing more for now; so much is still to be had.
    Paused { left: u128 },
    /// It has had everything.
    Finished,
}

/// The congestion window that the connection would have if the link were shared: it doubles with
/// each round trip, as slow start does without losses (RFC 5681 section 3.1). Wire bytes.
#[derive(Debug)]
struct Window {
    size: u64,
    under_way: u64,
    segment: u64,
    round_trip: Duration,
    /// What the link carries in a round trip: a larger window never holds anything up.
    enough: u64,
    /// Up to where service has been put under way.
    counted: Level,
}

impl Window {
    /// Bytes that may follow now.
    fn room(&self) -> u64 {
        self.size.saturating_sub(self.under_way)
    }
}

/// A response that was sent, and what of its share follows it.
#[derive(Clone, Copy, Debug)]
pub(super) struct SentPart {
    /// Bytes of its stream.
    pub(super) size: u64,
    pub(super) sent: Time,
    /// For how long its client did not read.
    pub(super) own: Duration,
    /// Wire bytes of the responses behind it.
    after: u64,
}

impl FairShare {
    /// A share of `work` wire bytes from `level` on, over a path to its client that begins at a link
    /// of `rate`.
    pub(super) fn new(
        level: Level,
        work: u64,
        path: Path,
        packets: Packets,
        rate: BitRate,
    ) -> FairShare {
        let mss = u64::from(packets.mss.max(1));
        let enough = rate.bytes_in(path.round_trip);
        let size = packets.wire(path.window.max(mss));
        let window = (size < enough && size < work).then(|| {
            let (segment, round_trip) = (packets.wire(mss), path.round_trip);
            Box::new(Window { size, under_way: 0, segment, round_trip, enough, counted: level })
        });
        let finish = level.plus(work);
        let state = State::Sharing { until: finish };
        FairShare { finish, state, window, stalled: false, parts: ShortQueue::default() }
    }

    /// What it is still to have when the sharing stands at `level`.
    pub(super) fn left(&self, level: Level) -> u128 {
        match self.state {
            State::Sharing { .. } => self.finish.above(level),
            State::Paused { left } => left,
            State::Finished => 0,
        }
    }

    /// `work` more wire bytes are to be had.
    pub(super) fn lengthen(&mut self, level: Level, work: u64) {
        self.change_left(level, |left| left + (u128::from(work) << 32));
    }

    /// `work` wire bytes at its end will never be sent: fair sharing does not send them either. What
    /// was sent beyond its share stays, for the others still have to get that back.
    pub(super) fn shorten(&mut self, level: Level, work: u64) {
        self.change_left(level, |left| left.saturating_sub(u128::from(work) << 32));
        for part in self.parts.iter_mut() {
            part.after = part.after.saturating_sub(work);
        }
    }

    /// Takes back what it was given since its client took the last of it, when it had `left` (2^-32
    /// byte) to come and its client lacked `unsent` bytes. Returns how many whole bytes that is.
    pub(super) fn give_back(&mut self, level: Level, left: u128, unsent: u64) -> u64 {
        let taken = left.min(u128::from(unsent) << 32);
        let back = whole_bytes(taken.saturating_sub(self.left(level)) as i128).unsigned_abs();
        if back > 0 {
            self.lengthen(level, back);
            return back;
        }
        0
    }

    fn change_left(&mut self, level: Level, change: impl FnOnce(u128) -> u128) {
        let left = change(self.left(level));
        match &mut self.state {
            State::Sharing { .. } => self.finish = level.raised(left),
            State::Paused { left: old } => *old = left,
            State::Finished if left > 0 => {
                self.finish = level.raised(left);
                self.state = State::Sharing { until: self.finish };
            }
            State::Finished => {}
        }
    }

    /// The last of its responses has been sent: `size` bytes of stream, at `sent`, to a client that
    /// did not read for `own`.
    pub(super) fn sent(&mut self, size: u64, sent: Time, own: Duration) {
        self.parts.push(SentPart { size, sent, own, after: 0 });
    }

    /// Another response of `work` bytes follows. Returns one that is recorded early for it.
    pub(super) fn follow(&mut self, level: Level, work: u64) -> Option<SentPart> {
        self.lengthen(level, work);
        for part in self.parts.iter_mut() {
            part.after += work;
        }
        if self.parts.len() > PARTS { self.parts.pop_first() } else { None }
    }

    /// Where something happens next: a part or all is finished, the window is full, or what its
    /// client took (all but `unsent`) is reached.
    pub(super) fn next_stop(&self, level: Level, unsent: u64) -> Level {
        let part = self.parts.first().map(|part| self.finish.minus(part.after));
        let piece =
            self.window.as_ref().map(|window| level.plus(window.segment.min(window.room())));
        let stalled = self.stalled.then(|| self.finish.minus(unsent));
        let stops = part.into_iter().chain(piece).chain(stalled);
        stops.filter(|stop| *stop > level).min().map_or(self.finish, |stop| stop.min(self.finish))
    }

    /// Whether it can go on at `level`, with `unsent` bytes neither sent nor granted.
    pub(super) fn can_go_on(&self, level: Level, unsent: u64) -> bool {
        let left = self.left(level);
        let stalled = self.stalled && left <= u128::from(unsent) << 32;
        let full = self.window.as_ref().is_some_and(|window| window.room() == 0);
        left > 0 && !stalled && !full
    }

    /// The next response that is finished at `level`.
    pub(super) fn finished_part(&mut self, level: Level) -> Option<SentPart> {
        let first = self.parts.first()?;
        if self.finish.minus(first.after) > level {
            return None;
        }
        self.parts.pop_first()
    }

    /// Counts what the sharing has sent up to `level`. Returns how much that is and after what time
    /// it is acknowledged.
    pub(super) fn put_under_way(&mut self, level: Level) -> Option<(u64, Duration)> {
        let window = self.window.as_mut()?;
        let bytes = whole_bytes(level.above(window.counted) as i128).unsigned_abs();
        window.counted = window.counted.plus(bytes);
        window.under_way += bytes;
        (bytes > 0).then_some((bytes, window.round_trip))
    }

    /// `bytes` were acknowledged: the window opens.
    pub(super) fn acknowledged(&mut self, bytes: u64) {
        let Some(window) = &mut self.window else { return };
        window.under_way = window.under_way.saturating_sub(bytes);
        window.size += bytes;
        if window.size >= window.enough {
            self.window = None;
        }
    }

    /// It goes on at `level` after a pause.
    pub(super) fn resume(&mut self, level: Level, left: u128) {
        self.finish = level.raised(left);
        if let Some(window) = &mut self.window {
            window.counted = level;
        }
    }
}

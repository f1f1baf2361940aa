//! A token bucket that tells when the link may be given more. Used by the gate and, for responses
//! that fit one grant while nobody waits, by the server's connections directly.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::time::Time;
use weir_units::BitRate;

/// Paces to a rate: what is charged now must have left the link before more may follow.
///
/// The whole state is one number, the time at which all that was charged will have left the link
/// (the generic cell rate algorithm, ITU-T I.371), so several threads may share it without a lock.
/// After a pause at most [`Pacer::depth`] of the link's time is caught up.
#[derive(Debug)]
pub struct Pacer {
    /// In bits per second.
    rate: AtomicU64,
    free_at: AtomicU64,
    depth: AtomicU64,
    lateness: AtomicU64,
    /// Nanoseconds of the link that went to bytes which no grant covers, since the beginning.
    ungranted: AtomicU64,
    /// Bytes on the wire, since the beginning.
    charged: AtomicU64,
}

/// The least and most that a pause lets through at once, as time of the link. Below 1 ms an
/// ordinary late wake-up would waste the link; above 5 ms the burst itself becomes a queue.
const DEPTH: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(5));

/// The most of the link's time that bytes which are not a response's may take from what follows.
const QUEUED: Duration = Duration::from_millis(20);

impl Pacer {
    /// A pacer that lets `rate` through.
    pub fn new(rate: BitRate) -> Pacer {
        Pacer {
            rate: AtomicU64::new(rate.bits()),
            free_at: AtomicU64::new(0),
            depth: AtomicU64::new(DEPTH.0.as_nanos() as u64),
            lateness: AtomicU64::new(0),
            ungranted: AtomicU64::new(0),
            charged: AtomicU64::new(0),
        }
    }

    /// The rate that is let through.
    pub fn rate(&self) -> BitRate {
        // It was never zero.
        BitRate::new(self.rate.load(Ordering::Relaxed)).unwrap_or(BitRate::LARGEST)
    }

    /// From now on `rate` is let through; what was charged before has its time at the rate before.
    pub fn set_rate(&self, rate: BitRate) {
        self.rate.store(rate.bits(), Ordering::Relaxed);
    }

    /// Bytes on the wire since the beginning: all that was charged or taken and not given back.
    pub fn charged(&self) -> u64 {
        self.charged.load(Ordering::Relaxed)
    }

    /// When the link will have sent all that was charged.
    pub fn free_at(&self) -> Time {
        Time::from_nanos(self.free_at.load(Ordering::Relaxed))
    }

    /// Counts `wire_bytes` as sent at `now`, whether or not the link was free.
    pub fn charge(&self, now: Time, wire_bytes: u64) {
        self.charged.fetch_add(wire_bytes, Ordering::Relaxed);
        let _ = self.free_at.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |free| {
            Some(self.after(free, now, wire_bytes))
        });
    }

    /// Counts `wire_bytes` that no response asked for: handshakes, acknowledgements,
    /// retransmissions. They have gone already, so they hold others up for as long as a line would
    /// queue them and no longer, 20 ms: the rest was lost, or is on another line.
    pub fn charge_extra(&self, now: Time, wire_bytes: u64) {
        self.charged.fetch_add(wire_bytes, Ordering::Relaxed);
        let longest = (now + QUEUED).as_nanos();
        let charged = |free: u64| self.after(free, now, wire_bytes).min(free.max(longest));
        let before = self
            .free_at
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |free| Some(charged(free)));
        let (Ok(before) | Err(before)) = before;
        let span = charged(before) - self.after(before, now, 0);
        self.ungranted.fetch_add(span, Ordering::Relaxed);
    }

    /// Counts `wire_bytes` as sent if the link is free at `now`; tells whether it was.
    pub fn take(&self, now: Time, wire_bytes: u64) -> bool {
        let taken = self
            .free_at
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |free| {
                (free <= now.as_nanos()).then(|| self.after(free, now, wire_bytes))
            })
            .is_ok();
        if taken {
            self.charged.fetch_add(wire_bytes, Ordering::Relaxed);
            let span = self.rate().time_for(wire_bytes).as_nanos() as u64;
            self.ungranted.fetch_add(span, Ordering::Relaxed);
        }
        taken
    }

    /// How long the link has been busy, since the beginning, with bytes that no grant covers: those
    /// of [`Pacer::take`] and [`Pacer::charge_extra`].
    pub(crate) fn ungranted(&self) -> Duration {
        Duration::from_nanos(self.ungranted.load(Ordering::Relaxed))
    }

    /// Gives back what was charged and not sent, or what it did not take.
    pub fn refund(&self, wire_bytes: u64) {
        self.charged.fetch_sub(wire_bytes, Ordering::Relaxed);
        let span = self.rate().time_for(wire_bytes).as_nanos() as u64;
        let _ = self.free_at.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |free| {
            Some(free.saturating_sub(span))
        });
    }

    /// Tells how late the owner was woken when it asked for [`Pacer::free_at`].
    ///
    /// The bucket is kept at twice the usual lateness (a running mean over about 16 wake-ups), so
    /// that being late costs no throughput.
    pub fn woken_late_by(&self, late: Duration) {
        let late = late.as_nanos().min(DEPTH.1.as_nanos()) as u64;
        let old = self.lateness.load(Ordering::Relaxed);
        let mean = old - old / 16 + late / 16;
        self.lateness.store(mean, Ordering::Relaxed);
        let depth = (2 * mean).clamp(DEPTH.0.as_nanos() as u64, DEPTH.1.as_nanos() as u64);
        self.depth.store(depth, Ordering::Relaxed);
    }

    /// How much of the link's time a pause saves up.
    pub fn depth(&self) -> Duration {
        Duration::from_nanos(self.depth.load(Ordering::Relaxed))
    }

    fn after(&self, free: u64, now: Time, wire_bytes: u64) -> u64 {
        let earliest = now.before(self.depth()).as_nanos();
        let start = Time::from_nanos(free.max(earliest));
        (start + self.rate().time_for(wire_bytes)).as_nanos()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(micros: u64) -> Time {
        Time::from_nanos(micros * 1000)
    }

    fn megabit(n: u64) -> BitRate {
        BitRate::new(n * 1_000_000).unwrap()
    }

    #[test]
    fn what_was_charged_must_leave_before_more_follows() {
        let pacer = Pacer::new(megabit(8));
        let start = at(1_000_000);
        assert!(pacer.take(start, 1000));
        // The first charge after a pause may use up the depth of 1 ms.
        assert_eq!(pacer.free_at(), at(1_000_000));
        assert!(pacer.take(start, 1500));
        assert_eq!(pacer.free_at(), at(1_001_500));
        assert!(!pacer.take(at(1_001_499), 1));
        assert!(pacer.take(at(1_001_500), 1));
        assert_eq!(pacer.charged(), 2501);
    }

    #[test]
    fn a_refund_is_as_if_it_had_never_been_charged() {
        let pacer = Pacer::new(megabit(8));
        pacer.charge(at(5000), 3000);
        let before = pacer.free_at();
        pacer.charge(at(5000), 1514);
        assert_eq!(pacer.charged(), 4514);
        pacer.refund(1514);
        assert_eq!(pacer.free_at(), before);
        assert_eq!(pacer.charged(), 3000);
    }

    #[test]
    fn what_no_response_asked_for_is_never_a_long_debt() {
        let pacer = Pacer::new(megabit(8));
        let start = at(1_000_000);
        pacer.charge_extra(start, 5_000);
        assert_eq!(pacer.free_at(), at(1_004_000));
        for _ in 0..100_000 {
            pacer.charge_extra(start, 74);
        }
        assert_eq!(pacer.free_at(), at(1_020_000));
        // The link has carried it all the same.
        assert_eq!(pacer.charged(), 5_000 + 100_000 * 74);
        // What responses were given stays.
        pacer.charge(start, 50_000);
        pacer.charge_extra(start, 74);
        assert_eq!(pacer.free_at(), at(1_070_000));
    }

    #[test]
    fn late_wake_ups_deepen_the_bucket_within_bounds() {
        let pacer = Pacer::new(megabit(8));
        for _ in 0..100 {
            pacer.woken_late_by(Duration::from_millis(1));
        }
        assert!(pacer.depth() > Duration::from_micros(1900), "{:?}", pacer.depth());
        for _ in 0..100 {
            pacer.woken_late_by(Duration::from_secs(1));
        }
        assert_eq!(pacer.depth(), Duration::from_millis(5));
    }

    proptest! {
        #[test]
        fn never_more_than_the_rate_and_the_depth(
            steps in prop::collection::vec((0u64..5_000, 1u64..5_000), 1..500),
        ) {
            let pacer = Pacer::new(megabit(10));
            let (mut now, mut sent) = (at(10_000), 0u64);
            let start = now;
            let mut last = 0;
            for (pause, bytes) in steps {
                now += Duration::from_micros(pause);
                if pacer.take(now, bytes) {
                    sent += bytes;
                    last = bytes;
                }
                let allowed = pacer.rate().bytes_in(now.since(start) + pacer.depth());
                prop_assert!(sent <= allowed + last + 1);
            }
        }
    }
}

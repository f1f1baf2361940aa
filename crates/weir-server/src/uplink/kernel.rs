//! The other way to keep the queue in weir: not a pace, but a cap on the bytes in the kernel. With a small
//! cap the policy decides what is sent next; with a large one the kernel does, whatever the policy (Crovella
//! 1999, section 5.4, where the number of writing threads is the cap). Used by the gate's owner and by the
//! workers, which count.
//!
//! `uplink_in_kernel` caps what is not acknowledged, for study. In kernel mode the cap is on what is queued
//! in this host, so that it is the same at any round trip; by itself it is as small as keeps the link busy.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use weir_sched::BitRate;

/// The pacer's rate, in multiples of the link's, where it should not be what limits.
pub(super) const UNPACED: f64 = 100.0;

/// The pacer's rate where the link's is not known: 100 Gbit/s.
pub(super) const NO_RATE: BitRate = match BitRate::new(100_000_000_000) {
    Some(rate) => rate,
    None => BitRate::LARGEST,
};

/// The most one grant hands over: the block of Crovella 1999, section 3.1.
const BLOCK: u64 = 32 * 1024;

/// How often workers count the bytes of their connections.
pub(super) const COUNT_EVERY: Duration = Duration::from_millis(1);

/// Where connections are many, they are counted less often: each takes half a microsecond or less, a
/// twentieth of this.
pub(super) const COUNTS_ONE: Duration = Duration::from_micros(10);

/// The least of an adaptive cap, with which it begins, and its most, in bytes. The least is two full packets,
/// so that one is at hand when the other has been sent; it is doubled each millisecond until it is enough.
/// The most is what 100 Gbit/s send in a millisecond or two.
const LEAST: u64 = 3_000;
const MOST: u64 = 16 * 1024 * 1024;

/// Over how many counts it is seen how much of an adaptive cap was never needed.
const OBSERVED: u32 = 50;

/// The bytes in the kernel, as far as they are known.
#[derive(Debug)]
pub(super) struct InKernel {
    cap: AtomicU64,
    /// Only what is queued in this host counts, not what is on its way or waits for the client's window.
    counts_queued_here: bool,
    adapts: Option<Adapts>,
    /// By worker, when it last counted.
    counted: Vec<AtomicU64>,
    /// Bytes each has written since.
    written: Vec<AtomicU64>,
}

/// What an adaptive cap goes by, as the kernel's limit for the queue of a network card does
/// (lib/dynamic_queue_limits.c): if the queue ran empty while the cap held bytes back, it was too small;
/// what was queued even when least was, over a while, was too much.
#[derive(Debug)]
struct Adapts {
    /// A worker has counted.
    news: AtomicBool,
    /// It has held bytes back since the last count.
    held_back: AtomicBool,
    /// The least that was queued at any of these counts.
    least: AtomicU64,
    counts: AtomicU32,
}

impl InKernel {
    /// At most `cap` unacknowledged bytes and the rest of one grant, in the connections of so many workers.
    pub(super) fn unacknowledged(cap: u64, workers: usize) -> InKernel {
        let zeros = || (0..workers).map(|_| AtomicU64::new(0)).collect();
        let cap = AtomicU64::new(cap.max(1));
        let (counted, written) = (zeros(), zeros());
        InKernel { cap, counts_queued_here: false, adapts: None, counted, written }
    }

    /// At most `cap` bytes in this host's queues.
    pub(super) fn queued_here(cap: u64, workers: usize) -> InKernel {
        InKernel { counts_queued_here: true, ..InKernel::unacknowledged(cap, workers) }
    }

    /// As many bytes in this host's queues as keep the link busy.
    pub(super) fn adaptive(workers: usize) -> InKernel {
        let adapts = Adapts {
            news: AtomicBool::new(false),
            held_back: AtomicBool::new(false),
            least: AtomicU64::new(u64::MAX),
            counts: AtomicU32::new(0),
        };
        InKernel { adapts: Some(adapts), ..InKernel::queued_here(LEAST, workers) }
    }

    /// Whether only what is queued in this host counts.
    pub(super) fn counts_queued_here(&self) -> bool {
        self.counts_queued_here
    }

    /// The most bytes, as it is now.
    pub(super) fn cap(&self) -> u64 {
        self.cap.load(Ordering::Relaxed)
    }

    /// Bytes of one grant, which is at least a segment.
    pub(super) fn grant(&self) -> u64 {
        (self.cap() / 4).clamp(1, BLOCK)
    }

    /// A worker has counted.
    pub(super) fn counted(&self, worker: usize, bytes: u64) {
        if let (Some(count), Some(written)) = (self.counted.get(worker), self.written.get(worker)) {
            count.store(bytes, Ordering::Relaxed);
            written.store(0, Ordering::Relaxed);
        }
        if let Some(adapts) = &self.adapts {
            adapts.news.store(true, Ordering::Relaxed);
        }
    }

    /// An adaptive cap follows what was counted since the last call, of all workers together. The gate's
    /// owner calls it, at most once in [`COUNT_EVERY`].
    pub(super) fn adapt(&self) {
        if let Some(adapts) = &self.adapts
            && adapts.news.swap(false, Ordering::Relaxed)
        {
            self.cap.store(adapts.next(self.cap(), self.known()), Ordering::Relaxed);
        }
    }

    /// Bytes that were counted, and those written since.
    fn known(&self) -> u64 {
        let known = self.counted.iter().chain(&self.written);
        known.map(|bytes| bytes.load(Ordering::Relaxed)).sum()
    }

    /// A worker wrote so many bytes to a socket.
    pub(super) fn written(&self, worker: usize, bytes: u64) {
        if let Some(written) = self.written.get(worker) {
            written.fetch_add(bytes, Ordering::Relaxed);
        }
    }

    /// Whether no more may be granted while grants for `granted` bytes are out.
    pub(super) fn is_full(&self, granted: u64) -> bool {
        let is_full = self.known() + granted >= self.cap();
        if is_full && let Some(adapts) = &self.adapts {
            adapts.held_back.store(true, Ordering::Relaxed);
        }
        is_full
    }
}

impl Adapts {
    /// What follows a cap of `cap` when `queued` bytes were counted.
    fn next(&self, cap: u64, queued: u64) -> u64 {
        let held_back = self.held_back.swap(false, Ordering::Relaxed);
        if held_back && queued == 0 {
            self.begin_anew();
            return (2 * cap).min(MOST);
        }
        let least = self.least.fetch_min(queued, Ordering::Relaxed).min(queued);
        if self.counts.fetch_add(1, Ordering::Relaxed) + 1 < OBSERVED {
            return cap;
        }
        self.begin_anew();
        // By half: with all of it, one late count would let the queue run empty.
        cap.saturating_sub(least / 2).max(LEAST)
    }

    fn begin_anew(&self) {
        self.least.store(u64::MAX, Ordering::Relaxed);
        self.counts.store(0, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{SwiftRoundTrip, UplinkConfig};
    use crate::metrics::Metrics;
    use crate::uplink::build;
    use crate::uplink::owner::Owner;
    use std::sync::Arc;
    use weir_sched::{WireOverhead, policy};

    #[test]
    fn a_new_policy_and_pace_do_not_pace_what_a_cap_limits() {
        let config = UplinkConfig {
            rate: BitRate::new(100_000_000).unwrap(),
            pace: 1.0,
            policy: policy::SRPT,
            round_trip: SwiftRoundTrip::Measured,
            framing: WireOverhead::ETHERNET,
            in_kernel: None,
        };
        for (in_kernel, rate) in [(None, 50_000_000), (Some(10_000), 10_000_000_000)] {
            let config = UplinkConfig { in_kernel, ..config };
            let (uplink, gate) = build(config, 1, Arc::new(Metrics::new()));
            let mut owner = Owner::new(uplink.clone(), gate);
            let grant = owner.gate.grant_size();
            uplink.change(&UplinkConfig { policy: policy::BURST, pace: 0.5, ..config });
            owner.handle_events();
            // BURST is told of paths, SRPT is not.
            assert!(uplink.path_updates.load(Ordering::Relaxed), "the policy is the new one");
            assert_eq!(owner.gate.pacer().rate().bits(), rate);
            if in_kernel.is_some() {
                assert_eq!(owner.gate.grant_size(), grant);
            }
        }
    }

    #[test]
    fn what_is_granted_written_or_unacknowledged_counts() {
        let kernel = InKernel::unacknowledged(10_000, 2);
        assert_eq!(kernel.grant(), 2_500);
        assert!(!kernel.is_full(9_999));
        assert!(kernel.is_full(10_000));
        kernel.written(0, 2_000);
        kernel.written(1, 4_000);
        assert!(kernel.is_full(4_000));
        // A count includes what that worker had written before, and nobody else had.
        kernel.counted(0, 2_000);
        assert!(kernel.is_full(4_000));
        kernel.counted(1, 4_000);
        assert!(!kernel.is_full(3_999));
        assert!(kernel.is_full(4_000));
    }

    #[test]
    fn a_grant_is_at_most_a_block() {
        assert_eq!(InKernel::unacknowledged(10_000_000, 1).grant(), 32 * 1024);
        assert_eq!(InKernel::unacknowledged(1, 1).grant(), 1);
    }

    /// A link that sends so many bytes between two counts, and responses without end: the cap after a
    /// while, and how many bytes of the link were not used meanwhile.
    fn settled(kernel: &InKernel, bytes_per_count: u64, busy_with_others: bool) -> (u64, u64) {
        let (mut queued, mut idle) = (0_u64, 0);
        for _ in 0..5_000 {
            while !kernel.is_full(0) {
                kernel.written(0, kernel.grant());
                queued += kernel.grant();
            }
            let sent = if busy_with_others { 0 } else { bytes_per_count };
            idle += sent.saturating_sub(queued);
            queued = queued.saturating_sub(sent);
            kernel.counted(0, queued);
            kernel.adapt();
        }
        (kernel.cap(), idle)
    }

    #[test]
    fn an_adaptive_cap_is_as_small_as_keeps_the_link_busy() {
        // 10 Mbit/s, 1 Gbit/s and 10 Gbit/s.
        for bytes_per_count in [1_250, 125_000, 1_250_000] {
            let kernel = InKernel::adaptive(1);
            let (cap, idle) = settled(&kernel, bytes_per_count, false);
            assert!(cap <= (3 * bytes_per_count).max(LEAST), "{bytes_per_count}: {cap}");
            assert!(idle <= 10 * bytes_per_count, "{bytes_per_count}: {idle} bytes were idle");
        }
    }

    #[test]
    fn an_empty_queue_counts_once_however_many_workers_see_it() {
        let kernel = InKernel::adaptive(3);
        kernel.written(0, LEAST);
        assert!(kernel.is_full(0));
        // One worker's connections have nothing queued, another's may have.
        kernel.counted(1, 0);
        kernel.adapt();
        assert_eq!(kernel.cap(), LEAST);
        assert!(kernel.is_full(0));
        (0..3).for_each(|worker| kernel.counted(worker, 0));
        kernel.adapt();
        kernel.adapt();
        assert_eq!(kernel.cap(), 2 * LEAST);
    }

    #[test]
    fn a_cap_that_shrank_while_others_had_the_link_grows_again() {
        let kernel = InKernel::adaptive(1);
        assert_eq!(settled(&kernel, 125_000, true).0, LEAST);
        assert!(settled(&kernel, 125_000, false).0 >= 125_000);
    }
}

//! The other way to keep the queue in weir (`uplink_in_kernel`): not a pace, but a cap on the bytes that
//! were handed to the kernel and are not acknowledged. With a small cap the policy decides what is sent
//! next; with a large one the kernel does, whatever the policy (Crovella 1999, section 5.4, where the
//! number of writing threads is the cap). Used by the gate's owner and by the workers, which count.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The pacer's rate, in multiples of the link's, where it should not be what limits.
pub(super) const UNPACED: f64 = 100.0;

/// The most one grant hands over: the block of Crovella 1999, section 3.1.
const BLOCK: u64 = 32 * 1024;

/// How often workers count the bytes of their connections.
pub(super) const COUNT_EVERY: Duration = Duration::from_millis(1);

/// The bytes in the kernel, as far as they are known.
#[derive(Debug)]
pub(super) struct InKernel {
    cap: u64,
    /// By worker, when it last counted.
    counted: Vec<AtomicU64>,
    /// Bytes each has written since.
    written: Vec<AtomicU64>,
}

impl InKernel {
    /// At most `cap` bytes and the rest of one grant, in the connections of so many workers.
    pub(super) fn new(cap: u64, workers: usize) -> InKernel {
        let zeros = || (0..workers).map(|_| AtomicU64::new(0)).collect();
        InKernel { cap: cap.max(1), counted: zeros(), written: zeros() }
    }

    /// Bytes of one grant, which is at least a segment.
    pub(super) fn grant(&self) -> u64 {
        (self.cap / 4).clamp(1, BLOCK)
    }

    /// A worker has counted.
    pub(super) fn counted(&self, worker: usize, bytes: u64) {
        if let (Some(count), Some(written)) = (self.counted.get(worker), self.written.get(worker)) {
            count.store(bytes, Ordering::Relaxed);
            written.store(0, Ordering::Relaxed);
        }
    }

    /// A worker wrote so many bytes to a socket.
    pub(super) fn written(&self, worker: usize, bytes: u64) {
        if let Some(written) = self.written.get(worker) {
            written.fetch_add(bytes, Ordering::Relaxed);
        }
    }

    /// Whether no more may be granted while grants for `granted` bytes are out.
    pub(super) fn is_full(&self, granted: u64) -> bool {
        let known = self.counted.iter().chain(&self.written);
        let known: u64 = known.map(|bytes| bytes.load(Ordering::Relaxed)).sum();
        known + granted >= self.cap
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_granted_written_or_unacknowledged_counts() {
        let kernel = InKernel::new(10_000, 2);
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
        assert_eq!(InKernel::new(10_000_000, 1).grant(), 32 * 1024);
        assert_eq!(InKernel::new(1, 1).grant(), 1);
    }
}

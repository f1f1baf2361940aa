//! How long records are: as long as a segment at first, so that a client can use each as it comes, and
//! long once much is sent, since a record costs its bytes and the processor time to begin one. Used for
//! what is written to one connection.

use std::cell::Cell;
use std::time::Duration;

use weir_sched::Time;
use weir_tls::session::LONGEST;

/// Bytes that go in records of one segment: about what a connection's windows carry in its first three
/// round trips.
const AT_FIRST: usize = 64 * 1024;

/// After so long without a byte the window may have closed again, and records are short again.
const IDLE: Duration = Duration::from_secs(1);

/// See the module.
#[derive(Debug)]
pub(super) struct RecordSizes {
    /// Plain bytes that fill a segment.
    segment: Cell<usize>,
    /// Written since the connection was idle.
    written: Cell<usize>,
    /// When something was written last.
    last: Cell<Time>,
}

impl Default for RecordSizes {
    fn default() -> RecordSizes {
        RecordSizes {
            segment: Cell::new(LONGEST),
            written: Cell::new(0),
            last: Cell::new(Time::ZERO),
        }
    }
}

impl RecordSizes {
    /// `mss`: bytes of a segment, of which there may be none; `overhead`: those of a record beside its
    /// plain ones.
    pub(super) fn fit(&self, mss: Option<u32>, overhead: u32) {
        let mss = mss.unwrap_or(u32::MAX);
        self.segment.set((mss.saturating_sub(overhead) as usize).clamp(1, LONGEST));
    }

    /// Plain bytes of the next record that is written at `now`, of which there are `left`.
    pub(super) fn next(&self, now: Time, left: usize) -> usize {
        if now.since(self.last.replace(now)) > IDLE {
            self.written.set(0);
        }
        let most = if self.written.get() < AT_FIRST { self.segment.get() } else { LONGEST };
        let count = left.min(most);
        self.written.set(self.written.get().saturating_add(count));
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_short_at_first_and_after_a_pause() {
        let sizes = RecordSizes::default();
        sizes.fit(Some(1448), 22);
        let at = |millis: u64| Time::from_nanos(millis * 1_000_000);
        let mut short = 0;
        while sizes.next(at(5000), 1 << 20) == 1426 {
            short += 1;
        }
        assert_eq!(short, AT_FIRST.div_ceil(1426));
        assert_eq!(sizes.next(at(5900), 1 << 20), LONGEST);
        assert_eq!(sizes.next(at(5900), 7), 7);
        assert_eq!(sizes.next(at(7000), 1 << 20), 1426);
        // On loopback a segment is longer than a record can be.
        sizes.fit(Some(65_483), 22);
        assert_eq!(sizes.next(at(9000), 1 << 20), LONGEST);
    }
}

//! What is thought to happen inside the backend, so that service times can be told from waiting. It
//! knows nothing of the queue and the clock.
//!
//! With a limit of n, n - 1 calls are taken to be served and one to wait for its turn, in the order
//! of their starts: that is where a learned limit settles. So a call's service runs from when it
//! became one of the n - 1 oldest that are not answered. At a backend that serves one call at a
//! time under a limit of 2 this is exact. At one that shares its time among calls it is too long
//! by what is shared, for all alike: the order by expected time is the same.

use std::collections::{BTreeMap, BTreeSet};

/// The calls that were started and not yet answered.
#[derive(Debug, Default)]
pub(super) struct Inside {
    /// Numbers of the starts.
    unanswered: BTreeSet<u64>,
    /// Slots of calls that wait for their turn, by number of their start.
    in_hand: BTreeMap<u64, u32>,
}

impl Inside {
    /// A call is started.
    pub(super) fn start(&mut self, start: u64, slot: u32) {
        self.unanswered.insert(start);
        self.in_hand.insert(start, slot);
    }

    /// A call was answered, or will not be. Returns how many it has overtaken if it was the last
    /// that was started, otherwise 0.
    pub(super) fn leave(&mut self, start: u64) -> usize {
        let was_last = self.unanswered.last() == Some(&start);
        self.unanswered.remove(&start);
        self.in_hand.remove(&start);
        if was_last { self.unanswered.len() } else { 0 }
    }

    /// The next call whose service begins now, if any. Ask until there is none.
    pub(super) fn begin(&mut self, limit: u32) -> Option<u32> {
        if self.unanswered.len() - self.in_hand.len() >= workers(limit) {
            return None;
        }
        self.in_hand.pop_first().map(|(_, slot)| slot)
    }
}

fn workers(limit: u32) -> usize {
    limit.saturating_sub(1).max(1) as usize
}

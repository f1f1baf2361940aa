//! What is thought to happen inside the backend, so that service times can be told from waiting. It
//! knows nothing of the queue and the clock.
//!
//! Some of the calls are taken to be served, mostly one less than the limit, and the others to wait
//! for their turn, in the order of their starts. So a call's service runs from when it became one of
//! these oldest that are not answered. At a backend that serves one call at a time under a limit of 2
//! this is exact. At one that shares its time among calls it is too long by what is shared, for all
//! alike: the order by expected time is the same.

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
    pub(super) fn begin(&mut self, at_once: u32) -> Option<u32> {
        if self.unanswered.len() - self.in_hand.len() >= at_once as usize {
            return None;
        }
        self.in_hand.pop_first().map(|(_, slot)| slot)
    }
}

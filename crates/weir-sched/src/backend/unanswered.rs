//! The calls that a backend has and has not answered: which of them it is taken to work on, so that
//! service times can be told from waiting inside. Used by the gate and by the learned limit.
//!
//! Some of the calls are taken to be served, mostly one less than the limit, and the others to wait
//! for their turn, in the order of their starts. So a call's service runs from when it became one of
//! these oldest that are not answered. At a backend that serves one call at a time under a limit of 2
//! this is exact. At one that shares its time among calls it is too long by what is shared, for all
//! alike: the order by expected time is the same.
//!
//! Where many wait inside, the limit does not tell how many are served. If all answers come in the
//! order of their starts it is one at a time; otherwise all that are inside are taken to be served.
//! Then the wait of a call counts as service, but that is the same for all. Taken for fewer than
//! they are, short calls that overtake long ones would seem long, and the long ones short.

use std::collections::{BTreeMap, BTreeSet};

/// Answers in the order of their starts from which on the backend is taken to serve one at a time.
const IN_ORDER: u32 = 512;
/// With up to so many inside it is counted each time how many a call has overtaken.
const FEW: u64 = 64;

/// The calls that were started and not yet answered.
#[derive(Debug, Default)]
pub(super) struct Unanswered {
    /// Numbers of the starts.
    unanswered: BTreeSet<u64>,
    /// Slots of calls that wait for their turn, by number of their start.
    in_hand: BTreeMap<u64, u32>,
    /// Calls that left since one overtook another.
    in_order: u32,
    /// Calls that left.
    left: u64,
}

/// From where among the calls that are not answered one has left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Overtaken {
    /// Those that were started before it; where many are inside they are not counted each time.
    pub(super) older: Option<usize>,
    /// All others, if it was the last that was started; otherwise 0.
    pub(super) by_newest: usize,
}

impl Unanswered {
    /// A call is started.
    pub(super) fn start(&mut self, start: u64, slot: u32) {
        self.unanswered.insert(start);
        self.in_hand.insert(start, slot);
    }

    /// A call was answered, or will not be.
    pub(super) fn leave(&mut self, start: u64) -> Overtaken {
        let is_oldest = self.unanswered.first() == Some(&start);
        self.in_order = if is_oldest { self.in_order.saturating_add(1) } else { 0 };
        let was_last = self.unanswered.last() == Some(&start);
        self.left += 1;
        let counts = self.left.is_multiple_of(1 + self.unanswered.len() as u64 / FEW);
        let older = counts.then(|| self.unanswered.range(..start).count());
        self.unanswered.remove(&start);
        self.in_hand.remove(&start);
        Overtaken { older, by_newest: if was_last { self.unanswered.len() } else { 0 } }
    }

    /// Whether calls have left in the order of their starts for long.
    pub(super) fn is_in_order(&self) -> bool {
        self.in_order >= IN_ORDER
    }

    /// The next call whose service begins now, if any. Ask until there is none.
    pub(super) fn begin(&mut self, at_once: usize) -> Option<u32> {
        if self.unanswered.len() - self.in_hand.len() >= at_once {
            return None;
        }
        self.in_hand.pop_first().map(|(_, slot)| slot)
    }
}

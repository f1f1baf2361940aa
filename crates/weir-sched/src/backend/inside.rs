//! What is thought to happen inside the backend: which calls it serves, and in which order they leave.
//! The gate tells service times from waiting by it, and the limit learns from it how many calls are
//! served at once.
//!
//! Some of the calls are taken to be served, and the others to wait for their turn, in the order of
//! their starts. So a call's service runs from when it became one of these oldest that are not
//! answered. At a backend that serves one call at a time under a limit of 2 this is exact. At one that
//! shares its time among calls it is too long by what is shared, for all alike: the order by expected
//! time is the same.

use std::collections::BTreeMap;

/// Answers in the order of their starts from which on the backend is taken to serve one at a time.
const IN_ORDER: u32 = 512;
/// Of more calls than this not each that is answered is looked at for how many are older.
const FEW: u64 = 32;

/// The calls that have slots, by the numbers of their starts.
#[derive(Debug, Default)]
pub(super) struct Inside {
    /// Slots of those that are not answered yet.
    unanswered: BTreeMap<u64, u32>,
    /// Slots of those whose answer is being sent.
    sending: BTreeMap<u64, u32>,
    /// Of those that are not answered the earlier ones are taken to be served.
    in_hand_from: u64,
    served: usize,
    /// Calls that were answered since one overtook another.
    in_order: u32,
    answers: u64,
}

/// From where among the calls that are not answered one was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Overtaken {
    /// Of those the calls that were started before it; not counted each time.
    pub(super) older: Option<usize>,
    /// All others, if it was the last that was started; otherwise 0.
    pub(super) by_newest: usize,
}

impl Inside {
    /// A call is started.
    pub(super) fn start(&mut self, start: u64, slot: u32) {
        self.unanswered.insert(start, slot);
    }

    /// A call was answered; from now on its answer is being sent.
    pub(super) fn answer(&mut self, start: u64) -> Overtaken {
        let slot = self.unanswered.get(&start).copied();
        let is_oldest = self.unanswered.first_key_value().is_some_and(|(first, _)| *first == start);
        self.in_order = if is_oldest { self.in_order.saturating_add(1) } else { 0 };
        self.answers += 1;
        let looks = self.answers.is_multiple_of(1 + self.unanswered.len() as u64 / FEW);
        let older = looks.then(|| self.unanswered.range(..start).count());
        let is_newest = self.unanswered.last_key_value().is_some_and(|(last, _)| *last == start);
        self.leave(start);
        self.sending.extend(slot.map(|slot| (start, slot)));
        Overtaken { older, by_newest: if is_newest { self.unanswered.len() } else { 0 } }
    }

    /// A call has its slot no longer.
    pub(super) fn leave(&mut self, start: u64) {
        if self.unanswered.remove(&start).is_none() {
            self.sending.remove(&start);
        } else if start < self.in_hand_from {
            self.served -= 1;
        }
    }

    /// Whether calls have left in the order of their starts for long.
    pub(super) fn is_in_order(&self) -> bool {
        self.in_order >= IN_ORDER
    }

    /// The next call whose service begins now, if any. Ask until there is none.
    pub(super) fn begin(&mut self, at_once: usize) -> Option<u32> {
        if self.served >= at_once {
            return None;
        }
        let (&start, &slot) = self.unanswered.range(self.in_hand_from..).next()?;
        self.in_hand_from = start + 1;
        self.served += 1;
        Some(slot)
    }

    /// The slot of the call that was started first of all that have slots.
    pub(super) fn oldest(&self) -> Option<u32> {
        let firsts = [self.unanswered.first_key_value(), self.sending.first_key_value()];
        firsts.into_iter().flatten().min().map(|(_, slot)| *slot)
    }
}

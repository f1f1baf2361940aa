//! The calls that have slots, in the order of their starts; the gate looks here for the oldest,
//! which it may set aside. Mostly the oldest end first, so a queue with gaps costs less than a
//! tree.

use std::collections::VecDeque;

/// Stands for a call that has no slot any more.
const GONE: u32 = u32::MAX;
/// Fewer of these are not worth going through all.
const FEW: usize = 16;

#[derive(Debug, Default)]
pub(super) struct SlotHolders {
    /// Number of the start, and the call's slot; never begins with one that has gone.
    calls: VecDeque<(u64, u32)>,
    gone: usize,
}

impl SlotHolders {
    pub(super) fn len(&self) -> usize {
        self.calls.len() - self.gone
    }

    /// A call is started; `start` is greater than all before.
    pub(super) fn push(&mut self, start: u64, slot: u32) {
        self.calls.push_back((start, slot));
    }

    /// The call has no slot any more.
    pub(super) fn remove(&mut self, start: u64) {
        let Ok(at) = self.calls.binary_search_by_key(&start, |call| call.0) else { return };
        if std::mem::replace(&mut self.calls[at].1, GONE) == GONE {
            return;
        }
        self.gone += 1;
        while self.calls.front().is_some_and(|call| call.1 == GONE) {
            self.calls.pop_front();
            self.gone -= 1;
        }
        if self.gone > self.len() + FEW {
            self.calls.retain(|call| call.1 != GONE);
            self.gone = 0;
        }
    }

    /// The calls, the oldest first.
    pub(super) fn slots(&self) -> impl Iterator<Item = u32> {
        self.calls.iter().map(|call| call.1).filter(|slot| *slot != GONE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn they_stay_in_order_and_take_no_more_than_twice_the_room(
            steps in prop::collection::vec(any::<Option<prop::sample::Index>>(), 1..300),
        ) {
            let (mut starts, mut model) = (SlotHolders::default(), BTreeMap::new());
            for (start, step) in steps.into_iter().enumerate() {
                let start = start as u64;
                match step {
                    Some(which) if start > 0 => {
                        let which = which.index(start as usize) as u64;
                        starts.remove(which);
                        model.remove(&which);
                    }
                    _ => {
                        starts.push(start, start as u32 % 5);
                        model.insert(start, start as u32 % 5);
                    }
                }
                prop_assert_eq!(starts.len(), model.len());
                prop_assert!(starts.slots().eq(model.values().copied()));
                prop_assert!(starts.calls.len() <= 2 * model.len() + FEW);
            }
        }
    }
}

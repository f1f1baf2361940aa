//! A queue of places from which any one can be taken out in O(log n): many responses may wait in one,
//! and all their clients may leave. Used for the jobs of a connection or an entry.

use std::collections::BTreeMap;

use foldhash::HashMap;

/// Each place is in it once. Nearly always there is one, which then needs no memory of its own.
#[derive(Debug, Default)]
pub(super) struct PlaceQueue {
    first: Option<usize>,
    others: Option<Box<Others>>,
}

/// Those behind the first.
#[derive(Debug, Default)]
struct Others {
    /// By their turns, which only grow.
    places: BTreeMap<u64, usize>,
    /// By place.
    turns: HashMap<usize, u64>,
    next_turn: u64,
}

impl PlaceQueue {
    pub(super) fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    pub(super) fn first(&self) -> Option<usize> {
        self.first
    }

    /// Adds a place that is not in it.
    pub(super) fn push(&mut self, place: usize) {
        match self.first {
            None => self.first = Some(place),
            Some(_) => self.others.get_or_insert_default().push(place),
        }
    }

    /// Takes `place` out, wherever it stands.
    pub(super) fn remove(&mut self, place: usize) {
        if self.first == Some(place) {
            self.first = self.others.as_mut().and_then(|others| others.pop_first());
        } else if let Some(others) = &mut self.others {
            others.remove(place);
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = usize> {
        let others = self.others.iter().flat_map(|others| others.places.values());
        self.first.iter().chain(others).copied()
    }
}

impl Others {
    fn push(&mut self, place: usize) {
        self.places.insert(self.next_turn, place);
        self.turns.insert(place, self.next_turn);
        self.next_turn += 1;
    }

    fn remove(&mut self, place: usize) {
        if let Some(turn) = self.turns.remove(&place) {
            self.places.remove(&turn);
        }
    }

    fn pop_first(&mut self) -> Option<usize> {
        let (_, place) = self.places.pop_first()?;
        self.turns.remove(&place);
        Some(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_is_a_list_in_order_of_arrival(
            steps in prop::collection::vec((0usize..60, any::<bool>()), 1..400),
        ) {
            let (mut queue, mut model) = (PlaceQueue::default(), Vec::new());
            for (place, comes) in steps {
                if comes && !model.contains(&place) {
                    queue.push(place);
                    model.push(place);
                } else {
                    queue.remove(place);
                    model.retain(|other| *other != place);
                }
                prop_assert!(queue.iter().eq(model.iter().copied()));
                prop_assert_eq!(queue.first(), model.first().copied());
                prop_assert_eq!(queue.is_empty(), model.is_empty());
                let others = queue.others.as_ref().map_or(0, |others| others.turns.len());
                prop_assert_eq!(others, model.len().saturating_sub(1));
            }
        }
    }
}

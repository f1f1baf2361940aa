//! Entries that were sent or abandoned while the virtual fair server is still at them: which of a
//! client's its next response follows, and which is forgotten when there are too many. Used by the
//! gate's entries.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use foldhash::HashMap;

use crate::heap::RankHeap;
use crate::uplink::ids::{ClientId, EntryId};
use crate::virtual_fair::Level;

/// Where an entry would have finished when it departed, in whole bytes, and which it is.
type Place = (u64, EntryId);

/// Entries that have departed. Every change takes O(log n).
#[derive(Debug, Default)]
pub(super) struct Departed {
    /// The one that would finish last is on top.
    all: RankHeap<Reverse<u64>>,
    clients: HashMap<ClientId, OfClient>,
}

/// Those of one client; nearly always it is one.
#[derive(Debug)]
struct OfClient {
    first: Place,
    #[expect(clippy::box_collection, reason = "there are nearly never any: a pointer takes less")]
    others: Option<Box<BTreeSet<Place>>>,
}

impl Departed {
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// An entry of `client` has departed that would have finished at `rank`.
    pub(super) fn insert(&mut self, client: ClientId, rank: Level, id: EntryId) {
        let place = (rank.bytes(), id);
        self.all.set(id, Reverse(place.0));
        self.clients
            .entry(client)
            .and_modify(|of_client| {
                let (first, later) = (of_client.first.min(place), of_client.first.max(place));
                of_client.first = first;
                of_client.others.get_or_insert_default().insert(later);
            })
            .or_insert(OfClient { first: place, others: None });
    }

    /// The entry is one of them no more.
    pub(super) fn remove(&mut self, client: ClientId, rank: Level, id: EntryId) {
        self.all.remove(id);
        let place = (rank.bytes(), id);
        let Some(of_client) = self.clients.get_mut(&client) else { return };
        let others = of_client.others.as_mut();
        if of_client.first != place {
            others.map(|others| others.remove(&place));
        } else if let Some(next) = others.and_then(|others| others.pop_first()) {
            of_client.first = next;
        } else {
            self.clients.remove(&client);
        }
    }

    /// The client's that would have finished first.
    pub(super) fn first_of(&self, client: ClientId) -> Option<EntryId> {
        self.clients.get(&client).map(|of_client| of_client.first.1)
    }

    /// The one that would have finished last of all.
    pub(super) fn last(&self) -> Option<EntryId> {
        self.all.top().map(|(_, id)| id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_first_of_a_client_and_the_last_of_all_are_known(
            steps in prop::collection::vec((0u32..24, 0u64..50, any::<bool>()), 1..300),
        ) {
            let client = |id: EntryId| ClientId(u128::from(id % 3));
            let mut departed = Departed::default();
            let mut model = BTreeSet::new();
            for (id, rank, comes) in steps {
                if let Some(&(old, _)) = model.iter().find(|(_, other)| *other == id) {
                    departed.remove(client(id), old, id);
                    model.remove(&(old, id));
                }
                if comes {
                    let rank = Level::default().plus(rank);
                    departed.insert(client(id), rank, id);
                    model.insert((rank, id));
                }
                prop_assert_eq!(departed.len(), model.len());
                let last = departed.last().map(|id| model.iter().find(|(_, it)| *it == id).unwrap().0);
                prop_assert_eq!(last, model.last().map(|(rank, _)| *rank));
                for of in 0..3 {
                    let first = model.iter().find(|(_, id)| id % 3 == of).map(|(_, id)| *id);
                    prop_assert_eq!(departed.first_of(ClientId(u128::from(of))), first);
                }
            }
        }
    }
}

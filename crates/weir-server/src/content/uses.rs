//! Counts uses of a cache entry for eviction with generalised CLOCK (GCLOCK): the first
//! entry whose count has fallen to 0 is evicted. Used by the caches of names and of small files.

use std::cell::Cell;

/// The most uses that are counted: an entry outlives so many rounds after its last use.
const MOST: u8 = 3;

/// A count of uses.
#[derive(Debug, Default)]
pub(super) struct Uses(Cell<u8>);

impl Uses {
    /// The entry was used.
    pub(super) fn count(&self) {
        self.0.set((self.0.get() + 1).min(MOST));
    }

    /// The clock's hand passes: takes one use away; false if there was none left.
    pub(super) fn spend(&self) -> bool {
        let uses = self.0.get();
        self.0.set(uses.saturating_sub(1));
        uses > 0
    }
}

//! A binary heap whose members can be re-ranked or removed by number. Used by the policies, the
//! queue of the disk gate and the records of departed clients.

const ABSENT: u32 = u32::MAX;

/// Members are small numbers; the one with the least key is on top. All changes take O(log n).
#[derive(Debug)]
pub(crate) struct RankHeap<K> {
    heap: Vec<(K, u32)>,
    place: Vec<u32>,
}

impl<K> Default for RankHeap<K> {
    fn default() -> Self {
        RankHeap { heap: Vec::new(), place: Vec::new() }
    }
}

impl<K: Ord + Copy> RankHeap<K> {
    pub(crate) fn new() -> Self {
        RankHeap::default()
    }

    pub(crate) fn len(&self) -> usize {
        self.heap.len()
    }

    pub(crate) fn top(&self) -> Option<(K, u32)> {
        self.heap.first().copied()
    }

    /// Adds `member`, or gives it a new key.
    pub(crate) fn set(&mut self, member: u32, key: K) {
        let index = member as usize;
        if index >= self.place.len() {
            self.place.resize(index + 1, ABSENT);
        }
        let at = self.place[index];
        let at = if at == ABSENT {
            self.heap.push((key, member));
            self.heap.len() - 1
        } else {
            self.heap[at as usize].0 = key;
            at as usize
        };
        self.place[index] = at as u32;
        self.settle(at);
    }

    /// Removes `member` if it is there.
    pub(crate) fn remove(&mut self, member: u32) {
        let Some(&at) = self.place.get(member as usize) else { return };
        if at == ABSENT {
            return;
        }
        self.place[member as usize] = ABSENT;
        self.heap.swap_remove(at as usize);
        if let Some(&(_, moved)) = self.heap.get(at as usize) {
            self.place[moved as usize] = at;
            self.settle(at as usize);
        }
    }

    fn settle(&mut self, mut at: usize) {
        while at > 0 {
            let parent = (at - 1) / 2;
            if self.heap[parent] <= self.heap[at] {
                break;
            }
            self.swap(at, parent);
            at = parent;
        }
        loop {
            let left = 2 * at + 1;
            let right = left + 1;
            let mut least = at;
            if left < self.heap.len() && self.heap[left] < self.heap[least] {
                least = left;
            }
            if right < self.heap.len() && self.heap[right] < self.heap[least] {
                least = right;
            }
            if least == at {
                return;
            }
            self.swap(at, least);
            at = least;
        }
    }

    fn swap(&mut self, a: usize, b: usize) {
        self.heap.swap(a, b);
        self.place[self.heap[a].1 as usize] = a as u32;
        self.place[self.heap[b].1 as usize] = b as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_top_is_always_the_least(steps in prop::collection::vec((0u32..24, 0u32..50, any::<bool>()), 1..300)) {
            let mut heap = RankHeap::new();
            let mut model = std::collections::BTreeMap::new();
            for (member, key, keep) in steps {
                if keep {
                    heap.set(member, key);
                    model.insert(member, key);
                } else {
                    heap.remove(member);
                    model.remove(&member);
                }
                let least = model.iter().map(|(m, k)| (*k, *m)).min();
                prop_assert_eq!(heap.top(), least);
            }
        }
    }
}

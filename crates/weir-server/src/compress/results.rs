//! What came of compressing files, kept within a budget of bytes by what the file was: its entity tag. All
//! workers share it. Evicts with CLOCK. Used by [`super::Compressor`].

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use weir_http::message::coding::Coding;
use weir_http::message::conditions::ETag;

/// Bytes that a result costs beside its content.
const OVERHEAD: usize = 256;

/// What was compressed, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    /// The tag of the content as it is.
    pub(crate) etag: ETag,
    pub(crate) coding: Coding,
}

/// What came of it.
#[derive(Debug)]
pub(crate) struct Compressed {
    /// `None`: it would hardly be smaller.
    bytes: Option<Arc<[u8]>>,
    /// Since the hand of the clock last passed.
    used: AtomicBool,
}

impl Compressed {
    pub(super) fn new(bytes: Option<Vec<u8>>) -> Arc<Compressed> {
        Arc::new(Compressed { bytes: bytes.map(Arc::from), used: AtomicBool::new(false) })
    }

    /// A result for tests of whoever learns about it.
    #[cfg(test)]
    pub(crate) fn of(bytes: Option<Vec<u8>>) -> Arc<Compressed> {
        Compressed::new(bytes)
    }

    /// The compressed content, which counts as used; `None`: it would hardly be smaller.
    pub(crate) fn bytes(&self) -> Option<&Arc<[u8]>> {
        // Workers that only read share the memory of what is used all the time.
        if !self.used.load(Ordering::Relaxed) {
            self.used.store(true, Ordering::Relaxed);
        }
        self.bytes.as_ref()
    }

    fn cost(&self) -> usize {
        OVERHEAD + self.bytes.as_ref().map_or(0, |bytes| bytes.len())
    }
}

/// See the module.
#[derive(Debug)]
pub(super) struct Results {
    state: Mutex<State>,
    most: usize,
}

#[derive(Debug, Default)]
struct State {
    kept: HashMap<Key, Arc<Compressed>>,
    /// Each key of `kept` once.
    ring: VecDeque<Key>,
    used: usize,
    /// Nothing is kept any more.
    has_given_up: bool,
}

impl Results {
    /// At most so many bytes.
    pub(super) fn new(most: usize) -> Results {
        Results { state: Mutex::default(), most }
    }

    pub(super) fn get(&self, key: &Key) -> Option<Arc<Compressed>> {
        self.lock().kept.get(key).cloned()
    }

    /// Gives up all that is kept, and keeps nothing any more.
    pub(super) fn give_up(&self) {
        *self.lock() = State { has_given_up: true, ..State::default() };
    }

    /// Keeps a result, and evicts others as far as that needs room; returns the bytes that all take then.
    /// `None` if nothing is kept any more.
    pub(super) fn keep(&self, key: Key, result: &Arc<Compressed>) -> Option<usize> {
        let mut state = self.lock();
        if state.has_given_up {
            return None;
        }
        if result.cost() > self.most {
            return Some(state.used);
        }
        match state.kept.insert(key, result.clone()) {
            Some(old) => state.used -= old.cost(),
            None => state.ring.push_back(key),
        }
        state.used += result.cost();
        while state.used > self.most {
            let Some(first) = state.ring.pop_front() else { break };
            let is_used =
                |kept: &Arc<Compressed>| first == key || kept.used.swap(false, Ordering::Relaxed);
            if state.kept.get(&first).is_some_and(is_used) {
                state.ring.push_back(first);
            } else if let Some(evicted) = state.kept.remove(&first) {
                state.used -= evicted.cost();
            }
        }
        Some(state.used)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: u64) -> Key {
        Key { etag: ETag::new(0, 0, number), coding: Coding::Gzip }
    }

    fn result(length: usize) -> Arc<Compressed> {
        Compressed::new(Some(vec![1; length]))
    }

    #[test]
    fn the_budget_holds_and_what_is_used_stays() {
        let results = Results::new(100_000);
        results.keep(key(0), &result(10_000));
        for number in 1..1000 {
            assert!(results.get(&key(0)).is_some_and(|kept| kept.bytes().is_some()), "{number}");
            let used = results.keep(key(number), &result(10_000)).unwrap();
            assert!(used <= 100_000);
            assert!(results.get(&key(number)).is_some(), "the newest is there");
        }
        let state = results.lock();
        assert_eq!((state.kept.len(), state.ring.len()), (9, 9));
        assert_eq!(state.used, 9 * (10_000 + OVERHEAD));
    }

    #[test]
    fn a_result_is_of_one_content_in_one_coding() {
        let results = Results::new(100_000);
        results.keep(key(1), &result(10));
        assert!(results.get(&Key { coding: Coding::Zstd, ..key(1) }).is_none());
        assert!(results.get(&key(2)).is_none());
        assert_eq!(results.keep(key(1), &result(20)), Some(20 + OVERHEAD));
        assert_eq!(results.get(&key(1)).unwrap().bytes().map(|bytes| bytes.len()), Some(20));
    }

    #[test]
    fn what_is_too_large_evicts_nothing() {
        let results = Results::new(1000);
        results.keep(key(1), &result(100));
        assert_eq!(results.keep(key(2), &result(1000)), Some(100 + OVERHEAD));
        assert!(results.get(&key(1)).is_some() && results.get(&key(2)).is_none());
        // That something is not worth it is remembered, too.
        results.keep(key(3), &Compressed::new(None));
        assert!(results.get(&key(3)).unwrap().bytes().is_none());
        assert_eq!(Results::new(0).keep(key(1), &result(1)), Some(0));
    }

    #[test]
    fn one_that_has_been_replaced_keeps_nothing() {
        let results = Results::new(1000);
        results.keep(key(1), &result(100));
        results.give_up();
        assert_eq!(results.keep(key(2), &result(100)), None);
        assert!(results.get(&key(1)).is_none() && results.get(&key(2)).is_none());
    }
}

//! What came of compressing files, kept within a budget of bytes by what the file was: its entity tag. All
//! workers share it. Evicts with CLOCK. What is evicted while it is being sent is found until that has ended,
//! so that it is not made again, and counts as memory that is taken. Used by [`super::Compressor`].

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use weir_http::message::coding::Coding;
use weir_http::message::conditions::ETag;

use crate::metrics::Metrics;

/// Bytes that a result costs beside its content.
const OVERHEAD: usize = 256;

/// Bytes that results which are being sent and not kept may take, however few are kept.
const LEAST_LENT: usize = 8_000_000;

/// Entries of results that are not kept, before those are looked for that are not there any more.
const SWEEP: usize = 64;

/// What was compressed, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    /// The tag of the content as it is.
    pub(crate) etag: ETag,
    pub(crate) coding: Coding,
}

/// What came of it. Whoever sends it holds it.
#[derive(Debug)]
pub(crate) struct Compressed {
    /// `None`: it would hardly be smaller. Freed with the last that holds the result, while weak references
    /// to it may stay.
    bytes: Option<Box<[u8]>>,
    /// Since the hand of the clock last passed.
    used: AtomicBool,
    /// Where the memory that it takes is counted.
    taken: Arc<Taken>,
}

/// Memory that results take. The figure among the metrics is that of the whole server.
#[derive(Debug)]
struct Taken {
    /// Of these results alone: those of the [`Results`] that were replaced by others are bounded apart, or
    /// slow clients could keep the others from making any for as long as they like.
    bytes: AtomicUsize,
    metrics: Arc<Metrics>,
}

impl Taken {
    fn new(metrics: &Arc<Metrics>) -> Arc<Taken> {
        Arc::new(Taken { bytes: AtomicUsize::new(0), metrics: metrics.clone() })
    }

    fn add(&self, bytes: usize) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.metrics.compression.takes(bytes);
    }

    fn give_back(&self, bytes: usize) {
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
        self.metrics.compression.gives_back(bytes);
    }

    fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }
}

impl Compressed {
    fn new(bytes: Option<Vec<u8>>, taken: &Arc<Taken>) -> Arc<Compressed> {
        let bytes = bytes.map(Vec::into_boxed_slice);
        let made = Compressed { bytes, used: AtomicBool::new(false), taken: taken.clone() };
        taken.add(made.cost());
        Arc::new(made)
    }

    /// A result for tests of whoever learns about it.
    #[cfg(test)]
    pub(crate) fn of(bytes: Option<Vec<u8>>) -> Arc<Compressed> {
        Compressed::new(bytes, &Taken::new(&Arc::new(Metrics::new())))
    }

    /// The compressed content; `None`: it would hardly be smaller.
    pub(crate) fn bytes(&self) -> Option<&[u8]> {
        self.bytes.as_deref()
    }

    /// It is used: others are evicted before it.
    pub(crate) fn note_use(&self) {
        // Workers that only read share the memory of what is used all the time.
        if !self.used.load(Ordering::Relaxed) {
            self.used.store(true, Ordering::Relaxed);
        }
    }

    fn cost(&self) -> usize {
        OVERHEAD + self.bytes.as_ref().map_or(0, |bytes| bytes.len())
    }
}

impl Drop for Compressed {
    fn drop(&mut self) {
        self.taken.give_back(self.cost());
    }
}

/// See the module.
#[derive(Debug)]
pub(super) struct Results {
    state: Mutex<State>,
    most: usize,
    taken: Arc<Taken>,
}

#[derive(Debug, Default)]
struct State {
    kept: HashMap<Key, Arc<Compressed>>,
    /// Each key of `kept` once.
    ring: VecDeque<Key>,
    used: usize,
    /// What was evicted, or never kept, while somebody held it.
    lent: HashMap<Key, Weak<Compressed>>,
    /// With so many entries of `lent` those go whose results are not there any more.
    sweep_at: usize,
    /// Nothing is kept any more.
    has_given_up: bool,
}

impl State {
    /// Remembers a result for as long as somebody holds it.
    fn lend(&mut self, key: Key, result: &Arc<Compressed>) {
        if self.lent.len() >= self.sweep_at {
            self.lent.retain(|_, result| result.strong_count() > 0);
            self.sweep_at = SWEEP + 2 * self.lent.len();
        }
        self.lent.insert(key, Arc::downgrade(result));
    }
}

impl Results {
    /// Keeps at most so many bytes.
    pub(super) fn new(most: usize, metrics: &Arc<Metrics>) -> Results {
        Results { state: Mutex::default(), most, taken: Taken::new(metrics) }
    }

    /// What came of compressing something, which counts as memory that is taken until nobody holds it.
    pub(super) fn made(&self, bytes: Option<Vec<u8>>) -> Arc<Compressed> {
        Compressed::new(bytes, &self.taken)
    }

    /// Whether results take so much memory, with those that are being sent, that no more are to be made.
    pub(super) fn is_full(&self) -> bool {
        self.taken.bytes() > self.most.saturating_add(self.most.max(LEAST_LENT))
    }

    /// The result, if it is kept, or somebody holds it.
    pub(super) fn get(&self, key: &Key) -> Option<Arc<Compressed>> {
        let state = self.lock();
        state.kept.get(key).cloned().or_else(|| state.lent.get(key)?.upgrade())
    }

    /// Gives up all that is kept, and keeps nothing any more.
    pub(super) fn give_up(&self) {
        *self.lock() = State { has_given_up: true, ..State::default() };
    }

    /// Keeps a result, and evicts others as far as that needs room, unless nothing is kept any more.
    pub(super) fn keep(&self, key: Key, result: &Arc<Compressed>) {
        let mut state = self.lock();
        if state.has_given_up {
            return;
        }
        if result.cost() > self.most {
            state.lend(key, result);
            return;
        }
        state.lent.remove(&key);
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
                if Arc::strong_count(&evicted) > 1 {
                    state.lend(first, &evicted);
                }
            }
        }
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

    fn results(most: usize) -> Results {
        Results::new(most, &Arc::new(Metrics::new()))
    }

    fn result(results: &Results, length: usize) -> Arc<Compressed> {
        results.made(Some(vec![1; length]))
    }

    /// Has a result of this length kept that nobody else holds.
    fn keep(results: &Results, number: u64, length: usize) {
        results.keep(key(number), &result(results, length));
    }

    fn used(results: &Results) -> usize {
        results.lock().used
    }

    fn taken(results: &Results) -> usize {
        results.taken.bytes()
    }

    #[test]
    fn the_budget_holds_and_what_is_used_stays() {
        let results = results(100_000);
        keep(&results, 0, 10_000);
        for number in 1..1000 {
            results.get(&key(0)).unwrap_or_else(|| panic!("evicted by {number}")).note_use();
            keep(&results, number, 10_000);
            assert!(used(&results) <= 100_000);
            assert!(results.get(&key(number)).is_some(), "the newest is there");
        }
        let state = results.lock();
        assert_eq!((state.kept.len(), state.ring.len()), (9, 9));
        assert_eq!(state.used, 9 * (10_000 + OVERHEAD));
        assert_eq!((state.used, state.lent.len()), (taken(&results), 0));
    }

    #[test]
    fn a_result_is_of_one_content_in_one_coding() {
        let results = results(100_000);
        keep(&results, 1, 10);
        assert!(results.get(&Key { coding: Coding::Zstd, ..key(1) }).is_none());
        assert!(results.get(&key(2)).is_none());
        keep(&results, 1, 20);
        assert_eq!((used(&results), taken(&results)), (20 + OVERHEAD, 20 + OVERHEAD));
        assert_eq!(results.get(&key(1)).unwrap().bytes().map(<[u8]>::len), Some(20));
    }

    #[test]
    fn what_is_too_large_evicts_nothing() {
        let results = results(1000);
        keep(&results, 1, 100);
        keep(&results, 2, 1000);
        assert_eq!(used(&results), 100 + OVERHEAD);
        assert!(results.get(&key(1)).is_some() && results.get(&key(2)).is_none());
        // That something is not worth it is remembered, too.
        results.keep(key(3), &results.made(None));
        assert!(results.get(&key(3)).unwrap().bytes().is_none());
        let none = self::results(0);
        keep(&none, 1, 1);
        assert_eq!((used(&none), taken(&none)), (0, 0));
    }

    #[test]
    fn what_is_being_sent_is_found_though_it_is_not_kept() {
        let results = results(1000);
        let sent = result(&results, 500);
        results.keep(key(1), &sent);
        let large = result(&results, 5000);
        results.keep(key(2), &large);
        // Evicts the first.
        keep(&results, 3, 700);
        assert!(!results.lock().kept.contains_key(&key(1)));
        for (number, held) in [(1, &sent), (2, &large)] {
            assert!(Arc::ptr_eq(&results.get(&key(number)).unwrap(), held), "{number}");
        }
        assert_eq!(taken(&results), 500 + 5000 + 700 + 3 * OVERHEAD);
        drop((sent, large));
        assert!(results.get(&key(1)).is_none() && results.get(&key(2)).is_none());
        assert_eq!(taken(&results), used(&results));
    }

    #[test]
    fn what_is_being_sent_may_take_as_much_as_is_kept() {
        for (most, bound) in [(20_000_000, 40_000_000), (1000, LEAST_LENT + 1000)] {
            let results = results(most);
            let mut sent = Vec::new();
            while taken(&results) <= bound {
                assert!(!results.is_full(), "{most}");
                let result = result(&results, 1_000_000);
                results.keep(key(sent.len() as u64), &result);
                sent.push(result);
            }
            assert!(results.is_full() && used(&results) <= most, "{most}");
            sent.clear();
            assert!(!results.is_full(), "{most}");
        }
    }

    #[test]
    fn nothing_is_remembered_for_long_of_what_was_sent() {
        let results = results(0);
        for number in 0..10_000 {
            let sent = result(&results, 10);
            results.keep(key(number), &sent);
            assert!(results.lock().lent.len() <= 2 * SWEEP);
        }
    }

    #[test]
    fn one_that_has_been_replaced_keeps_nothing() {
        let results = results(1000);
        keep(&results, 1, 100);
        results.give_up();
        keep(&results, 2, 100);
        assert!(results.get(&key(1)).is_none() && results.get(&key(2)).is_none());
        assert_eq!(taken(&results), 0);
    }
}

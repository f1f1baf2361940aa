//! Small files that are requested often, whole in memory within a budget (`cache`). The site fills it with
//! what was read and serves from it.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::{Rc, Weak};
use std::sync::Arc;

use super::uses::Uses;

/// Bytes that an entry costs beside its content.
const OVERHEAD: usize = 512;

/// Places of files that are gone are given up once there are so many, and as many as hot files.
const SLACK: usize = 64;

/// The content of one file, if it is hot.
#[derive(Debug, Default)]
pub(super) struct Hot {
    kept: RefCell<Option<Kept>>,
    uses: Uses,
}

impl Hot {
    /// The content, which counts as used.
    pub(super) fn get(&self) -> Option<Arc<[u8]>> {
        let bytes = self.kept.borrow().as_ref()?.bytes.clone();
        self.uses.count();
        Some(bytes)
    }
}

/// Content that counts against the budget for as long as it is kept: what a file had before it was
/// replaced must not keep its successor out.
#[derive(Debug)]
struct Kept {
    bytes: Arc<[u8]>,
    cost: usize,
    budget: Rc<Budget>,
}

impl Drop for Kept {
    fn drop(&mut self) {
        let Budget { used, files } = &*self.budget;
        used.set(used.get() - self.cost);
        files.set(files.get() - 1);
    }
}

/// What is kept.
#[derive(Debug, Default)]
struct Budget {
    used: Cell<usize>,
    files: Cell<usize>,
}

/// The hot files of a worker, within a budget of bytes. Evicts with generalised CLOCK, whose hand moves by
/// one file in use for each that is to be admitted.
#[derive(Debug)]
pub(super) struct HotSet {
    /// The hot files, and some that are gone.
    ring: RefCell<VecDeque<Weak<Hot>>>,
    budget: Rc<Budget>,
    most: usize,
}

impl HotSet {
    pub(super) fn new(most: usize) -> HotSet {
        HotSet { ring: RefCell::default(), budget: Rc::default(), most }
    }

    /// Whether a file of this length could ever be hot.
    pub(super) fn fits(&self, length: u64) -> bool {
        usize::try_from(length).is_ok_and(|length| length.saturating_add(OVERHEAD) <= self.most)
    }

    /// Keeps the content of a file, and evicts others as far as that needs room. If it is the turn of one
    /// that is in use, that loses a use, and the new one is not kept: so whoever is used once while as
    /// many others are asked for as there are files here stays, even if a scan asks for everything.
    pub(super) fn admit(&self, file: &Rc<Hot>, bytes: Arc<[u8]>) {
        let cost = bytes.len() + OVERHEAD;
        if !self.fits(bytes.len() as u64) || file.kept.borrow().is_some() {
            return;
        }
        let budget = &self.budget;
        let mut ring = self.ring.borrow_mut();
        while budget.used.get() + cost > self.most {
            let Some(first) = ring.pop_front() else { return };
            let Some(used) = first.upgrade() else { continue };
            if used.uses.spend() {
                ring.push_back(first);
                return;
            }
            used.kept.take();
        }
        budget.used.set(budget.used.get() + cost);
        budget.files.set(budget.files.get() + 1);
        file.kept.replace(Some(Kept { bytes, cost, budget: budget.clone() }));
        ring.push_back(Rc::downgrade(file));
        if ring.len() > 2 * budget.files.get() + SLACK {
            ring.retain(|file| file.strong_count() > 0);
        }
    }

    /// Keeps nothing of what it has.
    pub(super) fn clear(&self) {
        for file in self.ring.take() {
            if let Some(file) = file.upgrade() {
                file.kept.take();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(length: usize) -> Arc<[u8]> {
        vec![1; length].into()
    }

    #[test]
    fn the_budget_holds_and_what_is_used_stays() {
        let set = HotSet::new(100_000);
        let used = Rc::new(Hot::default());
        set.admit(&used, content(10_000));
        let others: Vec<Rc<Hot>> = (0..1000).map(|_| Rc::default()).collect();
        for other in &others {
            assert!(used.get().is_some());
            set.admit(other, content(10_000));
            assert!(set.budget.used.get() <= 100_000);
        }
        let kept = others.iter().filter(|other| other.get().is_some()).count();
        assert_eq!(kept, 8);
    }

    /// A client asks for every file twice, so that each is admitted, while nine tenths of the memory are
    /// in use.
    #[test]
    fn a_scan_does_not_evict_what_is_in_use() {
        const FILES: usize = 1000;
        let set = HotSet::new(FILES * (1000 + OVERHEAD));
        let hot: Vec<Rc<Hot>> = (0..FILES * 9 / 10).map(|_| Rc::default()).collect();
        for file in &hot {
            set.admit(file, content(1000));
            assert!(file.get().is_some());
        }
        let mut scanned: Vec<Rc<Hot>> = Vec::new();
        for place in (0..FILES).cycle().take(20 * FILES) {
            scanned.push(Rc::default());
            set.admit(&scanned[scanned.len() - 1], content(1000));
            if let Some(file) = hot.get(place) {
                assert!(file.get().is_some(), "after {}", scanned.len());
            }
        }
        // What is not used any more does make room.
        for file in &scanned[..10 * FILES] {
            set.admit(file, content(1000));
        }
        assert!(hot.iter().all(|file| file.kept.borrow().is_none()));
    }

    /// A file that is asked for all the time is replaced while all memory is in use.
    #[test]
    fn a_file_that_takes_the_place_of_a_hot_one_is_hot_at_once() {
        let set = HotSet::new(1000 * (1000 + OVERHEAD));
        let mut hot: Vec<Rc<Hot>> = (0..1000).map(|_| Rc::default()).collect();
        for file in &hot {
            set.admit(file, content(1000));
            assert!(file.get().is_some());
        }
        for place in [0, 500, 999] {
            hot[place] = Rc::default();
            set.admit(&hot[place], content(1000));
            assert!(hot[place].get().is_some(), "{place}");
        }
        assert!(hot.iter().all(|file| file.get().is_some()));
        // However often: places of files that are gone are not kept.
        for _ in 0..100_000 {
            hot[7] = Rc::default();
            set.admit(&hot[7], content(1000));
        }
        assert!(set.ring.borrow().len() <= 2 * 1000 + SLACK + 1);
    }

    #[test]
    fn all_of_it_can_be_given_up() {
        let set = HotSet::new(100_000);
        let files: Vec<Rc<Hot>> = (0..5).map(|_| Rc::default()).collect();
        files.iter().for_each(|file| set.admit(file, content(10_000)));
        assert!(files.iter().all(|file| file.get().is_some()));
        set.clear();
        assert!(files.iter().all(|file| file.get().is_none()));
        assert_eq!((set.budget.used.get(), set.budget.files.get()), (0, 0));
        set.admit(&files[0], content(10_000));
        assert!(files[0].get().is_some());
    }

    #[test]
    fn what_is_gone_gives_its_place_back_and_what_is_too_large_gets_none() {
        let set = HotSet::new(20_000);
        for _ in 0..100 {
            let file = Rc::new(Hot::default());
            set.admit(&file, content(9_000));
            assert!(file.get().is_some());
        }
        let large = Rc::new(Hot::default());
        set.admit(&large, content(19_900));
        assert!(large.get().is_none() && !set.fits(19_900) && !set.fits(u64::MAX));
    }
}

//! Small files that are requested often, whole in memory within a budget (`cache`). The site fills it with
//! what was read and serves from it.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::{Rc, Weak};
use std::sync::Arc;

use super::uses::Uses;

/// Bytes that an entry costs beside its content.
const OVERHEAD: usize = 512;

/// The content of one file, if it is hot.
#[derive(Debug, Default)]
pub(super) struct Hot {
    bytes: RefCell<Option<Arc<[u8]>>>,
    uses: Uses,
}

impl Hot {
    /// The content, which counts as used.
    pub(super) fn get(&self) -> Option<Arc<[u8]>> {
        let bytes = self.bytes.borrow().clone()?;
        self.uses.count();
        Some(bytes)
    }
}

/// The hot files of a worker, within a budget of bytes. Evicts with generalised CLOCK, whose hand moves by
/// one file in use for each that is to be admitted.
#[derive(Debug)]
pub(super) struct HotSet {
    ring: RefCell<VecDeque<(Weak<Hot>, usize)>>,
    used: Cell<usize>,
    most: usize,
}

impl HotSet {
    pub(super) fn new(most: usize) -> HotSet {
        HotSet { ring: RefCell::default(), used: Cell::new(0), most }
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
        if !self.fits(bytes.len() as u64) || file.bytes.borrow().is_some() {
            return;
        }
        let mut ring = self.ring.borrow_mut();
        while self.used.get() + cost > self.most {
            let Some((first, freed)) = ring.pop_front() else { return };
            match first.upgrade() {
                Some(used) if used.uses.spend() => {
                    ring.push_back((first, freed));
                    return;
                }
                unused => {
                    if let Some(unused) = unused {
                        *unused.bytes.borrow_mut() = None;
                    }
                    self.used.set(self.used.get() - freed);
                }
            }
        }
        *file.bytes.borrow_mut() = Some(bytes);
        self.used.set(self.used.get() + cost);
        ring.push_back((Rc::downgrade(file), cost));
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
            assert!(set.used.get() <= 100_000);
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
        assert!(hot.iter().all(|file| file.bytes.borrow().is_none()));
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

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

/// The hot files of a worker, within a budget of bytes. Evicts with generalised CLOCK.
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

    /// Keeps the content of a file, and evicts others as far as that needs room.
    pub(super) fn admit(&self, file: &Rc<Hot>, bytes: Arc<[u8]>) {
        let cost = bytes.len() + OVERHEAD;
        if !self.fits(bytes.len() as u64) || file.bytes.borrow().is_some() {
            return;
        }
        *file.bytes.borrow_mut() = Some(bytes);
        self.used.set(self.used.get() + cost);
        let mut ring = self.ring.borrow_mut();
        ring.push_back((Rc::downgrade(file), cost));
        while self.used.get() > self.most {
            let Some((file, cost)) = ring.pop_front() else { return };
            match file.upgrade() {
                Some(used) if used.uses.spend() => ring.push_back((file, cost)),
                unused => {
                    if let Some(unused) = unused {
                        *unused.bytes.borrow_mut() = None;
                    }
                    self.used.set(self.used.get() - cost);
                }
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
            assert!(set.used.get() <= 100_000);
        }
        let kept = others.iter().filter(|other| other.get().is_some()).count();
        assert_eq!(kept, 8);
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

//! The small files that are asked for often, whole in memory within a budget. It reads no files.
//!
//! Who is thrown out when it is full: going round, the first that was not used since the last round
//! (GCLOCK).

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::{Rc, Weak};
use std::sync::Arc;

use super::names::{Entry, Known};

/// Uses that are remembered.
const MOST_USES: u8 = 3;

/// Bytes that an entry costs beside its content.
const OVERHEAD: usize = 512;

/// The content of one file, if it is hot.
#[derive(Debug, Default)]
pub(super) struct Hot {
    bytes: RefCell<Option<Arc<[u8]>>>,
    uses: Cell<u8>,
}

impl Hot {
    /// The content, which counts as used.
    pub(super) fn get(&self) -> Option<Arc<[u8]>> {
        let bytes = self.bytes.borrow().clone()?;
        self.uses.set((self.uses.get() + 1).min(MOST_USES));
        Some(bytes)
    }
}

/// A budget of bytes.
#[derive(Debug)]
pub(super) struct HotSet {
    ring: RefCell<VecDeque<(Weak<Entry>, usize)>>,
    used: Cell<usize>,
    most: usize,
}

impl HotSet {
    pub(super) fn new(most: usize) -> HotSet {
        HotSet { ring: RefCell::default(), used: Cell::new(0), most }
    }

    /// Whether a file of this length could ever be hot.
    pub(super) fn fits(&self, length: u64) -> bool {
        usize::try_from(length).is_ok_and(|length| length + OVERHEAD <= self.most)
    }

    /// Keeps the content of a file.
    pub(super) fn admit(&self, entry: &Rc<Entry>, bytes: Arc<[u8]>) {
        let Known::File(file) = &entry.known else { return };
        let cost = bytes.len() + OVERHEAD;
        if !self.fits(bytes.len() as u64) || file.hot.bytes.borrow().is_some() {
            return;
        }
        *file.hot.bytes.borrow_mut() = Some(bytes);
        self.used.set(self.used.get() + cost);
        let mut ring = self.ring.borrow_mut();
        ring.push_back((Rc::downgrade(entry), cost));
        while self.used.get() > self.most {
            let Some((entry, cost)) = ring.pop_front() else { return };
            let alive = entry.upgrade();
            let file = alive.as_deref().and_then(|entry| match &entry.known {
                Known::File(file) => Some(file),
                Known::Directory | Known::Error(_) => None,
            });
            match file {
                Some(file) if file.hot.uses.get() > 0 => {
                    file.hot.uses.set(file.hot.uses.get() - 1);
                    ring.push_back((entry, cost));
                }
                file => {
                    if let Some(file) = file {
                        *file.hot.bytes.borrow_mut() = None;
                    }
                    self.used.set(self.used.get() - cost);
                }
            }
        }
    }
}

//! Which disks the parts of a site are on that are not on the disk of its root: mounts below it, as
//! far as something of them was opened. The site asks before it gives work to a helper.

use std::cell::RefCell;
use std::collections::HashMap;

use crate::disk::DiskId;

/// Parts that are remembered. There are seldom so many; then all are learned anew.
const MOST: usize = 4096;

/// See the module. A part is a hash of the beginning of its names.
#[derive(Debug, Default)]
pub(super) struct Places(RefCell<HashMap<u64, DiskId>>);

impl Places {
    /// The disk of this part, if it is not that of the root.
    pub(super) fn disk(&self, place: u64) -> Option<DiskId> {
        self.0.borrow().get(&place).copied()
    }

    /// Something of this part was found on `disk`; `own` is that of the root.
    pub(super) fn learn(&self, place: u64, disk: DiskId, own: DiskId) {
        let mut disks = self.0.borrow_mut();
        if disk == own {
            disks.remove(&place);
        } else {
            if disks.len() >= MOST {
                disks.clear();
            }
            disks.insert(place, disk);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_on_other_disks_are_remembered_while_they_are() {
        let (places, own) = (Places::default(), DiskId::numbered(0));
        let other = DiskId::numbered(1);
        places.learn(5, own, own);
        places.learn(6, other, own);
        assert_eq!((places.disk(5), places.disk(6)), (None, Some(other)));
        // It was unmounted.
        places.learn(6, own, own);
        assert_eq!(places.disk(6), None);
        for place in 0..100_000 {
            places.learn(place, other, own);
            assert!(places.disk(place).is_some() && places.0.borrow().len() <= MOST);
        }
    }
}

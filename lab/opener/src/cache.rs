//! The open files by name: a bounded number, of which the least recently used is closed to make room. Used
//! by the opener.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use lru::LruCache;
use weir_sched::Time;

use crate::find::OpenFile;

/// How many files are looked at to find some that may go.
const LOOKED: usize = 1024;

/// A whole name, as the server says it.
pub(crate) type Name = Arc<[u8]>;

/// See the module.
pub(crate) struct Cache {
    files: LruCache<Name, Kept>,
}

struct Kept {
    file: OpenFile,
    /// When the name was last known to stand for the file.
    checked: Time,
    used: Time,
}

impl Cache {
    pub(crate) fn new(most: NonZeroUsize) -> Cache {
        // It grows as it fills.
        Cache { files: LruCache::sparse(most) }
    }

    /// The file of a name, and when the name was last known to stand for it.
    pub(crate) fn get(&mut self, name: &[u8], now: Time) -> Option<(OpenFile, Time)> {
        let kept = self.files.get_mut(name)?;
        kept.used = now;
        Some((kept.file.clone(), kept.checked))
    }

    /// The name stood for its file at this time, if not later.
    pub(crate) fn checked(&mut self, name: &[u8], now: Time) {
        if let Some(kept) = self.files.peek_mut(name) {
            kept.checked = kept.checked.max(now);
        }
    }

    /// Keeps a file. Returns what had to go for it: one of another name, or the file that this name stood
    /// for before.
    pub(crate) fn keep(&mut self, name: Name, file: OpenFile, checked: Time) -> Option<Gone> {
        let known = self.files.contains(&name);
        let (_, gone) = self.files.push(name, Kept { file, checked, used: checked })?;
        Some(Gone { file: gone.file, evicted: !known })
    }

    /// The name stands for another file, or for none.
    pub(crate) fn forget(&mut self, name: &[u8]) -> Option<OpenFile> {
        self.files.pop(name).map(|kept| kept.file)
    }

    /// The file that was used least recently, out of the cache, if that was longer ago than `unused`.
    pub(crate) fn pop_unused(&mut self, now: Time, unused: Duration) -> Option<OpenFile> {
        let (_, oldest) = self.files.peek_lru()?;
        if now.since(oldest.used) < unused {
            return None;
        }
        self.files.pop_lru().map(|(_, kept)| kept.file)
    }

    /// Up to `most` files that were used least recently of those that `may_go`, out of the cache. Those that
    /// may not count as used now, so that they are behind all others the next time: however many they are,
    /// each call looks at few files.
    pub(crate) fn pop_oldest(
        &mut self,
        most: usize,
        now: Time,
        may_go: impl Fn(&OpenFile) -> bool,
    ) -> Vec<OpenFile> {
        let mut gone = Vec::new();
        for _ in 0..LOOKED.min(self.len()) {
            if gone.len() == most {
                break;
            }
            let Some((name, kept)) = self.files.peek_lru() else { break };
            if may_go(&kept.file) {
                gone.extend(self.files.pop_lru().map(|(_, kept)| kept.file));
            } else {
                let name = name.clone();
                if let Some(kept) = self.files.get_mut(&name) {
                    kept.used = now;
                }
            }
        }
        gone
    }

    /// How many files are kept.
    pub(crate) fn len(&self) -> usize {
        self.files.len()
    }
}

/// A file that is kept no longer.
pub(crate) struct Gone {
    pub(crate) file: OpenFile,
    /// It went to make room.
    pub(crate) evicted: bool,
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::find::{Opened, from_disk};
    use crate::roots::Below;

    fn file(root: &Path, name: &str) -> OpenFile {
        fs::write(root.join(name), name).unwrap();
        match from_disk(Below { root, name: Path::new(name) }, 1).unwrap() {
            Opened::File(file) => file,
            other => panic!("{other:?}"),
        }
    }

    fn at(seconds: u64) -> Time {
        Time::from_nanos(seconds * 1_000_000_000)
    }

    #[test]
    fn the_least_recently_used_makes_room() {
        let root = tempfile::tempdir().unwrap();
        let [a, b, c] = ["a", "b", "c"].map(|name| file(root.path(), name));
        let mut cache = Cache::new(NonZeroUsize::new(2).unwrap());
        assert!(cache.keep((*b"/a").into(), a.clone(), at(1)).is_none());
        assert!(cache.keep((*b"/b").into(), b.clone(), at(2)).is_none());
        cache.checked(b"/a", at(3));
        // What was asked earlier is told later.
        cache.checked(b"/a", at(2));
        assert_eq!(cache.get(b"/a", at(3)).unwrap().1, at(3));
        let gone = cache.keep((*b"/c").into(), c, at(4)).unwrap();
        assert!(gone.evicted && gone.file.identity == b.identity);
        assert!(cache.get(b"/b", at(5)).is_none());
        // A new file of the same name takes the place of the old one.
        let gone = cache.keep((*b"/a").into(), b.clone(), at(6)).unwrap();
        assert!(!gone.evicted && gone.file.identity == a.identity);
        let kept = cache.files.len();
        assert!(cache.pop_oldest(9, at(7), |_| false).is_empty() && cache.len() == kept);
        let newest = cache.pop_oldest(9, at(7), |file| file.identity == b.identity);
        assert!(newest.len() == 1 && newest[0].identity == b.identity);
        assert!(cache.forget(b"/c").is_some() && cache.forget(b"/c").is_none());
    }

    /// One that may go behind very many that may not is found in a few calls, and none looks at all of them.
    #[test]
    fn what_may_not_go_is_not_looked_at_again_and_again() {
        let root = tempfile::tempdir().unwrap();
        let [hanging, other] = ["hanging", "other"].map(|name| file(root.path(), name));
        let many = 20 * LOOKED;
        let mut cache = Cache::new(NonZeroUsize::new(many + 1).unwrap());
        for number in 0..many {
            cache.keep(number.to_string().as_bytes().into(), hanging.clone(), at(1));
        }
        cache.keep((*b"/other").into(), other.clone(), at(2));
        let looked = Cell::new(0);
        let may_go = |file: &OpenFile| {
            looked.set(looked.get() + 1);
            file.identity == other.identity
        };
        for calls in 1..=20 {
            assert!(cache.pop_oldest(1, at(3), may_go).is_empty());
            assert_eq!(looked.get(), calls * LOOKED);
        }
        assert_eq!(cache.pop_oldest(1, at(3), may_go).len(), 1);
        assert_eq!((looked.get(), cache.len()), (many + 1, many));
        // Each was passed over since, which counts as a use.
        assert!(cache.pop_unused(at(4), Duration::from_secs(2)).is_none());
    }

    #[test]
    fn what_nobody_asks_for_is_closed() {
        let root = tempfile::tempdir().unwrap();
        let mut cache = Cache::new(NonZeroUsize::new(9).unwrap());
        let minute = Duration::from_secs(60);
        for (name, seconds) in [("a", 0), ("b", 10)] {
            let kept = file(root.path(), name);
            cache.keep(name.as_bytes().into(), kept, at(seconds));
        }
        assert!(cache.pop_unused(at(59), minute).is_none());
        // To check a name is no use of it.
        cache.checked(b"a", at(59));
        assert_eq!(cache.get(b"b", at(60)).unwrap().1, at(10));
        assert!(cache.pop_unused(at(60), minute).is_some());
        assert!(cache.pop_unused(at(119), minute).is_none());
        assert!(cache.pop_unused(at(120), minute).is_some());
        assert!(cache.pop_unused(at(1000), minute).is_none());
    }
}

//! The parts of a site, as the gates of disks know them, and which disks they are on: mounts below the root,
//! as far as something of them was opened. The site asks before it gives work to a helper.

use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use super::mounts::{Mounts, first, path_of};
use super::root::Directory;
use crate::disk::DiskId;

/// Parts that are remembered. There are seldom so many; then all are learned anew.
const MOST: usize = 4096;

/// See the module.
#[derive(Debug)]
pub(super) struct Places {
    /// Of parts that are not on the root's, by their places: what is mounted anew is not known.
    disks: RefCell<HashMap<u64, DiskId>>,
    /// Where the root is, without links. Empty: the kernel does not say.
    root: RefCell<Arc<[u8]>>,
    /// What is mounted there, as a helper found it last.
    mounts: RefCell<Arc<Mounts>>,
}

/// Where work on a name is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct At {
    pub(super) disk: DiskId,
    /// The part of the site, as the disk's gate knows it.
    pub(super) place: u64,
}

impl Places {
    /// Those of a site with this root.
    pub(super) fn new(root: &Directory) -> Places {
        let mounts = RefCell::new(root.mounts.clone());
        Places { disks: RefCell::default(), root: RefCell::new(path_of(&root.fd)), mounts }
    }

    /// Forgets all: this is the root now.
    pub(super) fn begin_anew(&self, root: &Directory) {
        self.disks.borrow_mut().clear();
        *self.root.borrow_mut() = path_of(&root.fd);
        self.found_mounted(&root.mounts);
    }

    /// Where the root is, without links. Empty: the kernel does not say.
    pub(super) fn root(&self) -> Arc<[u8]> {
        self.root.borrow().clone()
    }

    /// Stands for what is mounted at the root and above it.
    pub(super) fn above(&self) -> u64 {
        self.mounts.borrow().above()
    }

    /// Where work on `name` below `root` is to be done.
    pub(super) fn at(&self, root: &Directory, name: &[u8]) -> At {
        let first = first(name);
        let begins = self.place(root, Some(first));
        let known = self.disks.borrow().get(&begins).copied();
        let is_mount = known.is_some() || self.mounts.borrow().part(first).is_some();
        // A name without a slash that is no mount itself, as far as is known, is one of all such names.
        let place = match is_mount || name.contains(&b'/') {
            true => begins,
            false => self.place(root, None),
        };
        At { disk: known.unwrap_or(root.disk), place }
    }

    /// That of the names that begin with this segment; `None`: of those of one segment. What hangs there says
    /// nothing of what is mounted there later, which is at another.
    fn place(&self, root: &Directory, first: Option<&[u8]>) -> u64 {
        let mounts = self.mounts.borrow();
        let part = first.and_then(|first| mounts.part(first));
        let mut hasher = DefaultHasher::new();
        (root.device, root.inode, first, mounts.above(), part).hash(&mut hasher);
        hasher.finish()
    }

    /// Something was found on `disk`: `name` below `root`, or a directory of that name. Whether that is another
    /// disk than was known, and not the root's.
    pub(super) fn learn(&self, root: &Directory, name: &[u8], disk: DiskId) -> bool {
        let begins = self.place(root, Some(first(name)));
        let mut disks = self.disks.borrow_mut();
        if disk != root.disk {
            if disks.len() >= MOST {
                disks.clear();
            }
            return disks.insert(begins, disk) != Some(disk);
        }
        if name.contains(&b'/') {
            disks.remove(&begins);
        }
        false
    }

    /// Whether a helper has looked what is mounted since the mount table changed for the last time, as far as
    /// `changes` tell.
    pub(super) fn knows_mounts(&self, changes: u64) -> bool {
        let mounts = self.mounts.borrow();
        mounts.changes() == changes && *mounts.root() == **self.root.borrow()
    }

    /// A helper looked what is mounted. What it found of another root, or before another looked, does not
    /// count.
    pub(super) fn found_mounted(&self, found: &Arc<Mounts>) {
        let mut mounts = self.mounts.borrow_mut();
        let is_newer = found.changes() >= mounts.changes();
        if is_newer && *found.root() == **self.root.borrow() {
            *mounts = found.clone();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStrExt;

    use super::super::mounts::made;
    use super::*;

    fn root() -> (tempfile::TempDir, Directory) {
        let at = tempfile::tempdir().unwrap();
        let root = Directory::open(at.path()).unwrap();
        (at, root)
    }

    #[test]
    fn parts_on_other_disks_are_remembered_while_they_are() {
        let (at, root) = root();
        let (places, other) = (Places::new(&root), DiskId::numbered(u64::MAX));
        assert_eq!(*places.root(), *at.path().canonicalize().unwrap().as_os_str().as_bytes());
        let disk = |name: &[u8]| places.at(&root, name).disk;
        places.learn(&root, b"local/a", root.disk);
        places.learn(&root, b"mount/a", other);
        assert_eq!((disk(b"local/b"), disk(b"mount/b")), (root.disk, other));
        // So is the mount itself, and its list.
        assert_eq!((disk(b"mount"), disk(b"mount/"), disk(b"mounted")), (other, other, root.disk));
        // It was unmounted.
        places.learn(&root, b"mount/a", root.disk);
        assert_eq!(disk(b"mount/b"), root.disk);
        for number in 0..2 * MOST {
            let name = format!("{number}/a");
            places.learn(&root, name.as_bytes(), other);
            assert!(disk(name.as_bytes()) == other && places.disks.borrow().len() <= MOST);
        }
    }

    #[test]
    fn a_part_hangs_alone() {
        let ((_one, one), (_two, two)) = (root(), root());
        let places = Places::new(&one);
        let place = |root: &Directory, name: &[u8]| places.at(root, name).place;
        let media = place(&one, b"media/a");
        assert_eq!(place(&one, b"media/b/c"), media);
        assert_eq!(place(&one, b"a"), place(&one, b"b"));
        // Lists are asked for with the slash.
        for other in [&b"a"[..], b"other/a", b"other/"] {
            assert_ne!(place(&one, other), media);
        }
        // The same names of another site, or of the root that has the place of this one.
        assert_ne!(place(&two, b"media/a"), media);
        assert_ne!(place(&two, b"a"), place(&one, b"a"));
        places.learn(&one, b"media", DiskId::numbered(u64::MAX));
        assert_eq!(place(&one, b"media"), media);
    }

    /// Has a helper find this after so many more changes.
    fn find(places: &Places, more: u64, above: u64, parts: &[(&str, u64)]) {
        let changes = places.mounts.borrow().changes() + more;
        places.found_mounted(&made(&places.root(), changes, above, parts));
    }

    #[test]
    fn what_is_mounted_anew_is_another_place_on_a_disk_that_is_not_known() {
        let (_at, root) = root();
        let (places, other) = (Places::new(&root), DiskId::numbered(u64::MAX));
        let at = |name: &[u8]| places.at(&root, name);
        find(&places, 1, 7, &[("media", 1), ("hung", 1)]);
        let changes = places.mounts.borrow().changes();
        assert!(places.knows_mounts(changes) && !places.knows_mounts(changes + 1));
        for name in [&b"media/a"[..], b"hung/a", b"local/a"] {
            places.learn(&root, name, other);
        }
        let (media, hung, local, plain) = (at(b"media/a"), at(b"hung/a"), at(b"local/a"), at(b"a"));
        assert_eq!((at(b"media"), at(b"hung")), (media, hung));
        // What changes at one part is nothing to the others.
        find(&places, 1, 7, &[("media", 2), ("hung", 1), ("new", 1)]);
        let now = at(b"media/a");
        assert!(now.disk == root.disk && now.place != media.place);
        assert_eq!((at(b"hung/a"), at(b"local/a"), at(b"a")), (hung, local, plain));
        // A mount is a part of its own before anything of it was opened.
        assert_eq!(at(b"new"), at(b"new/a"));
        // What hung when it was unmounted is another one, too.
        find(&places, 1, 7, &[("media", 2)]);
        assert!(at(b"hung/a").place != hung.place && at(b"hung") == plain);
        // One that looked before has nothing to say.
        let before = made(&places.root(), changes, 7, &[("media", 1)]);
        places.found_mounted(&before);
        assert_eq!(at(b"media/a"), now);
        // What is mounted above counts for all.
        find(&places, 0, 8, &[("media", 2)]);
        for (name, before) in [(&b"media/a"[..], now), (b"local/a", local), (b"a", plain)] {
            assert!(at(name).disk == root.disk && at(name).place != before.place);
        }
    }

    #[test]
    fn sites_that_look_at_different_times_have_the_same_places_in_the_end() {
        let (at, root) = root();
        // They open it for themselves.
        let (one, two) = (Places::new(&root), Places::new(&Directory::open(at.path()).unwrap()));
        let are_same = |name: &[u8]| one.at(&root, name) == two.at(&root, name);
        assert!(are_same(b"media/a"));
        find(&one, 1, 7, &[("media", 1)]);
        assert!(!are_same(b"media/a"));
        find(&one, 1, 7, &[("media", 2)]);
        find(&two, 2, 7, &[("media", 2)]);
        for name in [&b"media/a"[..], b"media", b"other/a", b"a"] {
            assert!(are_same(name));
        }
    }

    #[test]
    fn another_root_has_nothing_of_what_was_learned_of_the_last() {
        let ((_one, one), (at, two)) = (root(), root());
        let places = Places::new(&one);
        // Even if it has the numbers of the last one, which was removed.
        places.learn(&two, b"media/a", DiskId::numbered(u64::MAX));
        places.begin_anew(&two);
        assert_eq!(places.at(&two, b"media/a").disk, two.disk);
        assert_eq!(*places.root(), *at.path().canonicalize().unwrap().as_os_str().as_bytes());
        assert!(places.knows_mounts(two.mounts.changes()));
        // What a helper finds of the last one does not count any more.
        let now = places.at(&two, b"media/a");
        places.found_mounted(&made(one.mounts.root(), two.mounts.changes() + 1, 9, &[]));
        assert_eq!(places.at(&two, b"media/a"), now);
    }

    #[test]
    fn a_root_that_a_worker_found_is_looked_at_by_a_helper_before_it_counts_as_known() {
        let ((_one, one), (_two, mut two)) = (root(), root());
        let places = Places::new(&one);
        two.mounts = one.mounts.clone();
        places.begin_anew(&two);
        assert!(!places.knows_mounts(one.mounts.changes()));
        find(&places, 0, 9, &[]);
        assert!(places.knows_mounts(one.mounts.changes()) && places.above() == 9);
    }
}

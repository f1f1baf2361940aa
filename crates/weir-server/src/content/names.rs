//! The cache of names: what the names of each site stand for, also those that lead nowhere. The sites of a
//! worker share the room for it, which is bounded in entries and in bytes, since clients choose how long
//! names are. The site fills it and asks it first.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, VecDeque};
use std::rc::Rc;

use weir_http::message::path::{PathKind, SitePath};
use weir_sched::Time;

use super::entry::{Entry, Known};

/// Bytes of memory for each entry that there is room for: more than entries of ordinary files take.
const BYTES_EACH: usize = 1024;

/// The most entries in use that the hand passes before it takes one of them: the worker does nothing else
/// meanwhile, and where all are in use, it would pass each of them several times.
const MOST_PASSED: usize = 1000;

/// Room for a bounded number of entries, and of their bytes, that sites share. Evicts with generalised
/// CLOCK, whose hand passes the entries of one site after the other: so each has as much room as it uses. A
/// site is left half of an equal share, however much is asked of the others.
#[derive(Debug)]
pub(super) struct NameBudget {
    most: usize,
    /// Entries of all sites.
    count: Cell<usize>,
    /// Bytes of these.
    bytes: Cell<usize>,
    sites: RefCell<Vec<Rc<Entries>>>,
    /// At which of the sites the hand is, and how many entries it passes before it goes on to the next.
    hand: Cell<(usize, usize)>,
}

impl NameBudget {
    /// Room for `most` entries of ordinary length, at least 1.
    pub(super) fn new(most: usize) -> NameBudget {
        let (count, bytes, sites, hand) = Default::default();
        NameBudget { most: most.max(1), count, bytes, sites, hand }
    }

    fn is_exceeded(&self) -> bool {
        self.count.get() > self.most || self.bytes.get() > self.most.saturating_mul(BYTES_EACH)
    }

    /// Evicts entries until the others have room.
    fn make_room(&self) {
        let sites = self.sites.borrow();
        let number = sites.len().max(1);
        // All sites may have so much at once: while the room is exceeded, some site has more.
        let left_to_each = self.most / 2 / number;
        let (mut place, mut to_pass) = self.hand.get();
        let mut passed = 0;
        while self.is_exceeded() {
            match sites.get(place) {
                Some(site) if to_pass > 0 && site.are_more_than(left_to_each) => {
                    to_pass -= 1;
                    passed += 1;
                    if let Some(cost) = site.pass(passed > MOST_PASSED) {
                        self.give_back(1, cost);
                    }
                }
                _ => {
                    place = (place + 1) % number;
                    to_pass = sites.get(place).map_or(0, |site| site.ring.borrow().len());
                }
            }
        }
        self.hand.set((place, to_pass));
    }

    fn give_back(&self, count: usize, bytes: usize) {
        self.count.set(self.count.get() - count);
        self.bytes.set(self.bytes.get() - bytes);
    }
}

type Map = HashMap<Rc<[u8]>, Rc<Entry>>;

/// The entries of one site.
#[derive(Debug, Default)]
struct Entries {
    files: RefCell<Map>,
    directories: RefCell<Map>,
    /// Files beside others, by their own names: paths of requests may stand for others.
    beside: RefCell<Map>,
    ring: RefCell<VecDeque<Rc<Entry>>>,
    /// Bytes of the entries in the ring.
    bytes: Cell<usize>,
}

impl Entries {
    fn map(&self, kind: PathKind) -> &RefCell<Map> {
        match kind {
            PathKind::File => &self.files,
            PathKind::Directory => &self.directories,
            PathKind::Beside => &self.beside,
        }
    }

    fn forget(&self, entry: &Entry) {
        if !entry.dropped.replace(true) {
            self.map(entry.kind).borrow_mut().remove(&entry.name);
        }
    }

    fn are_more_than(&self, count: usize) -> bool {
        self.ring.borrow().len() > count || self.bytes.get() > count.saturating_mul(BYTES_EACH)
    }

    /// The hand passes an entry, which loses a use; if it had none left, or `in_any_case`, it goes, and its
    /// bytes are told.
    fn pass(&self, in_any_case: bool) -> Option<usize> {
        let mut ring = self.ring.borrow_mut();
        let entry = ring.pop_front()?;
        if !entry.dropped.get() && entry.uses.spend() && !in_any_case {
            ring.push_back(entry);
            return None;
        }
        let cost = entry.cost();
        self.bytes.set(self.bytes.get() - cost);
        self.forget(&entry);
        Some(cost)
    }
}

/// The names of one site, in the room that it shares with others.
#[derive(Debug)]
pub(super) struct Names {
    budget: Rc<NameBudget>,
    own: Rc<Entries>,
}

impl Names {
    /// Those of another site of this worker.
    pub(super) fn new(budget: Rc<NameBudget>) -> Names {
        let own = Rc::<Entries>::default();
        budget.sites.borrow_mut().push(own.clone());
        Names { budget, own }
    }

    pub(super) fn get(&self, path: &SitePath<'_>) -> Option<Rc<Entry>> {
        self.own.map(path.kind()).borrow().get(path.as_bytes()).cloned()
    }

    /// Puts what was found at `now` in the place of what was known, unless that says the same.
    pub(super) fn learn(&self, path: &SitePath<'_>, known: Known, now: Time) -> Rc<Entry> {
        if let Some(old) = self.get(path).filter(|old| old.known.says(&known)) {
            old.confirm(now);
            old.uses.count();
            return old;
        }
        let Names { budget, own } = self;
        let entry = Rc::new(Entry::new(path, known, now));
        let map = own.map(entry.kind);
        if let Some(old) = map.borrow_mut().insert(entry.name.clone(), entry.clone()) {
            old.dropped.set(true);
        }
        let cost = entry.cost();
        own.bytes.set(own.bytes.get() + cost);
        own.ring.borrow_mut().push_back(entry.clone());
        budget.count.set(budget.count.get() + 1);
        budget.bytes.set(budget.bytes.get() + cost);
        budget.make_room();
        entry
    }

    /// Forgets an entry.
    pub(super) fn forget(&self, entry: &Entry) {
        self.own.forget(entry);
    }

    /// Forgets everything of this site, and gives the memory back.
    pub(super) fn clear(&self) {
        let Entries { files, directories, beside, ring, bytes } = &*self.own;
        let ring = ring.take();
        self.budget.give_back(ring.len(), bytes.take());
        for entry in ring {
            entry.dropped.set(true);
        }
        for map in [files, directories, beside] {
            map.take();
        }
    }
}

#[cfg(test)]
mod tests {
    use http::StatusCode;

    use super::*;
    use weir_http::message::path::resolve;

    /// A site that shares its room with nobody.
    fn alone(most: usize) -> Names {
        Names::new(Rc::new(NameBudget::new(most)))
    }

    /// Entries that a site takes room for.
    fn held(names: &Names) -> usize {
        names.own.ring.borrow().len()
    }

    fn learn(names: &Names, path: &str) {
        names.learn(&resolve(path).unwrap(), Known::Directory, Time::ZERO);
    }

    fn knows(names: &Names, path: &str) -> bool {
        names.get(&resolve(path).unwrap()).is_some()
    }

    #[test]
    fn what_is_used_outlives_a_flood() {
        let names = alone(100);
        learn(&names, "/used");
        for number in 0..10_000 {
            if number % 50 == 0 {
                names.get(&resolve("/used").unwrap()).unwrap().uses.count();
            }
            learn(&names, &format!("/flood/{number}"));
        }
        assert!(knows(&names, "/used") && knows(&names, "/flood/9999"));
        assert!(!knows(&names, "/flood/5000"));
        assert!(names.own.files.borrow().len() <= 100 && held(&names) <= 100);
        names.clear();
        assert!(!knows(&names, "/used"));
    }

    #[test]
    fn long_names_take_the_place_of_many() {
        let names = alone(100);
        learn(&names, "/used");
        let long = "n".repeat(4000);
        for number in 0..1000 {
            names.get(&resolve("/used").unwrap()).unwrap().uses.count();
            learn(&names, &format!("/{number}/{long}"));
            let ring = names.own.ring.borrow();
            let bytes: usize = ring.iter().map(|entry| entry.cost()).sum();
            assert!(bytes <= 100 * BYTES_EACH && bytes == names.budget.bytes.get(), "{bytes}");
            assert!(names.own.files.borrow().len() <= ring.len() && ring.len() <= 23);
        }
        assert!(knows(&names, "/used") && knows(&names, &format!("/999/{long}")));
        // Short names have all the places again.
        for number in 0..1000 {
            learn(&names, &format!("/{number}"));
        }
        assert_eq!(held(&names), 100);
        names.clear();
        assert_eq!((names.budget.bytes.get(), names.budget.count.get()), (0, 0));
    }

    #[test]
    fn a_name_learned_anew_is_the_one_that_counts() {
        let names = alone(3);
        for _ in 0..10 {
            learn(&names, "/a");
        }
        learn(&names, "/b");
        assert!(knows(&names, "/a") && knows(&names, "/b"));
        // With and without a slash are two names, and what lies beside a file has its own.
        assert!(!knows(&names, "/a/"));
        names.learn(&SitePath::beside(b"c", "gz"), Known::Directory, Time::ZERO);
        assert!(!knows(&names, "/c.gz") && names.get(&SitePath::beside(b"c", "gz")).is_some());
        let entry = names.get(&resolve("/a").unwrap()).unwrap();
        names.forget(&entry);
        names.forget(&entry);
        assert!(!knows(&names, "/a") && knows(&names, "/b"));
    }

    /// All sites are full, such as after a crawler's visit, and then only one is asked for names.
    #[test]
    fn a_busy_site_has_more_than_its_share_and_the_others_keep_half_of_theirs() {
        const SITES: usize = 20;
        const SHARE: usize = 256;
        let budget = Rc::new(NameBudget::new(SITES * SHARE));
        let sites: Vec<Names> = (0..SITES).map(|_| Names::new(budget.clone())).collect();
        for names in &sites {
            (0..SHARE).for_each(|number| learn(names, &format!("/{number}")));
        }
        let (busy, others) = sites.split_first().unwrap();
        others[0].get(&resolve("/7").unwrap()).unwrap().uses.count();
        // Then it is another's turn.
        for (busy, before) in [(busy, &others[0]), (&others[0], busy)] {
            for number in 0..50_000 {
                learn(busy, &format!("/busy/{number}"));
                assert!(budget.count.get() <= SITES * SHARE);
            }
            assert_eq!(held(busy), SITES * SHARE - (SITES - 1) * SHARE / 2);
            assert_eq!(held(before), SHARE / 2);
            assert!(others[1..].iter().all(|names| held(names) == SHARE / 2));
        }
        assert_eq!(sites.iter().map(held).sum::<usize>(), budget.count.get());
        // What a site does not hold, others may.
        others[1..].iter().for_each(Names::clear);
        (0..10_000).for_each(|number| learn(busy, &format!("/again/{number}")));
        assert_eq!(held(busy) + held(&others[0]), SITES * SHARE);
    }

    #[test]
    fn a_flood_of_long_names_leaves_another_site_its_own() {
        const SHARE: usize = 256;
        let budget = Rc::new(NameBudget::new(2 * SHARE));
        let (flooded, other) = (Names::new(budget.clone()), Names::new(budget.clone()));
        let paths: Vec<String> = (0..SHARE / 2).map(|number| format!("/{number}")).collect();
        paths.iter().for_each(|path| learn(&other, path));
        let long = "n".repeat(4000);
        for number in 0..1000 {
            learn(&flooded, &format!("/{number}/{long}"));
            assert!(budget.bytes.get() <= 2 * SHARE * BYTES_EACH);
        }
        assert!(paths.iter().all(|path| knows(&other, path)));
        flooded.clear();
        assert_eq!(budget.count.get(), paths.len());
    }

    /// As a page of which each part is looked for beside it, too, where nothing is.
    #[test]
    fn what_is_found_to_be_so_still_takes_no_further_room() {
        let names = alone(100);
        let path = resolve("/").unwrap();
        for (second, known) in [
            || Known::Directory,
            || Known::List,
            || Known::Bare,
            || Known::Shorter(5),
            || Known::Shorter(6),
            || Known::Error(StatusCode::NOT_FOUND),
            || Known::Error(StatusCode::FORBIDDEN),
        ]
        .into_iter()
        .enumerate()
        {
            let at = |tenths: usize| Time::from_nanos((10 * second + tenths) as u64 * 100_000_000);
            let first = names.learn(&path, known(), at(0));
            let again = names.learn(&path, known(), at(9));
            assert!(Rc::ptr_eq(&first, &again) && again.is_fresh(at(10)) && again.uses.spend());
            assert_eq!(held(&names), second + 1);
        }
    }

    #[test]
    fn where_all_are_in_use_the_hand_does_not_pass_each_of_them() {
        const MOST: usize = 10 * MOST_PASSED;
        let names = alone(MOST);
        for number in 0..MOST {
            let path = format!("/{number}");
            learn(&names, &path);
            names.get(&resolve(&path).unwrap()).unwrap().uses.count();
        }
        learn(&names, "/new");
        let unused = names.own.ring.borrow().iter().filter(|entry| !entry.uses.spend()).count() - 1;
        assert!(unused <= MOST_PASSED && knows(&names, "/new"), "{unused}");
        assert_eq!(held(&names), MOST);
    }

    #[test]
    fn there_may_be_more_sites_than_names() {
        let budget = Rc::new(NameBudget::new(2));
        let sites: Vec<Names> = (0..5).map(|_| Names::new(budget.clone())).collect();
        for names in sites.iter().cycle().take(100) {
            learn(names, "/a");
            assert!(budget.count.get() <= 2);
        }
    }
}

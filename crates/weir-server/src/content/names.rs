//! The cache of names: metadata of files, directories, and names that lead nowhere. It is bounded in
//! entries and in bytes, since clients choose how long names are. The site fills it and asks it first.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;
use std::time::Duration;

use http::StatusCode;
use weir_http::message::coding::Coding;
use weir_http::message::conditions::{ETag, Validators};
use weir_http::message::path::{PathKind, SitePath};
use weir_sched::{ObjectId, Time};

use super::file::File;
use super::hot::Hot;
use super::object::{Facts, Found};
use super::open::Identity;
use super::rules::Rules;
use super::uses::Uses;
use super::variants::Variants;
use crate::sys::clock;

/// How long an entry is used without a check. With the time that a check may take, a change is noticed
/// within a second.
const FRESH: Duration = Duration::from_millis(900);

/// Bytes that an entry takes beside names and fields of heads.
const OVERHEAD: usize = 512;

/// Bytes of memory for each entry that there is room for: more than entries of ordinary files take.
const BYTES_EACH: usize = 1024;

/// What a name stands for, and since when.
#[derive(Debug)]
pub(super) struct Entry {
    name: Rc<[u8]>,
    kind: PathKind,
    pub(super) known: Known,
    checked: Cell<Time>,
    pub(super) uses: Uses,
    /// It is no longer in the cache.
    dropped: Cell<bool>,
    /// A helper is checking whether it is still true.
    pub(super) checking: Cell<bool>,
}

#[derive(Debug)]
pub(super) enum Known {
    File(KnownFile),
    /// A directory that was named without its slash.
    Directory,
    /// A directory without an index, of which a list may be shown.
    List,
    /// A directory without an index, of which none may be shown.
    Bare,
    /// A file that is served under a shorter name: without so many bytes at the end.
    Shorter(usize),
    Error(StatusCode),
}

impl Known {
    /// What the name stands for, if it is no file.
    pub(super) fn found(&self) -> Option<Result<Found, StatusCode>> {
        match self {
            Known::File(_) => None,
            Known::Directory => Some(Ok(Found::Directory)),
            Known::List => Some(Ok(Found::List)),
            Known::Bare => Some(Ok(Found::Bare)),
            Known::Shorter(cut) => Some(Ok(Found::Shorter(*cut))),
            Known::Error(status) => Some(Err(*status)),
        }
    }
}

/// A file as it was last seen.
#[derive(Debug)]
pub(super) struct KnownFile {
    pub(super) identity: Identity,
    pub(super) facts: Rc<Facts>,
    /// The name that was opened: that of the index for a directory.
    pub(super) name: Rc<[u8]>,
    pub(super) hot: Rc<Hot>,
    pub(super) open: RefCell<Option<Rc<File>>>,
    /// What may be sent in its place, if anything may.
    pub(super) variants: Option<Box<Variants>>,
    pub(super) used: Cell<Time>,
    /// It is at the first place where it was looked for. If not, another may come to stand before it.
    pub(super) is_first: bool,
}

impl KnownFile {
    /// What was found under `name` at `now`, where it was looked for first.
    pub(super) fn new(
        identity: Identity,
        name: Rc<[u8]>,
        facts: Rc<Facts>,
        now: Time,
    ) -> KnownFile {
        let (hot, open) = Default::default();
        let (variants, used) = (facts.varies.then(Box::default), Cell::new(now));
        KnownFile { identity, facts, name, hot, open, variants, used, is_first: true }
    }
}

/// The facts of a file of `length` bytes with the tag `etag`, as the `rules` of its site say.
pub(super) fn facts(
    identity: &Identity,
    name: &[u8],
    length: u64,
    etag: ETag,
    rules: &Rules,
) -> Facts {
    let mut hasher = DefaultHasher::new();
    (identity.device, identity.inode).hash(&mut hasher);
    // Never later than Date (RFC 9110 section 8.8.2.1).
    let modified = Some(identity.modified.0.min(clock::unix_seconds()));
    let validators = Some(Validators { etag, modified });
    let facts = Facts::new(length, rules.media(name), validators, ObjectId(hasher.finish()));
    facts.changed_by(rules.changes(name))
}

impl Entry {
    /// The file that the name stands for.
    pub(super) fn file(&self) -> Option<&KnownFile> {
        match &self.known {
            Known::File(file) => Some(file),
            _ => None,
        }
    }

    /// The tag of that file.
    pub(super) fn etag(&self) -> Option<ETag> {
        Some(self.file()?.facts.validators.as_ref()?.etag)
    }

    pub(super) fn is_fresh(&self, now: Time) -> bool {
        now.since(self.checked.get()) < FRESH
    }

    /// Bytes of memory that it takes, approximately.
    fn cost(&self) -> usize {
        let of_variants = |file: &KnownFile| match file.variants {
            Some(_) => Variants::COST + Coding::COUNT * (file.name.len() + file.facts.head_bytes()),
            None => 0,
        };
        let of_file =
            |file: &KnownFile| of_variants(file) + file.name.len() + file.facts.head_bytes();
        OVERHEAD + self.name.len() + self.file().map_or(0, of_file)
    }

    /// It was found to be true at `now`.
    pub(super) fn confirm(&self, now: Time) {
        self.checked.set(now);
    }
}

type Map = HashMap<Rc<[u8]>, Rc<Entry>>;

/// A bounded number of entries, and of their bytes.
#[derive(Debug)]
pub(super) struct Names {
    files: RefCell<Map>,
    directories: RefCell<Map>,
    /// Files beside others, by their own names: paths of requests may stand for others.
    beside: RefCell<Map>,
    ring: RefCell<VecDeque<Rc<Entry>>>,
    most: usize,
    /// Bytes of the entries in the ring.
    used: Cell<usize>,
    most_bytes: usize,
}

impl Names {
    /// Room for `most` entries of ordinary length, at least 1.
    pub(super) fn new(most: usize) -> Names {
        let (files, directories, beside, ring, used) = Default::default();
        let most = most.max(1);
        let most_bytes = most.saturating_mul(BYTES_EACH);
        Names { files, directories, beside, ring, most, used, most_bytes }
    }

    fn map(&self, kind: PathKind) -> &RefCell<Map> {
        match kind {
            PathKind::File => &self.files,
            PathKind::Directory => &self.directories,
            PathKind::Beside => &self.beside,
        }
    }

    pub(super) fn get(&self, path: &SitePath<'_>) -> Option<Rc<Entry>> {
        self.map(path.kind()).borrow().get(path.as_bytes()).cloned()
    }

    /// Puts what was found at `now` in the place of what was known.
    pub(super) fn learn(&self, path: &SitePath<'_>, known: Known, now: Time) -> Rc<Entry> {
        let entry = Rc::new(Entry {
            name: path.as_bytes().into(),
            kind: path.kind(),
            known,
            checked: Cell::new(now),
            uses: Uses::default(),
            dropped: Cell::new(false),
            checking: Cell::new(false),
        });
        let map = self.map(entry.kind);
        if let Some(old) = map.borrow_mut().insert(entry.name.clone(), entry.clone()) {
            old.dropped.set(true);
        }
        self.used.set(self.used.get() + entry.cost());
        self.ring.borrow_mut().push_back(entry.clone());
        self.make_room();
        entry
    }

    /// Forgets an entry.
    pub(super) fn forget(&self, entry: &Entry) {
        if !entry.dropped.replace(true) {
            self.map(entry.kind).borrow_mut().remove(&entry.name);
        }
    }

    /// Forgets everything, and gives the memory back.
    pub(super) fn clear(&self) {
        for entry in self.ring.take() {
            entry.dropped.set(true);
        }
        self.used.set(0);
        for map in [&self.files, &self.directories, &self.beside] {
            map.take();
        }
    }

    fn make_room(&self) {
        let mut ring = self.ring.borrow_mut();
        while ring.len() > self.most || self.used.get() > self.most_bytes {
            let Some(entry) = ring.pop_front() else { return };
            if !entry.dropped.get() && entry.uses.spend() {
                ring.push_back(entry);
                continue;
            }
            self.used.set(self.used.get() - entry.cost());
            self.forget(&entry);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir_http::message::path::resolve;

    fn learn(names: &Names, path: &str) {
        names.learn(&resolve(path).unwrap(), Known::Directory, Time::ZERO);
    }

    fn knows(names: &Names, path: &str) -> bool {
        names.get(&resolve(path).unwrap()).is_some()
    }

    #[test]
    fn what_is_used_outlives_a_flood() {
        let names = Names::new(100);
        learn(&names, "/used");
        for number in 0..10_000 {
            if number % 50 == 0 {
                names.get(&resolve("/used").unwrap()).unwrap().uses.count();
            }
            learn(&names, &format!("/flood/{number}"));
        }
        assert!(knows(&names, "/used") && knows(&names, "/flood/9999"));
        assert!(!knows(&names, "/flood/5000"));
        assert!(names.files.borrow().len() <= 100 && names.ring.borrow().len() <= 100);
        names.clear();
        assert!(!knows(&names, "/used"));
    }

    #[test]
    fn long_names_take_the_place_of_many() {
        let names = Names::new(100);
        learn(&names, "/used");
        let long = "n".repeat(4000);
        for number in 0..1000 {
            names.get(&resolve("/used").unwrap()).unwrap().uses.count();
            learn(&names, &format!("/{number}/{long}"));
            let ring = names.ring.borrow();
            let bytes: usize = ring.iter().map(|entry| entry.cost()).sum();
            assert!(bytes <= 100 * BYTES_EACH && bytes == names.used.get(), "{bytes}");
            assert!(names.files.borrow().len() <= ring.len() && ring.len() <= 23);
        }
        assert!(knows(&names, "/used") && knows(&names, &format!("/999/{long}")));
        // Short names have all the places again.
        for number in 0..1000 {
            learn(&names, &format!("/{number}"));
        }
        assert_eq!(names.ring.borrow().len(), 100);
        names.clear();
        assert_eq!(names.used.get(), 0);
    }

    #[test]
    fn a_name_learned_anew_is_the_one_that_counts() {
        let names = Names::new(3);
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

    #[test]
    fn entries_age() {
        let names = Names::new(3);
        learn(&names, "/a");
        let entry = names.get(&resolve("/a").unwrap()).unwrap();
        assert!(entry.is_fresh(Time::from_nanos(1)));
        let later = Time::ZERO + Duration::from_secs(1);
        assert!(!entry.is_fresh(later));
        entry.confirm(later);
        assert!(entry.is_fresh(later));
    }
}

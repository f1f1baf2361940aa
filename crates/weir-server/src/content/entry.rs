//! What a name of a site stands for, as it is remembered: metadata of a file, a directory, or nothing. The
//! cache of names has it, and the site looks whether it is still true.

use std::cell::{Cell, RefCell};
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

/// What a name stands for, and since when.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) name: Rc<[u8]>,
    pub(super) kind: PathKind,
    pub(super) known: Known,
    checked: Cell<Time>,
    pub(super) uses: Uses,
    /// It is no longer in the cache.
    pub(super) dropped: Cell<bool>,
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
    /// Whether it says the same as `other`, which is no file: files tell themselves apart by more.
    pub(super) fn says(&self, other: &Known) -> bool {
        match (self, other) {
            (Known::Directory, Known::Directory)
            | (Known::List, Known::List)
            | (Known::Bare, Known::Bare) => true,
            (Known::Shorter(cut), Known::Shorter(other)) => cut == other,
            (Known::Error(status), Known::Error(other)) => status == other,
            _ => false,
        }
    }

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
    /// What was found under `path` at `now`.
    pub(super) fn new(path: &SitePath<'_>, known: Known, now: Time) -> Entry {
        Entry {
            name: path.as_bytes().into(),
            kind: path.kind(),
            known,
            checked: Cell::new(now),
            uses: Uses::default(),
            dropped: Cell::new(false),
            checking: Cell::new(false),
        }
    }

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
    pub(super) fn cost(&self) -> usize {
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

#[cfg(test)]
mod tests {
    use super::*;
    use weir_http::message::path::resolve;

    #[test]
    fn entries_age() {
        let entry = Entry::new(&resolve("/a").unwrap(), Known::Directory, Time::ZERO);
        assert!(entry.is_fresh(Time::from_nanos(1)));
        let later = Time::ZERO + Duration::from_secs(1);
        assert!(!entry.is_fresh(later));
        entry.confirm(later);
        assert!(entry.is_fresh(later));
    }
}

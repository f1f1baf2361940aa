//! A job in the slack order: what it still needs, what it owes to those after it, and the bound on its
//! slack. Used by the rows of [`SlackOrder`](super::SlackOrder) and, for changes, by `protective`.

use crate::virtual_fair::Level;

/// A job by its place in the order of virtual finishing.
#[derive(Clone, Copy, Debug)]
pub(in crate::policy) struct Entry {
    pub(in crate::policy) finish: Level,
    pub(in crate::policy) id: u32,
    pub(in crate::policy) order: u64,
    /// What it still needs here.
    pub(in crate::policy) remaining: u64,
    /// Among those who may go, the one with the least goes first.
    pub(in crate::policy) key: u64,
    /// At most the slack, if the job is `tested`, once the row's `spent` is taken from it.
    pub(in crate::policy) bound: i64,
    /// Here and promised its fair finish; otherwise only the virtual server still counts it.
    pub(in crate::policy) protected: bool,
    pub(in crate::policy) ready: bool,
    /// The virtual server shares with it.
    pub(in crate::policy) sharing: bool,
    /// The virtual server has paused it, with so many bytes still to be had there.
    pub(in crate::policy) frozen: Option<u64>,
    /// Bytes of the link's time that its own path needs beside what remains.
    pub(in crate::policy) margin: u64,
}

impl Entry {
    pub(in crate::policy) fn new(id: u32, order: u64, size: u64, finish: Level) -> Entry {
        Entry {
            finish,
            id,
            order,
            remaining: size,
            key: size,
            bound: 0,
            protected: true,
            ready: false,
            sharing: true,
            frozen: None,
            margin: 0,
        }
    }

    pub(in crate::policy) fn place(&self) -> (Level, u32) {
        (self.finish, self.id)
    }

    /// Whether its path will make it later than `tolerated` if `grant` bytes go to others first. Only
    /// after its bound has been made exact.
    pub(in crate::policy) fn is_late_by(&self, tolerated: u64, grant: u64) -> bool {
        self.margin > 0 && self.bound.saturating_add_unsigned(tolerated) < grant as i64
    }

    /// A job with nothing left to be granted cannot be late any more.
    pub(in crate::policy) fn tested(&self) -> bool {
        self.protected && self.remaining > 0 && self.ready
    }

    pub(in crate::policy) fn rank(&self) -> Option<Rank> {
        (self.protected && self.ready).then_some((self.key, self.order, self.id))
    }

    /// What it takes from the slack of those after it; of one that is paused, only what the virtual
    /// server does not give it later.
    pub(in crate::policy) fn owed(&self) -> u64 {
        let later = self.frozen.unwrap_or(0);
        if self.protected { self.remaining.saturating_sub(later) } else { 0 }
    }

    /// What it will be given beyond what it needs, once it is not paused any more.
    pub(in crate::policy) fn given(&self) -> u64 {
        self.frozen.map_or(0, |later| later.saturating_sub(self.remaining))
    }
}

/// A ready job by its key, then by arrival; the least goes first.
pub(in crate::policy) type Rank = (u64, u64, u32);

/// Goes after every rank: nobody of a row can be sent.
pub(super) const NOBODY: Rank = (u64::MAX, u64::MAX, u32::MAX);

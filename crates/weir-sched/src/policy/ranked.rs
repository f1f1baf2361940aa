//! Policies that give each job a key and serve the least one; a [`Rule`] says what the key is. Used
//! by every policy but `fair` and `protective`, and the way to add one.

use std::fmt;

use super::{Arrival, FairState, Path, Policy};
use crate::heap::RankHeap;
use crate::time::Time;
use crate::virtual_fair::Level;

/// What a rule may look at.
#[derive(Clone, Copy, Debug, Default)]
pub struct Facts {
    /// Arrival order.
    pub order: u64,
    /// When it arrived.
    pub at: Time,
    /// All its bytes but those that will never be sent: what is attained and what remains.
    pub size: u64,
    /// Bytes neither sent nor granted.
    pub remaining: u64,
    /// Bytes sent or granted.
    pub attained: u64,
    /// Where the virtual fair server finishes it.
    pub finish: Level,
    /// The path to its client, as the gate was told last.
    pub path: Path,
    /// Bytes sent or granted since the gate was told.
    pub since_told: u64,
    pub(super) ready: bool,
}

/// What the key of a job is. The job with the least key goes first, of equal ones the earlier.
pub trait Rule: fmt::Debug + Send {
    /// Keys of jobs are compared with each other only.
    type Key: Ord + Copy + fmt::Debug + Send;

    /// Whether it promises a time to everybody and knows of none to spare: then nobody goes ahead of
    /// his turn.
    const PROMISES: bool = false;

    /// A job of `size` bytes arrives: for a rule that learns what sizes there are.
    fn arrives(&mut self, size: u64) {
        let _ = size;
    }

    /// A job departs: for a rule that counts who is there.
    fn departs(&mut self) {}

    /// The key of a job. It is asked for when something changes for that job, never because time
    /// passes.
    fn key(&self, job: &Facts) -> Self::Key;
}

/// Serves the job with the least key: O(log n) for every call.
#[derive(Debug)]
pub struct Ranked<R: Rule> {
    rule: R,
    jobs: Vec<Facts>,
    ready: RankHeap<(R::Key, u64)>,
}

impl<R: Rule> Ranked<R> {
    /// A policy by `rule`, with no jobs.
    pub fn new(rule: R) -> Self {
        Ranked { rule, jobs: Vec::new(), ready: RankHeap::new() }
    }

    fn change(&mut self, id: u32, change: impl FnOnce(&mut Facts)) {
        let job = &mut self.jobs[id as usize];
        change(job);
        if job.ready {
            self.ready.set(id, (self.rule.key(job), job.order));
        }
    }
}

impl<R: Rule> Policy for Ranked<R> {
    fn arrive(&mut self, id: u32, job: &Arrival) {
        self.rule.arrives(job.size);
        let index = id as usize;
        if index >= self.jobs.len() {
            self.jobs.resize(index + 1, Facts::default());
        }
        self.jobs[index] = Facts {
            order: job.order,
            at: job.at,
            size: job.size,
            remaining: job.size,
            finish: job.finish,
            path: job.path,
            ..Facts::default()
        };
    }

    fn grow(&mut self, id: u32, bytes: u64, _fair: FairState, finish: Level) {
        self.change(id, |job| {
            job.size += bytes;
            job.remaining += bytes;
            job.finish = finish;
        });
    }

    fn ready(&mut self, id: u32) {
        self.change(id, |job| job.ready = true);
    }

    fn blocked(&mut self, id: u32) {
        self.jobs[id as usize].ready = false;
        self.ready.remove(id);
    }

    fn resume(&mut self, id: u32, _fair: FairState, finish: Level) {
        self.change(id, |job| job.finish = finish);
    }

    fn served(&mut self, id: u32, bytes: u64) {
        self.change(id, |job| {
            job.remaining = job.remaining.saturating_sub(bytes);
            job.attained += bytes;
            job.since_told += bytes;
        });
    }

    fn returned(&mut self, id: u32, bytes: u64) {
        self.change(id, |job| {
            job.remaining += bytes;
            job.attained = job.attained.saturating_sub(bytes);
            job.since_told = job.since_told.saturating_sub(bytes);
        });
    }

    fn shrink(&mut self, id: u32, bytes: u64, _fair: FairState, finish: Level) {
        self.change(id, |job| {
            job.size = job.size.saturating_sub(bytes);
            job.remaining = job.remaining.saturating_sub(bytes);
            job.finish = finish;
        });
    }

    fn path_changed(&mut self, id: u32, path: Path) {
        self.change(id, |job| {
            job.path = path;
            job.since_told = 0;
        });
    }

    fn depart(&mut self, id: u32) {
        self.rule.departs();
        self.blocked(id);
    }

    fn can_spare(&mut self, _id: u32, _fair: FairState, _bytes: u64) -> bool {
        !R::PROMISES
    }

    fn pick(&mut self, _fair: FairState, _grant: u64) -> Option<u32> {
        self.ready.top().map(|(_, id)| id)
    }
}

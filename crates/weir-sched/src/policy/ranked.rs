//! Policies that give each job a key and serve the least one. The rule says what the key is.

use std::fmt;

use super::{Arrival, FairState, Policy};
use crate::heap::RankHeap;
use crate::time::Time;
use crate::virtual_fair::Level;

/// What rules may look at.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Facts {
    pub(super) order: u64,
    pub(super) at: Time,
    pub(super) size: u64,
    pub(super) remaining: u64,
    pub(super) attained: u64,
    /// Where the virtual fair server finishes it.
    pub(super) finish: Level,
    ready: bool,
}

/// What the key of a job is. Keys are compared first, then arrival order.
pub(super) trait Rule: fmt::Debug + Send {
    type Key: Ord + Copy + fmt::Debug + Send;

    /// It promises a time to everybody, and knows of no time to spare.
    const PROMISES: bool = false;

    fn key(&self, job: &Facts) -> Self::Key;
}

/// Serves the job with the least key: O(log n) for every call.
#[derive(Debug)]
pub(super) struct Ranked<R: Rule> {
    rule: R,
    jobs: Vec<Facts>,
    ready: RankHeap<(R::Key, u64)>,
}

impl<R: Rule> Ranked<R> {
    pub(super) fn new(rule: R) -> Self {
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
        });
    }

    fn returned(&mut self, id: u32, bytes: u64) {
        self.change(id, |job| {
            job.remaining += bytes;
            job.attained = job.attained.saturating_sub(bytes);
        });
    }

    fn shrink(&mut self, id: u32, bytes: u64, _fair: FairState, finish: Level) {
        self.change(id, |job| {
            job.remaining = job.remaining.saturating_sub(bytes);
            job.finish = finish;
        });
    }

    fn depart(&mut self, id: u32) {
        self.blocked(id);
    }

    fn can_spare(&mut self, _id: u32, _fair: FairState, _bytes: u64) -> bool {
        !R::PROMISES
    }

    fn pick(&mut self, _fair: FairState, _grant: u64) -> Option<u32> {
        self.ready.top().map(|(_, id)| id)
    }
}

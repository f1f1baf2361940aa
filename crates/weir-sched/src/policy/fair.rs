//! Processor sharing by quantum, as every server does it. The baseline that other policies are
//! compared with.
//!
//! Weighted fair queueing with equal weights (Demers, Keshav & Shenker 1989): the quantum that
//! processor sharing among those who can take data would finish first goes first. Round robin
//! would make a response of 300 bytes wait for full segments of everybody else.

use super::{Arrival, Choice, Descriptor, FairState, Needs, Policy, PolicyKind};
use crate::heap::RankHeap;
use weir_units::BitRate;
use crate::virtual_fair::{Level, VirtualFair};

/// See the module.
pub const FAIR: PolicyKind = PolicyKind::new(&Descriptor {
    name: "fair",
    help: "everybody a little in turn, as other servers do",
    needs: Needs { choice: Choice::Grant, ..Needs::SIZES },
    build: |rate| Box::new(Fair::on_a_link_of(rate)),
});

#[derive(Clone, Copy, Debug, Default)]
struct Job {
    order: u64,
    remaining: u64,
    /// How far its service has come on the scale that all share.
    tag: Level,
    /// Where the sharing will have finished it, if it takes part now.
    shares_until: Option<Level>,
    ready: bool,
}

#[derive(Debug)]
struct Fair {
    /// Shares among those who can take data; unlike the gate's it forgets who leaves or is blocked.
    sharing: VirtualFair,
    jobs: Vec<Job>,
    ready: RankHeap<(Level, u64)>,
    quantum: u64,
}

impl Fair {
    fn on_a_link_of(rate: BitRate) -> Fair {
        Fair {
            sharing: VirtualFair::default(),
            jobs: Vec::new(),
            ready: RankHeap::new(),
            quantum: (rate.bits() / 8000).max(1448),
        }
    }

    fn rank(&mut self, id: u32) {
        let job = &self.jobs[id as usize];
        if job.ready {
            let quantum = self.quantum.min(job.remaining);
            self.ready.set(id, (job.tag.plus(quantum), job.order));
        }
    }
}

impl Policy for Fair {
    fn arrive(&mut self, id: u32, job: &Arrival) {
        let index = id as usize;
        if index >= self.jobs.len() {
            self.jobs.resize(index + 1, Job::default());
        }
        self.jobs[index] = Job { order: job.order, remaining: job.size, ..Job::default() };
    }

    fn grow(&mut self, id: u32, bytes: u64, _fair: FairState, _finish: Level) {
        let job = &mut self.jobs[id as usize];
        job.remaining += bytes;
        if let Some(until) = job.shares_until {
            job.shares_until = Some(self.sharing.grow(id, until, bytes));
        }
        self.rank(id);
    }

    fn ready(&mut self, id: u32) {
        let job = &mut self.jobs[id as usize];
        job.ready = true;
        job.tag = job.tag.max(self.sharing.level());
        job.shares_until = Some(self.sharing.join(id, job.remaining));
        self.rank(id);
    }

    fn blocked(&mut self, id: u32) {
        let job = &mut self.jobs[id as usize];
        job.ready = false;
        if let Some(until) = job.shares_until.take() {
            self.sharing.forget(id, until);
        }
        self.ready.remove(id);
    }

    fn served(&mut self, id: u32, bytes: u64) {
        let job = &mut self.jobs[id as usize];
        job.remaining = job.remaining.saturating_sub(bytes);
        job.tag = job.tag.plus(bytes);
        let Fair { sharing, jobs, .. } = self;
        sharing.serve(bytes, |id, _| {
            jobs[id as usize].shares_until = None;
            None
        });
        self.rank(id);
    }

    fn returned(&mut self, id: u32, bytes: u64) {
        let job = &mut self.jobs[id as usize];
        job.remaining += bytes;
        job.tag = job.tag.minus(bytes);
        self.sharing.take_back(bytes);
        self.rank(id);
    }

    fn shrink(&mut self, id: u32, bytes: u64, _fair: FairState, _finish: Level) {
        let job = &mut self.jobs[id as usize];
        job.remaining = job.remaining.saturating_sub(bytes);
        self.rank(id);
    }

    fn depart(&mut self, id: u32) {
        self.blocked(id);
    }

    fn pick(&mut self, _fair: FairState, _grant: u64) -> Option<u32> {
        self.ready.top().map(|(_, id)| id)
    }
}

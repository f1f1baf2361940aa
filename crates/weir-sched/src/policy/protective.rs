//! Least remaining first among those whose service makes no other job miss its fair finish.
//!
//! SRPT's mean within a few per cent, and no job later than under fair sharing: the default. It
//! knows the virtual fair server's level and finishes, not its clock, for there is none.

use super::slack::{Entry, SlackOrder};
use super::{Arrival, FairState, Policy};
use crate::heap::RankHeap;
use crate::virtual_fair::Level;

#[derive(Clone, Copy, Debug, Default)]
struct Job {
    finish: Level,
    order: u64,
    /// Only kept here once the job is outside the promise.
    remaining: u64,
    standing: Standing,
    ready: bool,
    sharing: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Standing {
    /// Here, and promised its fair finish.
    #[default]
    Promised,
    /// Here; its own client blocked it when it had no slack left. Ranked by what remains, and
    /// served only while nobody is tight.
    Released,
    /// No longer here.
    Departed,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Protective {
    jobs: Vec<Job>,
    order: SlackOrder,
    released: RankHeap<(u64, u64)>,
}

impl Protective {
    pub(super) fn new() -> Self {
        Protective { jobs: Vec::new(), order: SlackOrder::default(), released: RankHeap::new() }
    }

    /// Takes the job out of the promise; the virtual server goes on counting it.
    fn end_promise(&mut self, id: u32, standing: Standing) {
        let job = &mut self.jobs[id as usize];
        job.standing = standing;
        if job.sharing {
            self.order.change(job.finish, id, |entry| {
                job.remaining = entry.remaining;
                entry.protected = false;
                entry.ready = false;
            });
        } else {
            self.order.change(job.finish, id, |entry| job.remaining = entry.remaining);
            self.order.remove(job.finish, id);
        }
    }

    fn rank_released(&mut self, id: u32) {
        let job = &self.jobs[id as usize];
        if job.ready && job.standing == Standing::Released {
            self.released.set(id, (job.remaining, job.order));
        } else {
            self.released.remove(id);
        }
    }
}

impl Policy for Protective {
    fn arrive(&mut self, id: u32, job: &Arrival) {
        let index = id as usize;
        if index >= self.jobs.len() {
            self.jobs.resize(index + 1, Job::default());
        }
        self.jobs[index] =
            Job { finish: job.finish, order: job.order, sharing: true, ..Job::default() };
        self.order.insert(Entry::new(id, job.order, job.size, job.finish), job.fair);
    }

    fn grow(&mut self, id: u32, bytes: u64, fair: FairState, finish: Level) {
        let job = &mut self.jobs[id as usize];
        let old = std::mem::replace(&mut job.finish, finish);
        job.sharing = true;
        match job.standing {
            Standing::Promised => {
                let mut left = 0;
                self.order.change(old, id, |entry| left = entry.remaining);
                self.order.remove(old, id);
                let mut entry = Entry::new(id, job.order, left + bytes, finish);
                entry.ready = job.ready;
                self.order.insert(entry, fair);
            }
            Standing::Released => {
                job.remaining += bytes;
                self.order.remove(old, id);
                let mut entry = Entry::new(id, job.order, 0, finish);
                entry.protected = false;
                self.order.insert(entry, fair);
                self.rank_released(id);
            }
            Standing::Departed => {}
        }
    }

    fn ready(&mut self, id: u32, _level: Level) {
        let job = &mut self.jobs[id as usize];
        job.ready = true;
        match job.standing {
            Standing::Promised => self.order.change(job.finish, id, |entry| entry.ready = true),
            Standing::Released => self.rank_released(id),
            Standing::Departed => {}
        }
    }

    fn blocked(&mut self, id: u32) {
        let job = &mut self.jobs[id as usize];
        job.ready = false;
        match job.standing {
            Standing::Promised => self.order.change(job.finish, id, |entry| entry.ready = false),
            Standing::Released => self.rank_released(id),
            Standing::Departed => {}
        }
    }

    fn served(&mut self, id: u32, bytes: u64) {
        let job = &mut self.jobs[id as usize];
        match job.standing {
            Standing::Promised => self.order.spend(job.finish, id, bytes),
            Standing::Released => {
                job.remaining = job.remaining.saturating_sub(bytes);
                self.order.spend_on_outsider(bytes);
                self.rank_released(id);
            }
            Standing::Departed => {}
        }
    }

    fn returned(&mut self, id: u32, bytes: u64) {
        let job = &mut self.jobs[id as usize];
        match job.standing {
            Standing::Promised => {
                self.order.change(job.finish, id, |entry| entry.remaining += bytes);
            }
            Standing::Released => {
                job.remaining += bytes;
                self.rank_released(id);
            }
            Standing::Departed => {}
        }
    }

    fn shrink(&mut self, id: u32, bytes: u64) {
        let job = &mut self.jobs[id as usize];
        match job.standing {
            Standing::Promised => self.order.change(job.finish, id, |entry| {
                entry.remaining = entry.remaining.saturating_sub(bytes);
            }),
            Standing::Released => {
                job.remaining = job.remaining.saturating_sub(bytes);
                self.rank_released(id);
            }
            Standing::Departed => {}
        }
    }

    fn depart(&mut self, id: u32) {
        match self.jobs[id as usize].standing {
            Standing::Promised => self.end_promise(id, Standing::Departed),
            Standing::Released => {
                self.jobs[id as usize].standing = Standing::Departed;
                self.rank_released(id);
            }
            Standing::Departed => {}
        }
    }

    fn virtually_finished(&mut self, id: u32) {
        let job = &mut self.jobs[id as usize];
        job.sharing = false;
        match job.standing {
            Standing::Promised => self.order.change(job.finish, id, |entry| entry.sharing = false),
            Standing::Released | Standing::Departed => self.order.remove(job.finish, id),
        }
    }

    fn can_spare(&mut self, id: u32, fair: FairState, bytes: u64) -> bool {
        let finish = self.jobs[id as usize].finish;
        let tight = self.order.first_tight(fair, bytes);
        tight.is_none_or(|tight| self.order.at(tight).place() >= (finish, id))
    }

    fn pick(&mut self, fair: FairState, grant: u64) -> Option<u32> {
        let Some(tight) = self.order.first_tight(fair, grant) else {
            return self.order.best(None).map(|(_, _, id)| id);
        };
        if self.order.at(tight).ready {
            // The tight job itself is among them, so the link is never left idle.
            return self.order.best(Some(tight)).map(|(_, _, id)| id);
        }
        self.order.first_ready()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::virtual_fair::VirtualFair;

    #[test]
    fn a_tight_job_that_its_client_blocks_steps_aside() {
        let mut fair = VirtualFair::default();
        let mut policy = Protective::new();
        for (id, size) in [(0, 1000), (1, 5000)] {
            let finish = fair.join(id, size);
            let fair = FairState { level: fair.level(), behind: 0 };
            let at = crate::Time::ZERO;
            let arrival = Arrival { order: id.into(), at, size, fair, finish };
            policy.arrive(id, &arrival);
        }
        policy.ready(1, fair.level());
        // The small job is blocked; the large one may use its slack of 1000 bytes and no more.
        let mut served = 0;
        while policy.jobs[0].standing == Standing::Promised {
            assert_eq!(policy.pick(FairState { level: fair.level(), behind: 0 }, 100), Some(1));
            policy.served(1, 100);
            fair.serve(100, |_, _| {});
            served += 100;
            assert!(served <= 1100);
        }
        assert_eq!(served, 1100);
        // Back, it is ranked by what remains.
        policy.ready(0, fair.level());
        assert_eq!(policy.pick(FairState { level: fair.level(), behind: 0 }, 100), Some(0));
    }
}

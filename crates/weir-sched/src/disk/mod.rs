//! The gate of one disk: merges requests for the same piece of disk work into one job, says which
//! job is started next, and lets only so many run at once.
//!
//! Contract. Calls in: [`DiskGate::join`], [`DiskGate::leave`], [`DiskGate::done`]. Calls out:
//! [`DiskGate::next`] returns jobs to start or to refuse. What a key means, who the
//! waiters are and which thread does the work is up to its one owner in the server. Its
//! `now` never goes back.
//!
//! Order. The job with the most waiters for its disk time goes first, and whenever the oldest jobs
//! have had less than two thirds of the disk time since the queue was last empty, the oldest does. By
//! rank alone, a large read that one client waits for would wait for as long as small ones come.
//!
//! The bound. Let W be the disk time of the jobs that are older than a job: those in the queue when
//! it joins, and those that get a request with an earlier `since` later. From its joining until it
//! starts, others are given at most 1.5 W + 1.5 M of disk time, where M is that of the longest job.
//! (By age, only W is given. Before each start by rank the oldest have had their two thirds: so by
//! rank at most W / 2 is given, M / 2 for a job that started by age before it joined, and M for the
//! last one.)
//! On a disk that does one thing at a time, with one job under way, it starts after that time at the
//! latest, and what was left of the job that ran.

mod config;
mod helpers;
mod limit;
mod rank;
mod turns;

use std::collections::HashMap;
use std::hash::Hash;

use slab::Slab;

use crate::heap::RankHeap;
use crate::time::Time;
use helpers::Helpers;
use rank::Rank;
use turns::Turns;

pub use config::DiskConfig;

/// One piece of disk work. The name of a job that has gone is never taken for its successor's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DiskJob {
    slot: u32,
    number: u64,
}

/// What became of a request that joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Joined {
    /// It waits for a new job.
    New(DiskJob),
    /// It waits for a job that is queued or runs already.
    Merged(DiskJob),
    /// Work of this kind hangs; it does not wait. Answer it with an error.
    Refused,
}

/// What the owner does now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiskNext {
    /// Start this, then report [`DiskGate::done`].
    Start(DiskJob),
    /// Its place hangs and it has left the queue: answer its waiters with an error, and ask again.
    Refuse(DiskJob),
    /// As many as may are running. Ask again after [`DiskGate::done`].
    Full {
        /// When to ask again even if no job has ended: by then one of those that run is late, or
        /// written off as stuck. `None`: as many as may are stuck already.
        until: Option<Time>,
    },
    /// Nothing is queued.
    Idle,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Queued,
    Running,
    Stuck,
}

#[derive(Debug)]
struct Work<K> {
    number: u64,
    key: K,
    /// Nanoseconds of disk time.
    expected: u64,
    place: u64,
    /// Since when the oldest of its requests has waited.
    since: Time,
    waiters: usize,
    state: State,
}

/// The jobs of one disk. `K` tells pieces of work apart. Every call takes O(log n) in the queued
/// jobs, but for looking through those under way.
#[derive(Debug)]
pub struct DiskGate<K> {
    config: DiskConfig,
    jobs: Slab<Work<K>>,
    by_key: HashMap<K, u32>,
    /// Queued jobs in the order of waiters and disk time.
    by_rank: RankHeap<Rank>,
    /// Queued jobs by age, and those of one age by number: the oldest is on top.
    by_age: RankHeap<(Time, u64)>,
    turns: Turns,
    helpers: Helpers,
    /// Numbers the jobs.
    issued: u64,
    merged: u64,
}

impl<K: Eq + Hash + Clone> DiskGate<K> {
    /// A gate without jobs.
    pub fn new(config: DiskConfig) -> DiskGate<K> {
        DiskGate {
            config,
            jobs: Slab::new(),
            by_key: HashMap::new(),
            by_rank: RankHeap::new(),
            by_age: RankHeap::new(),
            turns: Turns::default(),
            helpers: Helpers::new(config),
            issued: 0,
            merged: 0,
        }
    }

    /// One more request waits for `key`, which transfers `bytes` and lies in part `place` of the
    /// file system, such as a mount. If the key has a job already, its bytes and place stay as its
    /// first request gave them.
    ///
    /// `since` is the age of the request, at most `now`. A request that needs several jobs one after
    /// the other gives them all the time of the first, so that it does not begin to wait anew with
    /// each. A job is as old as the oldest request that ever joined it.
    ///
    /// Refused are a key whose job is stuck, and a new key of a place with too many stuck jobs.
    pub fn join(&mut self, key: K, bytes: u64, place: u64, since: Time, now: Time) -> Joined {
        self.write_off(now);
        let since = since.min(now);
        if let Some(&slot) = self.by_key.get(&key) {
            return self.merge(slot, since);
        }
        if self.helpers.blocked(place) {
            return Joined::Refused;
        }
        self.issued += 1;
        let number = self.issued;
        let slot = self.jobs.insert(Work {
            number,
            key: key.clone(),
            expected: self.config.expected(bytes),
            place,
            since,
            waiters: 1,
            state: State::Queued,
        }) as u32;
        self.by_key.insert(key, slot);
        self.rank(slot);
        Joined::New(DiskJob { slot, number })
    }

    /// A waiter has gone. A queued job that nobody waits for any more is dropped, and the answer is
    /// true. A job that was started goes on; one that has gone is none of its business.
    pub fn leave(&mut self, job: DiskJob) -> bool {
        let Some(work) = self.get_mut(job) else { return false };
        work.waiters = work.waiters.saturating_sub(1);
        if work.state != State::Queued {
            return false;
        }
        if work.waiters > 0 {
            self.rank(job.slot);
            return false;
        }
        self.unqueue(job.slot);
        self.forget(job.slot);
        true
    }

    /// What to do at `now`. Ask until the answer is [`DiskNext::Full`] or [`DiskNext::Idle`].
    pub fn next(&mut self, now: Time) -> DiskNext {
        self.write_off(now);
        let by_age = self.turns.is_oldest_due();
        let first = match by_age {
            true => self.by_age.top().map(|(_, slot)| slot),
            false => self.by_rank.top().map(|(_, slot)| slot),
        };
        let Some(slot) = first else {
            self.helpers.nobody_waits(now);
            return DiskNext::Idle;
        };
        let work = &mut self.jobs[slot as usize];
        let (job, place) = (DiskJob { slot, number: work.number }, work.place);
        // To refuse takes no helper, so it does not wait for one.
        if self.helpers.blocked(place) {
            self.unqueue(slot);
            self.forget(slot);
            return DiskNext::Refuse(job);
        }
        if self.helpers.full(now) {
            return DiskNext::Full { until: self.helpers.until(now) };
        }
        work.state = State::Running;
        match by_age {
            true => self.turns.gave_by_age(work.expected),
            false => self.turns.gave_by_rank(work.expected),
        }
        self.helpers.start(now, slot, place);
        self.unqueue(slot);
        DiskNext::Start(job)
    }

    /// A started job ended at `now`, well or not; returns how many waited for it. It is forgotten:
    /// whoever joins its key from now on gets a new job. Zero, and nothing changes, if `job` is not
    /// one that was started and has not ended.
    pub fn done(&mut self, job: DiskJob, now: Time) -> usize {
        let Some(work) = self.get_mut(job) else { return 0 };
        let (waiters, place, expected) = (work.waiters, work.place, work.expected);
        match work.state {
            State::Queued => return 0,
            State::Running => self.helpers.ended(now, job.slot, expected),
            State::Stuck => self.helpers.came_back(place),
        }
        self.forget(job.slot);
        waiters
    }

    /// Jobs that are queued.
    pub fn waiting(&self) -> usize {
        self.jobs.len() - self.under_way() - self.stuck()
    }

    /// Jobs that were started, have not ended and, at the last `join`, `next` or `write_off`, were not stuck.
    pub fn under_way(&self) -> usize {
        self.helpers.under_way()
    }

    /// Jobs that were written off as stuck and have not ended.
    pub fn stuck(&self) -> usize {
        self.helpers.stuck()
    }

    /// Jobs that the disk takes at once, as far as is learned: between `least_under_way` and
    /// `under_way` of the configuration.
    pub fn limit(&self) -> usize {
        self.helpers.learned()
    }

    /// Requests that ever joined a job that was there already.
    pub fn merged(&self) -> u64 {
        self.merged
    }

    fn merge(&mut self, slot: u32, since: Time) -> Joined {
        let work = &mut self.jobs[slot as usize];
        let job = DiskJob { slot, number: work.number };
        if work.state == State::Stuck {
            return Joined::Refused;
        }
        work.waiters += 1;
        work.since = work.since.min(since);
        self.merged += 1;
        if work.state == State::Queued {
            self.rank(slot);
        }
        Joined::Merged(job)
    }

    /// Puts a queued job where its waiters, its disk time and its age belong.
    fn rank(&mut self, slot: u32) {
        let Work { waiters, expected, since, number, .. } = self.jobs[slot as usize];
        self.by_rank.set(slot, Rank { waiters, expected, number });
        self.by_age.set(slot, (since, number));
    }

    /// Takes jobs that have run for too long to be stuck, as `join` and `next` do before anything else.
    /// For an owner that wants to know without asking for anything.
    pub fn write_off(&mut self, now: Time) {
        while let Some(slot) = self.helpers.write_off(now) {
            self.jobs[slot as usize].state = State::Stuck;
        }
    }

    fn unqueue(&mut self, slot: u32) {
        self.by_rank.remove(slot);
        self.by_age.remove(slot);
        if self.by_age.len() == 0 {
            self.turns.nobody_waits();
        }
    }

    fn forget(&mut self, slot: u32) {
        let work = self.jobs.remove(slot as usize);
        self.by_key.remove(&work.key);
    }

    fn get_mut(&mut self, job: DiskJob) -> Option<&mut Work<K>> {
        self.jobs.get_mut(job.slot as usize).filter(|work| work.number == job.number)
    }
}

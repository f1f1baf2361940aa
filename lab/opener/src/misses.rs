//! Questions that have to wait for a disk: those for the same name and work wait together, the gate of
//! their disk says which goes next, a helper does it. Used by the opener.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::time::Duration;

use rustix::io::Errno;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::sync::oneshot;
use weir_sched::{DiskConfig, DiskGate, DiskNext, Joined, Time};

use crate::cache::Name;
use crate::find::Identity;
use crate::helpers::{Helpers, JobId, Outcome, Work};

/// The most questions that wait at once; more are refused.
const WAITING: usize = 65_536;

/// The part of a disk of which its gate remembers whether it hangs. Nothing is known of a name before it is
/// found, so all are one part: enough stuck helpers stop new work until one comes back.
const PLACE: u64 = 0;

/// See the module.
pub(crate) struct Misses {
    /// One for each disk, by its number.
    gates: Vec<DiskGate<Key>>,
    jobs: HashMap<JobId, Job>,
    helpers: Helpers,
    window: u64,
    waiting: usize,
    /// Numbers the waiters.
    issued: u64,
}

/// What makes questions one job. Whoever asks what a name stands for must not be told of the file that it
/// stood for, which may be warming still.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    name: Name,
    /// The file that is warmed; `None`: the name is looked up.
    warmed: Option<Identity>,
}

struct Job {
    key: Key,
    asked: Time,
    work: Option<Work>,
    waiters: Vec<(u64, oneshot::Sender<Outcome>)>,
}

/// A job that ended, with what came of it.
pub(crate) struct Ended {
    pub(crate) name: Name,
    /// It was to warm an open file, whatever the name stands for by now.
    pub(crate) warmed: bool,
    /// When the first question for it was asked: what was found was so at that time or later.
    pub(crate) asked: Time,
    pub(crate) outcome: Outcome,
    waiters: Vec<(u64, oneshot::Sender<Outcome>)>,
}

/// Where jobs' ends are heard of.
pub(crate) type Results = UnboundedReceiver<(JobId, Outcome)>;

impl Misses {
    /// Of so many disks: at most `helpers` jobs at once for each, stuck ones not counted; `window`: bytes
    /// of a file that are warmed.
    pub(crate) fn new(disks: usize, helpers: usize, window: u64) -> (Misses, Results) {
        let config = DiskConfig {
            under_way: helpers,
            stuck_per_place: DiskConfig::default().most_stuck,
            ..DiskConfig::default()
        };
        let (sender, results) = unbounded_channel();
        let misses = Misses {
            gates: (0..disks).map(|_| DiskGate::new(config)).collect(),
            jobs: HashMap::new(),
            helpers: Helpers::new(window, sender),
            window,
            waiting: 0,
            issued: 0,
        };
        (misses, results)
    }

    /// Has `work` done for a name on the disk with this number, or waits for the same that is under way.
    /// True as well if it was merged.
    ///
    /// # Errors
    ///
    /// It is refused: the disk hangs, or too many wait.
    pub(crate) fn join(
        this: &Rc<RefCell<Misses>>,
        (name, disk): (&[u8], usize),
        work: Work,
        now: Time,
    ) -> Result<(Waiter, bool), Errno> {
        let mut misses = this.borrow_mut();
        if misses.waiting >= WAITING {
            return Err(Errno::BUSY);
        }
        let key = Key { name: name.into(), warmed: work.warmed() };
        let bytes = work.expected_bytes(misses.window);
        let gate = misses.gates.get_mut(disk).ok_or(Errno::XDEV)?;
        let joined = gate.join(key.clone(), bytes, PLACE, now, now);
        let job = match joined {
            Joined::Refused => return Err(Errno::BUSY),
            Joined::New(job) | Joined::Merged(job) => JobId { disk, job },
        };
        if matches!(joined, Joined::New(_)) {
            let new = Job { key, asked: now, work: Some(work), waiters: Vec::new() };
            misses.jobs.insert(job, new);
        }
        misses.issued += 1;
        let number = misses.issued;
        let (sender, answer) = oneshot::channel();
        if let Some(job) = misses.jobs.get_mut(&job) {
            job.waiters.push((number, sender));
            misses.waiting += 1;
        }
        let waiter = Waiter { misses: this.clone(), job, number, answer };
        Ok((waiter, matches!(joined, Joined::Merged(_))))
    }

    /// Starts what may start. Returns how long until it is worth asking again though no job has ended.
    pub(crate) fn advance(&mut self, now: Time) -> Option<Duration> {
        (0..self.gates.len()).filter_map(|disk| self.advance_one(disk, now)).min()
    }

    fn advance_one(&mut self, disk: usize, now: Time) -> Option<Duration> {
        loop {
            match self.gates[disk].next(now) {
                DiskNext::Start(job) => {
                    let id = JobId { disk, job };
                    let work = self.jobs.get_mut(&id).and_then(|job| job.work.take());
                    match work {
                        Some(work) => self.helpers.start(id, work),
                        None => _ = self.gates[disk].done(job, now),
                    }
                }
                DiskNext::Refuse(job) => {
                    if let Some(job) = self.jobs.remove(&JobId { disk, job }) {
                        self.waiting -= job.waiters.len();
                        tell(job.waiters, &Err(Errno::BUSY));
                    }
                }
                DiskNext::Full { until } => return until.map(|until| until.since(now)),
                DiskNext::Idle => return None,
            }
        }
    }

    /// A helper has ended a job at `now`: what is known of it. [`Ended::tell`] has the waiters told.
    pub(crate) fn ended(&mut self, id: JobId, outcome: Outcome, now: Time) -> Option<Ended> {
        self.helpers.ended();
        self.gates[id.disk].done(id.job, now);
        let Job { key: Key { name, warmed }, asked, waiters, .. } = self.jobs.remove(&id)?;
        self.waiting -= waiters.len();
        Some(Ended { name, warmed: warmed.is_some(), asked, outcome, waiters })
    }

    fn leave(&mut self, id: JobId, number: u64) {
        let Some(job) = self.jobs.get_mut(&id) else { return };
        let before = job.waiters.len();
        job.waiters.retain(|(other, _)| *other != number);
        self.waiting -= before - job.waiters.len();
        if self.gates[id.disk].leave(id.job) {
            self.jobs.remove(&id);
        }
    }
}

impl Ended {
    /// Tells those who wait.
    pub(crate) fn tell(self) {
        tell(self.waiters, &self.outcome);
    }
}

fn tell(waiters: Vec<(u64, oneshot::Sender<Outcome>)>, outcome: &Outcome) {
    for (_, waiter) in waiters {
        // Who has left does not want to know.
        let _ = waiter.send(outcome.clone());
    }
}

/// A question that waits. When it is dropped, it waits no more.
pub(crate) struct Waiter {
    misses: Rc<RefCell<Misses>>,
    job: JobId,
    number: u64,
    answer: oneshot::Receiver<Outcome>,
}

impl Waiter {
    /// What came of it.
    pub(crate) async fn outcome(mut self) -> Outcome {
        (&mut self.answer).await.unwrap_or(Err(Errno::IO))
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        self.misses.borrow_mut().leave(self.job, self.number);
    }
}

#[cfg(test)]
mod tests;

//! Work that may wait for a disk, such as opening a cold name or reading what is not in memory: the
//! disk's gate decides what is done next, helper threads do it. Used by `content` for files, through
//! [`Disks`], which has a gate for each disk.
//!
//! Requests for the same work are one job with several waiters. A request that goes away takes its
//! waiting with it; one that waits too long gets an error, and a helper that hangs is replaced for as
//! long as it does.

mod age;
mod device;
mod disks;
mod helpers;

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::hash::Hash;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::timeout;
use weir_sched::{DiskConfig, DiskGate, DiskJob, Joined, Time};

use crate::metrics::Metrics;
use crate::sys::clock;

pub(crate) use age::Age;
pub(crate) use device::DiskId;
pub(crate) use disks::Disks;

/// The most jobs that may be queued; more are refused.
const QUEUED: usize = 100_000;

/// The most bytes that the keys of all jobs may have, since clients choose how long names are. With
/// names of ordinary length the number of jobs is reached first.
const QUEUED_BYTES: usize = 64 << 20;

/// Tells pieces of work apart.
pub(crate) trait Key: Eq + Hash + Clone + Send + 'static {
    /// Bytes of memory beside the value itself.
    fn bytes(&self) -> usize;
}

/// What the gate is told of a piece of work.
#[derive(Clone, Debug)]
pub(crate) struct Piece<K> {
    pub(crate) key: K,
    /// Bytes that it is expected to read.
    pub(crate) bytes: u64,
    /// The part of the file system where it does that, of which the gate remembers whether it hangs.
    pub(crate) place: u64,
    /// The age of the request that wants it.
    pub(crate) since: Time,
}

/// The work for a disk. `K` tells pieces of work apart, `T` is the result of one.
#[derive(Debug)]
pub(crate) struct Disk<K, T> {
    state: Mutex<State<K, T>>,
    /// There may be work for an idle helper.
    work_added: Condvar,
    config: DiskConfig,
    /// The longest that a request waits for one piece of work (`disk_timeout`).
    patience: Duration,
    metrics: Arc<Metrics>,
}

type Work<T> = Box<dyn FnOnce() -> T + Send>;
type Answer<T> = oneshot::Receiver<Result<T, DiskError>>;

struct State<K, T> {
    gate: DiskGate<K>,
    jobs: HashMap<DiskJob, Job<T>>,
    /// Bytes of the keys of all jobs.
    held: usize,
    helpers: usize,
    /// Helpers that have nothing to do.
    idle: usize,
    /// Numbers the waiters.
    issued: u64,
}

struct Job<T> {
    /// Bytes of its key.
    held: usize,
    work: Option<Work<T>>,
    /// By number, so that one of many leaves in O(log n).
    waiters: BTreeMap<u64, oneshot::Sender<Result<T, DiskError>>>,
}

/// Why work was not done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DiskError {
    /// Too much is waiting, or work in the same place hangs.
    Refused,
    /// It took too long.
    TimedOut,
}

/// What gates and helpers are doing.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Load {
    pub(crate) queued: usize,
    pub(crate) under_way: usize,
    pub(crate) stuck: usize,
    /// Jobs that are let through at once, as learned.
    pub(crate) limit: usize,
}

impl<K, T> fmt::Debug for State<K, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("State").field("helpers", &self.helpers).finish_non_exhaustive()
    }
}

impl<K, T> State<K, T> {
    fn take(&mut self, id: DiskJob) -> Option<Job<T>> {
        let job = self.jobs.remove(&id)?;
        self.held -= job.held;
        Some(job)
    }
}

impl<K: Key, T: Clone + Send + 'static> Disk<K, T> {
    /// `patience`: the longest that a request waits for one piece of work, and from when on that counts as
    /// stuck.
    fn new(config: DiskConfig, patience: Duration, metrics: Arc<Metrics>) -> Arc<Disk<K, T>> {
        let config = DiskConfig { stuck_after: patience, ..config };
        let state = State {
            gate: DiskGate::new(config),
            jobs: HashMap::new(),
            held: 0,
            helpers: 0,
            idle: 0,
            issued: 0,
        };
        let (state, work_added) = (Mutex::new(state), Condvar::new());
        Arc::new(Disk { state, work_added, config, patience, metrics })
    }

    /// Has `work` done by a helper, or waits for the same work (that with the same key) if it is queued
    /// already.
    ///
    /// # Errors
    ///
    /// It was refused, or took too long.
    async fn run(
        self: &Arc<Self>,
        piece: Piece<K>,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, DiskError> {
        let (mut waiter, answer) = self.join(piece, Box::new(work))?;
        let result = match timeout(self.patience, answer).await {
            Ok(answer) => {
                waiter.job = None;
                answer.unwrap_or(Err(DiskError::Refused))
            }
            Err(_) => Err(DiskError::TimedOut),
        };
        if result.is_err() {
            self.metrics.disk_refused.inc();
        }
        result
    }

    fn join(
        self: &Arc<Self>,
        piece: Piece<K>,
        work: Work<T>,
    ) -> Result<(Waiter<K, T>, Answer<T>), DiskError> {
        let Piece { key, bytes, place, since } = piece;
        let mut state = self.lock();
        let held = key.bytes();
        let full = state.gate.waiting() >= QUEUED || state.held + held > QUEUED_BYTES;
        let joined = match full {
            true => Joined::Refused,
            false => state.gate.join(key, bytes, place, since, clock::now()),
        };
        let job = match joined {
            Joined::Refused => {
                self.metrics.disk_refused.inc();
                return Err(DiskError::Refused);
            }
            Joined::New(job) => {
                state.held += held;
                state.jobs.insert(job, Job { held, work: Some(work), waiters: BTreeMap::new() });
                job
            }
            Joined::Merged(job) => {
                self.metrics.disk_merged.inc();
                job
            }
        };
        state.issued += 1;
        let number = state.issued;
        let (sender, answer) = oneshot::channel();
        if let Some(job) = state.jobs.get_mut(&job) {
            job.waiters.insert(number, sender);
        }
        if matches!(joined, Joined::New(_)) {
            helpers::call(self, &mut state);
        }
        Ok((Waiter { disk: self.clone(), job: Some(job), number }, answer))
    }

    /// What the gate and the helpers are doing now.
    fn load(&self) -> Load {
        let mut state = self.lock();
        // Nobody may have asked this disk for anything since one began to hang.
        state.gate.write_off(clock::now());
        Load {
            queued: state.gate.waiting(),
            under_way: state.gate.under_way(),
            stuck: state.gate.stuck(),
            limit: state.gate.limit(),
        }
    }
}

impl<K, T> Disk<K, T> {
    fn lock(&self) -> MutexGuard<'_, State<K, T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request that waits for a job. When it is dropped, it waits no more.
struct Waiter<K: Key, T> {
    disk: Arc<Disk<K, T>>,
    job: Option<DiskJob>,
    number: u64,
}

impl<K: Key, T> Drop for Waiter<K, T> {
    fn drop(&mut self) {
        let Some(id) = self.job else { return };
        let mut state = self.disk.lock();
        if state.gate.leave(id) {
            let job = state.take(id);
            drop(state);
            drop(job);
        } else if let Some(job) = state.jobs.get_mut(&id) {
            job.waiters.remove(&self.number);
        }
    }
}

#[cfg(test)]
mod tests;

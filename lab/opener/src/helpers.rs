//! The helper threads, which wait for the disk so that the opener's own thread never does. The misses hand
//! them what the gate lets through, and get the results over a channel.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use rustix::io::Errno;
use tokio::sync::mpsc::UnboundedSender;
use weir_sched::DiskJob;

use crate::find::{self, Identity, OpenFile, Opened};
use crate::roots::Below;

/// A job of the gate of a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct JobId {
    /// The disk's number.
    pub(crate) disk: usize,
    pub(crate) job: DiskJob,
}

/// What a helper does.
#[derive(Debug)]
pub(crate) enum Work {
    /// Find a name, open it and warm it.
    Open { root: PathBuf, name: PathBuf },
    /// Warm a file that is open.
    Warm(OpenFile),
}

/// What came of a job.
pub(crate) type Outcome = Result<Opened, Errno>;

type Queue = Arc<Mutex<Receiver<(JobId, Work)>>>;

/// See the module.
pub(crate) struct Helpers {
    jobs: Sender<(JobId, Work)>,
    queue: Queue,
    results: UnboundedSender<(JobId, Outcome)>,
    /// Bytes of a file that are warmed.
    window: u64,
    /// Threads that were started. They live as long as the opener.
    threads: usize,
    /// Jobs that were handed out and have not ended.
    busy: usize,
}

impl Helpers {
    pub(crate) fn new(window: u64, results: UnboundedSender<(JobId, Outcome)>) -> Helpers {
        let (jobs, queue) = channel();
        let queue = Arc::new(Mutex::new(queue));
        Helpers { jobs, queue, results, window, threads: 0, busy: 0 }
    }

    /// Has a helper do `work`. As many threads are started as jobs were ever under way at once, which the
    /// gates bound.
    pub(crate) fn start(&mut self, job: JobId, work: Work) {
        self.busy += 1;
        if self.busy > self.threads {
            self.add_thread();
        }
        if self.busy > self.threads {
            // All are busy, and may be so for ever: the server does it itself.
            let _ = self.results.send((job, Err(Errno::AGAIN)));
            return;
        }
        // There is a receiver as long as `self.queue`.
        let _ = self.jobs.send((job, work));
    }

    /// A job ended.
    pub(crate) fn ended(&mut self) {
        self.busy = self.busy.saturating_sub(1);
    }

    fn add_thread(&mut self) {
        let (queue, results, window) = (self.queue.clone(), self.results.clone(), self.window);
        let help = move || help(&queue, &results, window);
        if thread::Builder::new().name("opener-disk".to_owned()).spawn(help).is_ok() {
            self.threads += 1;
        }
    }
}

/// Does one job after another, until the opener ends.
fn help(queue: &Queue, results: &UnboundedSender<(JobId, Outcome)>, window: u64) {
    loop {
        let next = queue.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok((job, work)) = next else { return };
        let outcome = catch_unwind(AssertUnwindSafe(|| work.carry_out(window)));
        if results.send((job, outcome.unwrap_or(Err(Errno::IO)))).is_err() {
            return;
        }
    }
}

impl Work {
    fn carry_out(self, window: u64) -> Outcome {
        match self {
            Work::Open { root, name } => {
                find::from_disk(Below { root: &root, name: &name }, window)
            }
            Work::Warm(file) => {
                find::warm(&file, window)?;
                Ok(Opened::File(file))
            }
        }
    }

    /// The file that it warms; `None`: it looks a name up.
    pub(crate) fn warmed(&self) -> Option<Identity> {
        match self {
            Work::Open { .. } => None,
            Work::Warm(file) => Some(file.identity),
        }
    }

    /// Bytes that it is expected to read: the gate orders by them.
    pub(crate) fn expected_bytes(&self, window: u64) -> u64 {
        match self {
            // Not known before it is found.
            Work::Open { .. } => 0,
            Work::Warm(file) => find::length(file).min(window),
        }
    }
}

impl From<Below<'_>> for Work {
    fn from(below: Below<'_>) -> Work {
        Work::Open { root: below.root.to_owned(), name: below.name.to_owned() }
    }
}

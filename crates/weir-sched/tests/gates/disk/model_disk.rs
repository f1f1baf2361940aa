//! A disk in virtual time: it serves jobs in the order of their starts, as many at once as it has
//! channels. Used by the tests of the bound and of the learned limit.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use weir_sched::{DiskJob, Time};

/// See the module.
#[derive(Debug)]
pub(super) struct ModelDisk {
    /// When each channel is free.
    channels: Vec<Time>,
    /// Jobs under way with when they end; equal ones in the order of their starts.
    ends: BinaryHeap<Reverse<(Time, usize)>>,
    started: Vec<DiskJob>,
    busy: Duration,
}

impl ModelDisk {
    pub(super) fn new(channels: usize) -> ModelDisk {
        let (ends, started, busy) = Default::default();
        ModelDisk { channels: vec![Time::ZERO; channels], ends, started, busy }
    }

    /// A job starts that takes so long once a channel is free. `None`: it is answered from memory,
    /// after a moment.
    pub(super) fn start(&mut self, now: Time, job: DiskJob, service: Option<Duration>) {
        const MEMORY: Duration = Duration::from_micros(20);
        let end = match service {
            None => now + MEMORY,
            Some(service) => {
                let first = self.channels.iter_mut().min().expect("there is a channel");
                *first = (*first).max(now) + service;
                self.busy += service;
                *first
            }
        };
        self.ends.push(Reverse((end, self.started.len())));
        self.started.push(job);
    }

    /// When the next job ends.
    pub(super) fn next_end(&self) -> Option<Time> {
        self.ends.peek().map(|Reverse((end, _))| *end)
    }

    /// The next job that ends, and when.
    pub(super) fn end(&mut self) -> Option<(Time, DiskJob)> {
        let Reverse((end, place)) = self.ends.pop()?;
        Some((end, self.started[place]))
    }

    /// The time of service of all jobs that have started.
    pub(super) fn busy(&self) -> Duration {
        self.busy
    }
}

//! The source of events where there are no tracepoints: /proc, looked at again and again, as often as a
//! twentieth of a core allows and at most a thousand times a second.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use crate::event::{Event, Moment};
use crate::ledger::Ledger;
use crate::tasks;

/// The shortest time between two looks.
const SHORTEST: Duration = Duration::from_millis(1);
/// Time to rest for each time spent looking.
const REST: u32 = 19;
/// How often it is looked for new tasks: listing them takes longer than looking at them.
const LIST: Duration = Duration::from_millis(100);

/// Looks at the tasks of some processes.
#[derive(Debug)]
pub(crate) struct Sampler<'a> {
    pids: &'a [u32],
    tasks: BTreeSet<u32>,
    listed: Instant,
    looks: u64,
}

impl<'a> Sampler<'a> {
    pub(crate) fn new(pids: &'a [u32], tasks: &[u32]) -> Sampler<'a> {
        Sampler { pids, tasks: tasks.iter().copied().collect(), listed: Instant::now(), looks: 0 }
    }

    /// Looks at each task once and tells the ledger, whose clock is `now`. How long to rest then.
    pub(crate) fn round(&mut self, ledger: &mut Ledger, now: impl Fn() -> u64) -> Duration {
        let began = Instant::now();
        if self.listed.elapsed() > LIST || self.tasks.is_empty() {
            self.tasks = tasks::all(self.pids).into_iter().collect();
            self.listed = Instant::now();
            let ended: Vec<u32> =
                ledger.tasks().filter(|task| !self.tasks.contains(task)).collect();
            for task in ended {
                ledger.take(&Moment { at: now(), task, event: Event::Ends });
            }
        }
        let mut ended = Vec::new();
        for &task in &self.tasks {
            let found = tasks::look(task);
            let event = match found {
                Some((state, inside)) => Event::Sampled { state, inside },
                None => Event::Ends,
            };
            if found.is_none() {
                ended.push(task);
            }
            ledger.take(&Moment { at: now(), task, event });
        }
        for task in ended {
            self.tasks.remove(&task);
        }
        self.looks += 1;
        (began.elapsed() * REST).max(SHORTEST)
    }

    /// How often each task was looked at.
    pub(crate) fn looks(&self) -> u64 {
        self.looks
    }
}

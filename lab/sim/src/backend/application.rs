//! The application behind the gate: a queue and workers, which work for clients that have left, too.
//! The run sends it calls and asks for its answers.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use weir_sched::{Call, Time};

/// A call as the application sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Work {
    /// The number of the client's request.
    pub(super) number: u64,
    /// The gate's name for the call.
    pub(super) call: Call,
    /// How long a worker takes for it.
    pub(super) service: Duration,
}

/// Does as many things at a time as it has workers, first come first served.
#[derive(Debug)]
pub(super) struct Application {
    idle: u32,
    gap: Duration,
    /// Calls under way to it, by the moment at which they are there; the gap is the same for all.
    coming: VecDeque<(Time, Work)>,
    queue: VecDeque<Work>,
    /// What workers do, by the moment at which it is done, then by the order in which it began.
    served: BTreeMap<(Time, u64), Work>,
    begun: u64,
    window: (Time, Time),
    /// Service of all that was begun.
    pub(super) work: Duration,
    /// The part of it, over all workers, that falls into the window.
    pub(super) busy: Duration,
}

impl Application {
    /// Without work. `gap` is what a call takes to arrive, `window` the time for which `busy` is
    /// wanted.
    pub(super) fn new(workers: u32, gap: Duration, window: (Time, Time)) -> Application {
        Application {
            idle: workers,
            gap,
            coming: VecDeque::new(),
            queue: VecDeque::new(),
            served: BTreeMap::new(),
            begun: 0,
            window,
            work: Duration::ZERO,
            busy: Duration::ZERO,
        }
    }

    /// A call is sent to it.
    pub(super) fn send(&mut self, now: Time, work: Work) {
        self.coming.push_back((now + self.gap, work));
    }

    /// When [`Application::step`] has something to do.
    pub(super) fn due(&self) -> Time {
        let done = self.served.first_key_value().map_or(Time::NEVER, |((at, _), _)| *at);
        let here = self.coming.front().map_or(Time::NEVER, |(at, _)| *at);
        done.min(here)
    }

    /// The next thing that is due by `now`: work that is done, or else a call that is here (then
    /// `None`).
    pub(super) fn step(&mut self, now: Time) -> Option<Work> {
        let done = self.served.first_entry().filter(|entry| entry.key().0 <= now);
        if let Some(done) = done {
            let done = done.remove();
            self.idle += 1;
            if let Some(next) = self.queue.pop_front() {
                self.begin(now, next);
            }
            return Some(done);
        }
        if self.coming.front().is_some_and(|(at, _)| *at <= now)
            && let Some((_, here)) = self.coming.pop_front()
        {
            if self.idle > 0 { self.begin(now, here) } else { self.queue.push_back(here) }
        }
        None
    }

    fn begin(&mut self, now: Time, work: Work) {
        self.idle -= 1;
        let end = now + work.service;
        self.work += work.service;
        self.busy += end.min(self.window.1).since(now.max(self.window.0));
        self.served.insert((end, self.begun), work);
        self.begun += 1;
    }
}

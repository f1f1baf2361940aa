//! Deadlines that all lie the same time ahead when they are set, so that a queue keeps them in order:
//! the engine's, for users who give up, connections to close and slow readers.

use std::collections::VecDeque;

/// Things that happen `after` seconds after they were put in.
pub(crate) struct DelayQueue<T> {
    after: f64,
    queue: VecDeque<(f64, T)>,
}

impl<T> DelayQueue<T> {
    pub(crate) fn new(after: f64) -> DelayQueue<T> {
        DelayQueue { after, queue: VecDeque::new() }
    }

    pub(crate) fn push(&mut self, now: f64, what: T) {
        self.queue.push_back((now + self.after, what));
    }

    /// When the next is due.
    pub(crate) fn next_at(&self) -> Option<f64> {
        self.queue.front().map(|(at, _)| *at)
    }

    /// The next, if it is due.
    pub(crate) fn take(&mut self, now: f64) -> Option<T> {
        if self.next_at()? > now {
            return None;
        }
        self.queue.pop_front().map(|(_, what)| what)
    }

    /// Drops what does not count any more, when that may be the most of it; `live` entries do count.
    pub(crate) fn tidy(&mut self, live: usize, counts: impl Fn(&T) -> bool) {
        if self.queue.len() > 2 * live + 1024 {
            self.queue.retain(|(_, what)| counts(what));
        }
    }
}

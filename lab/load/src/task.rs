//! One request under way: what its user has seen so far, over all attempts, and the deadlines of
//! those who give up.

use std::collections::VecDeque;
use std::sync::Arc;

use weir_stats::{Outcome, Record};

use crate::demand::Due;

/// A request from its start to its end.
pub(crate) struct Task {
    pub(crate) path: Arc<str>,
    pub(crate) client: u32,
    pub(crate) class: u16,
    pub(crate) size: Option<u64>,
    pub(crate) user: Option<u32>,
    pub(crate) scheduled: f64,
    /// Of the first attempt; NaN before it.
    pub(crate) started: f64,
    pub(crate) connected: Option<f64>,
    pub(crate) first_byte: Option<f64>,
    /// Times it was sent.
    pub(crate) attempts: u32,
    /// Times the user tries again.
    pub(crate) retries: u32,
    /// The connection it is on.
    pub(crate) connection: Option<usize>,
    /// Differs from that of every other attempt of the run; 0 between two attempts.
    pub(crate) serial: u64,
}

impl Task {
    pub(crate) fn new(due: Due, retries: u32) -> Task {
        Task {
            path: due.request.path,
            client: due.request.client,
            class: due.request.class,
            size: due.request.size,
            user: due.user,
            scheduled: due.at,
            started: f64::NAN,
            connected: None,
            first_byte: None,
            attempts: 0,
            retries,
            connection: None,
            serial: 0,
        }
    }

    /// What is to be told of it, when it has ended at `now` after `body` bytes.
    pub(crate) fn record(&self, outcome: Outcome, body: u64, now: f64) -> Record {
        let complete = matches!(outcome, Outcome::Ok | Outcome::Status);
        Record {
            scheduled: self.scheduled,
            started: self.started,
            connected: self.connected,
            first_byte: self.first_byte,
            last_byte: complete.then_some(now),
            size: self.size.unwrap_or(body),
            class: self.class,
            outcome,
            attempts: self.attempts,
        }
    }
}

/// Things that happen a constant time after they were put in, so that they stay in order.
pub(crate) struct Later<T> {
    after: f64,
    queue: VecDeque<(f64, T)>,
}

impl<T> Later<T> {
    pub(crate) fn new(after: f64) -> Later<T> {
        Later { after, queue: VecDeque::new() }
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

    /// Drop what no longer counts, when that may be the most of it: `live` do.
    pub(crate) fn tidy(&mut self, live: usize, counts: impl Fn(&T) -> bool) {
        if self.queue.len() > 2 * live + 1024 {
            self.queue.retain(|(_, what)| counts(what));
        }
    }
}

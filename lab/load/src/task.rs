//! One request under way: what its user has seen so far, over all attempts. The engine keeps one for
//! each request, and makes its record at the end.

use std::sync::Arc;

use weir_stats::{Outcome, Record};

use crate::schedule::Due;

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
    /// Seconds by which, at most, what came for it would have ended sooner had it been read when it came.
    pub(crate) read_lag: f64,
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
            read_lag: 0.0,
            attempts: 0,
            retries,
            connection: None,
            serial: 0,
        }
    }

    /// Its record, when it has ended at `now` after `body` bytes.
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
            read_lag: self.read_lag,
        }
    }
}

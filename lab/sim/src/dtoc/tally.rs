//! What became of the clients of Carter's server in one run, or in several. The run fills it in;
//! the results are computed from it.

use crate::impatient::Counts;

/// Counts over the window; a client or a request counts if the client came within it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tally {
    /// What the backend's model counts too.
    pub counts: Counts,
    /// Clients that were refused at a full queue when they first came.
    pub refused: u64,
    /// Clients that were refused when they asked again.
    pub refused_again: u64,
    /// Requests that the queue took.
    pub accepted: u64,
    /// Accepted ones that went into service while their clients waited.
    pub begun: u64,
    /// Those of them whose clients left before the end.
    pub timed_out_in_service: u64,
    /// Seconds of the window in which the check was on.
    pub check_seconds: f64,
    /// Most requests that ever were in the queue, in the whole run.
    pub longest_queue: usize,
}

impl Tally {
    /// Adds another run of the same model.
    pub fn add(&mut self, other: &Tally) {
        self.counts.add(&other.counts);
        self.refused += other.refused;
        self.refused_again += other.refused_again;
        self.accepted += other.accepted;
        self.begun += other.begun;
        self.timed_out_in_service += other.timed_out_in_service;
        self.check_seconds += other.check_seconds;
        self.longest_queue = self.longest_queue.max(other.longest_queue);
    }
}

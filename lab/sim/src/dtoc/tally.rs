//! What became of the clients of one run, or of several. It computes no shares.

use crate::shares;

/// Counts over the window; a client or a try counts if the client came within it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tally {
    /// Length of the window, in seconds.
    pub seconds: f64,
    /// Clients by class of size: below 1000 bytes, below 10 000, below 100 000, above.
    pub clients: [u64; 4],
    /// Those that had their answer in time, by class.
    pub successful: [u64; 4],
    /// Clients that were refused at a full queue when they first came.
    pub refused: u64,
    /// Clients that were refused when they asked again.
    pub refused_again: u64,
    /// Clients whose last try timed out.
    pub timed_out: u64,
    /// Requests sent: first ones and retries.
    pub tries: u64,
    /// Those that the queue took.
    pub accepted: u64,
    /// Accepted ones whose clients left before the answer.
    pub tries_timed_out: u64,
    /// Accepted ones that went into service while their clients waited.
    pub begun: u64,
    /// Those of them whose clients left before the end.
    pub timed_out_in_service: u64,
    /// Service of the successful, in seconds.
    pub useful_seconds: f64,
    /// Bytes that the successful asked for.
    pub useful_bytes: f64,
    /// Times from the first request of the successful to their answer, in seconds, added up.
    pub response_seconds: f64,
    /// Seconds of the window in which the server was busy.
    pub busy_seconds: f64,
    /// Seconds of the window in which the check was on.
    pub check_seconds: f64,
    /// Most requests that ever were in the queue, in the whole run.
    pub longest_queue: usize,
    /// Arrivals (retries and refused ones too) and departures (answered, dropped, aborted and
    /// purged ones), in the whole run.
    pub events: u64,
    /// Answers in time in each interval of the window, by when they were given, whenever their
    /// clients came; empty if not asked for.
    pub intervals: Vec<u64>,
}

/// The class of a size, as in Figure 21.
pub(crate) fn class(size: f64) -> usize {
    [1e3, 1e4, 1e5].iter().filter(|limit| size >= **limit).count()
}

impl Tally {
    /// Adds another run of the same model.
    pub fn add(&mut self, other: &Tally) {
        self.seconds += other.seconds;
        for class in 0..4 {
            self.clients[class] += other.clients[class];
            self.successful[class] += other.successful[class];
        }
        self.refused += other.refused;
        self.refused_again += other.refused_again;
        self.timed_out += other.timed_out;
        self.tries += other.tries;
        self.accepted += other.accepted;
        self.tries_timed_out += other.tries_timed_out;
        self.begun += other.begun;
        self.timed_out_in_service += other.timed_out_in_service;
        self.useful_seconds += other.useful_seconds;
        self.useful_bytes += other.useful_bytes;
        self.response_seconds += other.response_seconds;
        self.busy_seconds += other.busy_seconds;
        self.check_seconds += other.check_seconds;
        self.longest_queue = self.longest_queue.max(other.longest_queue);
        self.events += other.events;
        shares::add(&mut self.intervals, &other.intervals);
    }
}

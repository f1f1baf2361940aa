//! What became of the clients of one run, or of several. It computes no shares.

use super::recovery::Newcomers;
use crate::queue::Spread;
use crate::shares;

/// Counts of the clients that came in the window and of their requests, unless said otherwise.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tally {
    /// Length of the window, in seconds.
    pub seconds: f64,
    /// Clients by class of size: below 1000 bytes, below 10 000, below 100 000, above.
    pub clients: [u64; 4],
    /// Those that had their answer in time, by class.
    pub successful: [u64; 4],
    /// Clients whose last request was refused.
    pub refused: u64,
    /// Clients that left after their last request.
    pub timed_out: u64,
    /// Requests sent: first ones and retries.
    pub tries: u64,
    /// Requests that were refused.
    pub tries_refused: u64,
    /// Requests whose clients left.
    pub tries_timed_out: u64,
    /// Requests that were sent on to the application.
    pub started: u64,
    /// Those of them whose clients left before the answer.
    pub left_under_way: u64,
    /// Service of the successful, in seconds.
    pub useful_seconds: f64,
    /// Service of the calls whose clients left while they were under way, in seconds: the
    /// application does all of it.
    pub wasted_seconds: f64,
    /// Bytes that the successful asked for.
    pub useful_bytes: f64,
    /// Times from the first request of the successful to their answer, in seconds, added up.
    pub response_seconds: f64,
    /// Times from the request that was answered to the answer, in seconds.
    pub answers: Spread,
    /// The same added up.
    pub answer_seconds: f64,
    /// Seconds of the window in which workers were busy, over all workers.
    pub busy_seconds: f64,
    /// Seconds of service that were begun, in the whole run.
    pub work_seconds: f64,
    /// The gate's limit over the window, in calls × seconds.
    pub limit_seconds: f64,
    /// The gate's limit at the end of each run.
    pub limits: Vec<u32>,
    /// The patience that the gate had learned at the end of each run, in seconds, if it had.
    pub patiences: Vec<f64>,
    /// Most clients that ever waited, in the whole run.
    pub most_waiting: usize,
    /// Arrivals, departures and answers, in the whole run.
    pub events: u64,
    /// Clients without an outcome: a fault of the gate, which let them wait for ever.
    pub unfinished: u64,
    /// Times, in the whole run, that the gate started or refused who had left, or did not know who
    /// waited: a fault of the gate.
    pub faults: u64,
    /// Answers in time in each interval of the window, by when they were given, whenever their
    /// clients came; empty if not asked for.
    pub intervals: Vec<u64>,
    /// Clients that came after the load had dropped, by when they came, in steps of
    /// [`Newcomers::STEP`]; empty if it does not drop.
    pub newcomers: Vec<Newcomers>,
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
        self.timed_out += other.timed_out;
        self.tries += other.tries;
        self.tries_refused += other.tries_refused;
        self.tries_timed_out += other.tries_timed_out;
        self.started += other.started;
        self.left_under_way += other.left_under_way;
        self.useful_seconds += other.useful_seconds;
        self.wasted_seconds += other.wasted_seconds;
        self.useful_bytes += other.useful_bytes;
        self.response_seconds += other.response_seconds;
        self.answers.merge(&other.answers);
        self.answer_seconds += other.answer_seconds;
        self.busy_seconds += other.busy_seconds;
        self.work_seconds += other.work_seconds;
        self.limit_seconds += other.limit_seconds;
        self.limits.extend(&other.limits);
        self.patiences.extend(&other.patiences);
        self.most_waiting = self.most_waiting.max(other.most_waiting);
        self.events += other.events;
        self.unfinished += other.unfinished;
        self.faults += other.faults;
        shares::add(&mut self.intervals, &other.intervals);
        let steps = self.newcomers.len().max(other.newcomers.len());
        self.newcomers.resize(steps, Newcomers::default());
        for (sum, one) in self.newcomers.iter_mut().zip(&other.newcomers) {
            sum.add(one);
        }
    }
}

//! What became of the clients of an application behind the gate in one run, or in several. The run
//! fills it in; the results are computed from it.

use super::recovery::Newcomers;
use crate::impatient::Counts;
use crate::queue::Spread;

/// Counts of the clients that came in the window and of their requests, unless said otherwise.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tally {
    /// What Carter's server counts too.
    pub counts: Counts,
    /// Clients whose last request was refused.
    pub refused: u64,
    /// Requests that were refused.
    pub tries_refused: u64,
    /// Requests that were sent on to the application.
    pub started: u64,
    /// Those of them whose clients left before the answer.
    pub left_under_way: u64,
    /// Service of the calls whose clients left while they were under way, in seconds: the
    /// application does all of it.
    pub wasted_seconds: f64,
    /// Times from the request that was answered to the answer, in seconds.
    pub answers: Spread,
    /// The same added up.
    pub answer_seconds: f64,
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
    /// Clients without an outcome: a fault of the gate, which let them wait for ever.
    pub unfinished: u64,
    /// Times, in the whole run, that the gate started or refused who had left, or did not know who
    /// waited: a fault of the gate.
    pub faults: u64,
    /// Clients that came after the load had dropped, by when they came, in steps of
    /// [`Newcomers::STEP`]; empty if it does not drop.
    pub newcomers: Vec<Newcomers>,
}

impl Tally {
    /// Adds another run of the same model.
    pub fn add(&mut self, other: &Tally) {
        self.counts.add(&other.counts);
        self.refused += other.refused;
        self.tries_refused += other.tries_refused;
        self.started += other.started;
        self.left_under_way += other.left_under_way;
        self.wasted_seconds += other.wasted_seconds;
        self.answers.merge(&other.answers);
        self.answer_seconds += other.answer_seconds;
        self.work_seconds += other.work_seconds;
        self.limit_seconds += other.limit_seconds;
        self.limits.extend(&other.limits);
        self.patiences.extend(&other.patiences);
        self.most_waiting = self.most_waiting.max(other.most_waiting);
        self.unfinished += other.unfinished;
        self.faults += other.faults;
        let steps = self.newcomers.len().max(other.newcomers.len());
        self.newcomers.resize(steps, Newcomers::default());
        for (sum, one) in self.newcomers.iter_mut().zip(&other.newcomers) {
            sum.add(one);
        }
    }
}

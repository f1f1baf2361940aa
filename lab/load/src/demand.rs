//! Where the requests of a run come from: open loop, closed loop or saturating. Callers choose one;
//! the schedule turns it into requests that are due.

use weir_workload::Request;

/// Where requests come from.
pub enum Demand {
    /// Open loop: each request at its own time, whatever became of the others.
    Open(Box<dyn Iterator<Item = Request> + Send>),
    /// Closed loop: so many users; each thinks, asks, waits for the answer, and thinks again.
    Closed(Box<dyn Users>),
    /// Saturation: so many requests under way at all times; the times of the requests are ignored.
    Saturate(Box<dyn Iterator<Item = Request> + Send>, u32),
}

/// The users of a closed loop.
pub trait Users: Send {
    /// How many there are, at least 1.
    fn count(&self) -> u32;
    /// What `user` does next.
    fn next(&mut self, user: u32) -> Step;
}

/// A closed-loop user's next step.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// Seconds of thought, from the end of the last response.
    pub think: f64,
    /// What is asked for then; `at` is ignored.
    pub request: Request,
}

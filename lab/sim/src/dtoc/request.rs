//! One request that the server accepted, first one or retry. The run keeps it while its client waits.

/// A request. Times are in seconds from the start of the run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    /// When the client leaves.
    pub(super) deadline: f64,
    /// When the client came for the first time.
    pub(super) arrived: f64,
    /// What it asks for, in bytes.
    pub(super) size: f64,
    /// Seconds that this takes.
    pub(super) service: f64,
    /// How often it will ask again.
    pub(super) retries: u32,
    /// Whether the client came within the window that counts.
    pub(super) counted: bool,
    /// Its place in the queue, if the queue gives places.
    pub(super) place: u32,
}

impl Request {
    /// What the client sends when it leaves this one, waiting until `deadline`; `None` if it has
    /// asked often enough.
    pub(super) fn again(self, deadline: f64) -> Option<Request> {
        Some(Request { deadline, retries: self.retries.checked_sub(1)?, ..self })
    }
}

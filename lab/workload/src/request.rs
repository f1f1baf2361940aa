//! One request of a workload: what every source of this crate yields, and the generator sends.

use std::sync::Arc;

/// What somebody asks for, and when.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// Seconds from the start of the workload; never less than the request before it.
    pub at: f64,
    /// Who asks. Requests of one client may share connections.
    pub client: u32,
    /// The class the client belongs to (its round-trip time, its source address), counted from 0.
    pub class: u16,
    /// Path and query, beginning with `/`.
    pub path: Arc<str>,
    /// Body bytes of the response, if the workload knows them.
    pub size: Option<u64>,
}

/// Requests, one after the other.
pub type Requests = Box<dyn Iterator<Item = Request> + Send>;

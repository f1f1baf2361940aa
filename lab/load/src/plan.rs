//! What a run is asked to do, and what it says of itself afterwards.

use std::collections::BTreeMap;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};

use weir_stats::Record;
use weir_workload::Request;

use crate::engine::Engine;

/// What all requests of a run share.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Where the server listens.
    pub server: SocketAddr,
    /// The `Host` header.
    pub host: String,
    /// Further header lines of every request, each ending in CRLF.
    pub headers: String,
    /// Source addresses by client class; with none, or none for a class, the kernel chooses.
    pub sources: Vec<Source>,
    /// Requests that one connection carries; 1 sends `Connection: close`. With more, a request
    /// takes an idle connection of its class if there is one and makes a new one if not
    /// (Schroeder 2003, section 3.3.3).
    pub requests_per_connection: u32,
    /// Seconds after which a user gives up an attempt; `None` waits for ever.
    pub abort_after: Option<f64>,
    /// How often a user who gave up, or was refused, tries again at once.
    pub retries: u32,
    /// Seconds after the last scheduled start at which what is still open counts as unfinished.
    pub drain: f64,
    /// Seconds after which an open-loop workload is cut off, or a closed one ends.
    pub duration: Option<f64>,
    /// Share of the clients (by [`Request::client`]) that read slowly, and bytes per second they read.
    pub slow_readers: Option<(f64, u64)>,
    /// What bodies should be.
    pub body: Body,
    /// Start times are kept by spinning between requests that are close together. Leave it off in
    /// a thread of real-time priority, which the kernel stops for 50 ms when it has run for 950.
    pub spin: bool,
}

/// The source addresses of one client class; each gives about 28,000 ports.
#[derive(Clone, Debug, Default)]
pub struct Source {
    /// Taken in turn.
    pub addresses: Vec<IpAddr>,
}

/// What bodies are compared with.
#[derive(Clone, Debug)]
pub enum Body {
    /// Only their length counts.
    Any,
    /// Every body is the beginning of these bytes; longer ones are compared as far as they go.
    Prefix(Arc<[u8]>),
}

/// Where requests come from.
pub enum Demand {
    /// Each request at its own time, whatever became of the others.
    Open(Box<dyn Iterator<Item = Request> + Send>),
    /// So many users; each thinks, asks, waits for the answer, and thinks again.
    Closed(Box<dyn Users>),
    /// So many requests under way at all times; the times of the requests are ignored.
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

/// Counters that others may read while the run goes on, and a way to end it.
#[derive(Debug, Default)]
pub struct Live {
    /// Requests started.
    pub started: AtomicU64,
    /// Requests that were complete and right.
    pub complete: AtomicU64,
    /// Requests that ended otherwise.
    pub failed: AtomicU64,
    /// Bytes of responses.
    pub bytes: AtomicU64,
    /// Connections open.
    pub open: AtomicU64,
    /// Set to end the run early; what is under way counts as unfinished.
    pub stop: AtomicBool,
}

/// What the generator says of itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Seconds from the start to the end of the last request that ended of itself, or of the demand
    /// where requests were left unfinished: the time they were waited for in vain does not count.
    pub duration: f64,
    /// Start lag: 50th, 99th and 99.9th percentile and the most, in seconds.
    pub lag: [f64; 4],
    /// Most connections open at once.
    pub most_open: u64,
    /// Connections made.
    pub connections: u64,
    /// Complete responses with another status than 200, by their status.
    pub statuses: BTreeMap<u16, u64>,
    /// Bytes of response heads received, interim responses included.
    pub head_bytes: u64,
    /// Bytes of bodies received, of attempts that failed too.
    pub body_bytes: u64,
    /// Share of the machine's processor time that the hypervisor stole during the run.
    pub steal: f64,
    /// Share of the machine's processor time that was idle.
    pub idle: f64,
    /// Processor seconds the generator's thread used.
    pub processor_seconds: f64,
}

/// Sends the demand from the calling thread (in its network namespace) until all requests have
/// ended; `record` gets each request as it ends. Time zero is the moment of the call plus
/// a few milliseconds.
///
/// # Errors
///
/// When the plan cannot be followed (a source address that is not this host's, no patience, nothing
/// under way), the event loop itself fails or descriptors cannot be had at all; what happens to single
/// requests is in their records.
pub fn run(
    plan: &Plan,
    demand: Demand,
    live: &Live,
    record: &mut dyn FnMut(Record),
) -> Result<Report, Error> {
    check(plan, &demand)?;
    Engine::new(plan, demand, live, record)?.run()
}

/// What would make a run end at once or never.
fn check(plan: &Plan, demand: &Demand) -> Result<(), Error> {
    if let Some(after) = plan.abort_after.filter(|after| after.is_nan() || *after <= 0.0) {
        return Err(Error(format!(
            "users need some patience: they cannot give up after {after} s"
        )));
    }
    if plan.drain.is_nan() || plan.drain < 0.0 {
        return Err(Error(format!("the time to drain cannot be {} s", plan.drain)));
    }
    if matches!(demand, Demand::Saturate(_, 0)) {
        return Err(Error("at least 1 request must be under way to saturate a server".into()));
    }
    Ok(())
}

/// Why a run could not be made: what was wrong, and what to do.
#[derive(Debug)]
pub struct Error(pub String);

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

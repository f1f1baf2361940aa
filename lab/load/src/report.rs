//! What a run says of itself: counters while it goes on, for live views, and a report at its end.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64};

use crate::tls::Handshakes;

/// Counters that others may read while the run goes on, and a way to end it.
#[derive(Debug, Default)]
pub struct Live {
    /// Requests started.
    pub started: AtomicU64,
    /// Requests that were complete and right.
    pub complete: AtomicU64,
    /// Requests that ended otherwise.
    pub failed: AtomicU64,
    /// Bytes of responses, without those of TLS.
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
    /// Read lag of complete responses ([`Record::read_lag`](weir_stats::Record::read_lag)): the same.
    pub read_lag: [f64; 4],
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
    /// Bytes that came from sockets: with TLS more than heads and bodies, for its handshakes and records.
    pub socket_bytes: u64,
    /// The handshakes of a run over TLS.
    pub handshakes: Option<Handshakes>,
    /// Share of the machine's processor time that the hypervisor stole during the run.
    pub steal: f64,
    /// Share of the machine's processor time that was idle.
    pub idle: f64,
    /// Processor seconds the generator's thread used.
    pub processor_seconds: f64,
}

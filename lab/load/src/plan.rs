//! What all requests of a run have in common: the server, connections, patience, bodies. Callers
//! fill it in; the engine follows it.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use crate::tls::Tls;

/// What all requests of a run share.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Where the server listens.
    pub server: SocketAddr,
    /// The `Host` header.
    pub host: String,
    /// Further header lines of every request, each ending in CRLF.
    pub headers: String,
    /// TLS on all connections; in clear text if none.
    pub tls: Option<Tls>,
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
    /// Share of the clients (by [`weir_workload::Request::client`]) that read slowly, and bytes per second they read.
    pub slow_readers: Option<(f64, u64)>,
    /// What bodies should be.
    pub body: Body,
    /// Whether the generator spins, rather than sleeps, for the last 200 us before a start. Leave it
    /// off in a thread of real-time priority, which the kernel stops for 50 ms when it has run for
    /// 950 ms.
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

//! Routes of the configuration: which requests go to which backends, and how. It opens nothing.
//!
//! A route is a `[[route]]` table of the file ([`table`] reads its keys, [`build`] makes sense of
//! them together) or a `--proxy` flag ([`flag`]); [`all`] puts both into one list.

mod address;
mod all;
mod build;
mod choices;
mod edits;
mod flag;
mod host;
mod path;
mod redirect;
mod table;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use weir_http::Status;
use weir_sched::BackendConfig;
use weir_sched::balance::Balance;
use weir_sched::health::PassiveConfig;

pub use address::BackendAddress;
pub use build::FileRoute;
pub use choices::{Forwarded, HalfClose, How, Overflow, When};
pub use flag::ProxyFlag;
pub use host::HostHeader;
pub(crate) use host::ipv6_literal;
pub use weir_http::forward::FieldEdits;

pub(super) use all::{assemble, check_once, is_of_everything};
pub(super) use table::{keys_of_routes, read};

/// Which requests are answered how.
#[derive(Clone, Debug)]
pub struct RouteConfig {
    /// The host that is asked for: lower case, without a port; `*.example.org` stands for every name
    /// that ends in `.example.org`. `None`: every host.
    pub host: Option<String>,
    /// The path, and everything below it: decoded, beginning with a slash, and without one at its
    /// end unless it is `/`.
    pub path: String,
    /// Which calls go first where several routes share a backend's gate: least first. Default 100.
    pub priority: u8,
    /// What becomes of the request.
    pub action: Action,
}

/// What becomes of the requests of a route.
#[derive(Clone, Debug)]
pub enum Action {
    /// They are answered with the files of the root.
    Files,
    /// They are sent elsewhere.
    Redirect {
        /// The `Location`, in ASCII. If it ends in `/{rest}`, that stands for what follows the path
        /// of the route, with the query.
        to: String,
        /// 301, 302, 307 or 308. Default 308.
        status: Status,
    },
    /// They are answered by backends.
    Proxy(Box<ProxyConfig>),
}

/// How requests are answered by backends.
#[derive(Clone, Debug)]
pub struct ProxyConfig {
    /// The backends, at least one, none twice.
    pub backends: Vec<BackendAddress>,
    /// Which of them a request goes to.
    pub balance: Balance,
    /// The gate of each of them.
    pub gate: BackendConfig,
    /// They stop working on a call when its connection closes. Default: false.
    pub cancels: bool,
    /// How it is noticed that a client has left.
    pub dead_requests: DeadRequests,
    /// What a client that closed its side of the connection is taken for.
    pub half_close: HalfClose,
    /// Longest time to connect to a backend. Default 5 s.
    pub connect_timeout: Duration,
    /// Longest time from the request to the first byte of the answer. Default 60 s.
    pub first_byte_timeout: Duration,
    /// Longest time between bytes of an answer. Default 60 s.
    pub idle_timeout: Duration,
    /// Longest time for a call as a whole, but for waiting for the client. Default `None`: no limit.
    pub total_timeout: Option<Duration>,
    /// How long an idle connection to a backend is kept. Default 30 s.
    pub keep_alive: Duration,
    /// How often a request that may be sent again is sent again, 0 to 10. Default 1.
    pub retries: u32,
    /// How backends are checked. Default `None`: they are not.
    pub health: Option<HealthCheck>,
    /// When failed calls put a backend out.
    pub passive: PassiveConfig,
    /// The path of the route is taken off the path of the request.
    pub strip_prefix: bool,
    /// What stands in place of the path of the route, beginning with a slash; never together with
    /// `strip_prefix`.
    pub rewrite: Option<String>,
    /// The `Host` that a backend sees.
    pub host_header: HostHeader,
    /// How a backend is told who the client is.
    pub forwarded: Forwarded,
    /// What clients say in such fields is passed on and added to; otherwise it is replaced.
    pub trust_forwarded: bool,
    /// Changes to the fields of requests.
    pub request_headers: Arc<FieldEdits>,
    /// Changes to the fields of answers.
    pub response_headers: Arc<FieldEdits>,
    /// Bytes of a body that are kept in memory: of a request before a backend is asked, of an answer
    /// for a slow client. Default 1 MB.
    pub buffer: u64,
    /// What happens to a body that is larger.
    pub overflow: Overflow,
    /// Bytes of a body that a file takes beyond `buffer`, with [`Overflow::Spill`]. Default 100 MB.
    pub max_spill: u64,
    /// Bytes of the largest body of a request. Default `None`: no limit.
    pub max_body: Option<u64>,
}

impl ProxyConfig {
    /// A proxy for `backends` with the defaults.
    pub fn to(backends: Vec<BackendAddress>) -> ProxyConfig {
        ProxyConfig {
            backends,
            balance: Balance::default(),
            gate: BackendConfig::default(),
            cancels: false,
            dead_requests: DeadRequests::default(),
            half_close: HalfClose::default(),
            connect_timeout: Duration::from_secs(5),
            first_byte_timeout: Duration::from_secs(60),
            idle_timeout: Duration::from_secs(60),
            total_timeout: None,
            keep_alive: Duration::from_secs(30),
            retries: 1,
            health: None,
            passive: PassiveConfig::default(),
            strip_prefix: false,
            rewrite: None,
            host_header: HostHeader::default(),
            forwarded: Forwarded::default(),
            trust_forwarded: false,
            request_headers: Arc::default(),
            response_headers: Arc::default(),
            buffer: 1_000_000,
            overflow: Overflow::default(),
            max_spill: 100_000_000,
            max_body: None,
        }
    }

    /// What stands in place of the path of the route in the path of a request; `None`: the path
    /// stays as it is.
    pub fn prefix_becomes(&self) -> Option<&str> {
        if self.strip_prefix { Some("/") } else { self.rewrite.as_deref() }
    }
}

/// How it is noticed that a client has left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeadRequests {
    /// By what.
    pub how: How,
    /// When it is looked for.
    pub when: When,
}

/// How backends are checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HealthCheck {
    /// The path that is asked for. Default `/`.
    pub path: String,
    /// From one check to the next. Default 5 s.
    pub interval: Duration,
    /// Longest time for an answer, at most `interval`. Default 2 s, or `interval` if that is less.
    pub timeout: Duration,
    /// Good checks in a row that bring a backend back, from 1. Default 2.
    pub healthy: u32,
    /// Bad checks in a row that put it out, from 1. Default 3.
    pub unhealthy: u32,
}

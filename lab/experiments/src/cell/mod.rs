//! One run: a system under test, a network, users and what they ask for. Everything that makes two
//! runs different is here, so equal cells with equal seeds have equal inputs.

mod files;
mod name;

use serde::{Deserialize, Serialize};

pub(crate) use files::{DISK_FULL, DISK_KEEPS_UP, TRIAL, TRIALS};
pub use files::{Disk, Files, Load, Phase, What};
pub use name::cell_name;
pub use weir_workload::arrivals::LoadIs;

/// One run of an experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// The system under test: `weir:POLICY` with any further flags after spaces
    /// (`weir:srpt --workers 4`), `nginx`, `apache-prefork`, `apache-event`, `lighttpd`, `h2o`,
    /// `caddy`, or `command:…` with `{address}`, `{port}` and `{root}` replaced. In front of an
    /// application ([`Demand::Application`]) the names are those of [`crate::backend::SYSTEMS`], with
    /// files on a slow disk ([`Demand::Files`]) those of [`crate::disk::SYSTEMS`].
    pub system: String,
    /// The network between server and users. An application and what stands in front of it, and servers
    /// of files on a slow disk, are on the loopback interface, whatever stands here.
    pub network: Network,
    /// How users behave.
    pub users: Users,
    /// What they ask for, and when.
    pub demand: Demand,
    /// Everything random follows from it.
    pub seed: u64,
}

/// The network of a cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Network {
    /// Bits per second of the bottleneck.
    pub rate: u64,
    /// Packets that wait at the bottleneck; more are dropped.
    pub queue: u32,
    /// The bottleneck is a router behind the server instead of its own interface.
    pub router: bool,
    /// Milliseconds of round-trip time added by the emulated link; 0 and no loss use plain veth.
    pub round_trip_ms: f64,
    /// The same for each class of clients ([`Demand::Classes`]), in their order; empty: all have
    /// `round_trip_ms`.
    #[serde(default)]
    pub class_round_trips_ms: Vec<f64>,
    /// Probability that a packet is lost, each way.
    pub loss: f64,
    /// Bytes of the largest IP packet (1500; 576 for segments of 536 bytes).
    pub mtu: u32,
    /// Congestion control of both ends; `None` is the kernel's.
    pub congestion: Option<String>,
    /// Milliseconds until an unanswered SYN or SYN-ACK is sent again; `None` is the kernel's second.
    pub initial_rto_ms: Option<u32>,
    /// Connections that wait to be accepted, and half-open ones.
    pub backlog: u32,
    /// SYN cookies when the queue of half-open connections is full.
    pub syn_cookies: bool,
}

impl Default for Network {
    /// Schroeder's baseline on today's kernel: 10 Mbit/s, a queue of 1000 packets, no delay.
    fn default() -> Network {
        Network {
            rate: 10_000_000,
            queue: 1000,
            router: false,
            round_trip_ms: 0.0,
            class_round_trips_ms: Vec::new(),
            loss: 0.0,
            mtu: 1500,
            congestion: Some("cubic".into()),
            initial_rto_ms: None,
            backlog: 4096,
            syn_cookies: true,
        }
    }
}

/// How users behave.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Users {
    /// Requests on one connection.
    pub requests_per_connection: u32,
    /// Seconds after which a user aborts and tries again.
    pub abort_after: Option<f64>,
    /// How often they try again.
    pub retries: u32,
    /// Share of users that read at 20 kbit/s.
    pub slow_readers: f64,
    /// They speak TLS 1.3, each connection with a full handshake. Only in cells with a link.
    #[serde(default)]
    pub tls: bool,
}

impl Default for Users {
    fn default() -> Users {
        Users {
            requests_per_connection: 1,
            abort_after: None,
            retries: 0,
            slow_readers: 0.0,
            tls: false,
        }
    }
}

/// What users ask for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Demand {
    /// Poisson arrivals; offered load alternates over periods of (seconds, load), again and again
    /// until `duration`.
    Open {
        /// Sizes.
        law: Law,
        /// Periods: seconds and offered load (bytes asked ÷ rate).
        periods: Vec<(f64, f64)>,
        /// Which bytes the load counts.
        #[serde(default)]
        load_is: LoadIs,
        /// Seconds.
        duration: f64,
    },
    /// A recorded trace with its own interarrivals, scaled so that each period has its load.
    Trace {
        /// File name under the data directory.
        file: String,
        /// Periods: seconds and offered load.
        periods: Vec<(f64, f64)>,
        /// Which bytes the load counts.
        #[serde(default)]
        load_is: LoadIs,
        /// Seconds.
        duration: f64,
    },
    /// Poisson arrivals of several classes of clients, each with a constant offered load (wire bytes
    /// asked ÷ rate).
    Classes {
        /// Sizes.
        law: Law,
        /// Offered load of each class.
        loads: Vec<f64>,
        /// Seconds.
        duration: f64,
    },
    /// SURGE user equivalents in a closed loop.
    Closed {
        /// How many.
        users: u32,
        /// Seconds.
        duration: f64,
    },
    /// Poisson arrivals for an application behind the system under test, which does one request at
    /// a time and whose service times follow Carter's Figure 21.
    Application {
        /// Mean service time in seconds; its inverse is the capacity.
        service: f64,
        /// Offered load, as a multiple of the capacity.
        load: f64,
        /// Seconds of this load before anything is counted.
        warm_up: f64,
        /// Seconds of this load that are counted.
        window: f64,
        /// Seconds at half of the capacity afterwards.
        after: f64,
    },
    /// Files on a slow disk, for clients beside the server.
    Files(Files),
}

impl Demand {
    /// Seconds for which requests come.
    pub fn seconds(&self) -> f64 {
        match self {
            Demand::Open { duration, .. }
            | Demand::Trace { duration, .. }
            | Demand::Classes { duration, .. }
            | Demand::Closed { duration, .. } => *duration,
            Demand::Application { warm_up, window, after, .. } => warm_up + window + after,
            Demand::Files(files) => files.duration(),
        }
    }
}

/// Laws of sizes that experiments use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Law {
    /// Schroeder's World Cup day.
    WorldCup,
    /// SURGE's files.
    Surge,
}

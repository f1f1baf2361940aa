//! What one run showed: the figures that reports are made of. Times are milliseconds.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};

use crate::cell::Cell;

mod application;
mod files;

pub use application::{Class, Estimate, Figures};
pub use files::{FilesOutcome, Observed, PhaseOutcome, Ready, SearchEnd, Times};

/// The figures of a cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// What was run.
    pub cell: Cell,
    /// Commit of the weir that the run was made with: what its `--version` says.
    #[serde(default = "unknown")]
    pub commit: String,
    /// Requests of the workload.
    pub requests: usize,
    /// Response times of complete responses.
    pub measured: Summary,
    /// The same for each class of clients, if there are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_class: Vec<Summary>,
    /// The same trace through exact servers of 0.99 × the rate with heads of 200 bytes; absent in
    /// a closed loop and where the network has losses or delays of its own.
    pub ideal: Option<Ideal>,
    /// Mean response time of exact SRPT at the whole rate, in milliseconds; absent where `ideal` is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub srpt_at_full_rate: Option<f64>,
    /// Share of the requests without a complete response.
    pub incomplete: f64,
    /// The same among the largest 1 %.
    pub incomplete_largest: f64,
    /// Requests by outcome.
    pub outcomes: BTreeMap<String, usize>,
    /// Link use in each period of overload, less its first 5 s.
    pub link_use: Vec<f64>,
    /// Bytes of complete response bodies per second of the demand.
    pub goodput_bytes: f64,
    /// Complete responses per second of the demand.
    pub responses_per_second: f64,
    /// Packets dropped at the bottleneck's queue.
    pub dropped: u64,
    /// Bytes of the system's head with a document of 1 KB.
    pub head_bytes: u64,
    /// The server's side, once a second.
    pub samples: Vec<Sample>,
    /// Mean response time by the second in which requests were scheduled; `None` without any.
    pub series: Vec<Option<f64>>,
    /// 95th percentile of the response times of responses with bodies under 10,000 bytes, by the minute
    /// in which requests were scheduled; `None` without any.
    #[serde(default)]
    pub small_p95: Vec<Option<f64>>,
    /// Cumulative distribution: response time not exceeded by each share of `SHARES`.
    pub distribution: Vec<f64>,
    /// 99th percentile of the start lag in milliseconds.
    #[serde(deserialize_with = "number")]
    pub lag_p99: f64,
    /// 99th percentile of the read lag of complete responses in milliseconds: for how long reading them late
    /// can have held them up; absent in outcomes that were made before it was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_lag_p99: Option<f64>,
    /// Share of the processor time stolen by the hypervisor.
    pub steal: f64,
    /// Share of the processor time left over.
    pub idle: f64,
    /// Processor seconds of the server.
    pub server_cpu: f64,
    /// Reasons why the run does not count; empty if it does.
    pub invalid: Vec<String>,
    /// Of users who abort: what the link's bytes were spent on, and who was served.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub served: Option<Served>,
    /// Of an application behind the system: what of its time was of use, and to whom.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub application: Option<Figures>,
    /// Of files on a slow disk: what each phase showed. The other figures are those of the last phase
    /// that is not in memory, scanned or watched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<FilesOutcome>,
}

/// What a link's bytes were spent on, and who was served.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Served {
    /// Bytes on the wire from the beginning of the load to the end of the last response.
    pub link_bytes: u64,
    /// Those for responses that were complete: heads, bodies, packets and their connections.
    pub useful_bytes: u64,
    /// By size of the body.
    pub classes: Vec<SizeClass>,
}

/// Largest sizes of the classes that are told apart in who was served: Schroeder's (section 2.2) and
/// two above.
pub(crate) const UP_TO: [u64; 6] = [1_000, 2_000, 5_000, 50_000, 500_000, u64::MAX];

/// Requests for bodies up to a size, larger than those of the class before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SizeClass {
    /// Bytes of the largest.
    pub up_to: u64,
    /// Requests.
    pub asked: usize,
    /// Those whose response was complete.
    pub complete: usize,
}

/// The shares of [`Outcome::distribution`].
pub const SHARES: [f64; 13] =
    [0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999, 1.0];

/// Response times of a set of requests. What has no value (a mean of nothing) is not a number, and
/// `null` in JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// How many.
    pub count: usize,
    /// Their mean.
    #[serde(deserialize_with = "number")]
    pub mean: f64,
    /// Their variance, in seconds squared as Schroeder gives it.
    #[serde(deserialize_with = "number")]
    pub variance: f64,
    /// The median.
    #[serde(deserialize_with = "number")]
    pub median: f64,
    /// 95th percentile.
    #[serde(deserialize_with = "number")]
    pub p95: f64,
    /// 99th percentile.
    #[serde(deserialize_with = "number")]
    pub p99: f64,
    /// Mean of the largest 1 % of the responses.
    #[serde(deserialize_with = "number")]
    pub largest: f64,
    /// Response time of the very largest response.
    #[serde(deserialize_with = "number")]
    pub very_largest: f64,
    /// Mean by decile of size, smallest first: 10 values.
    #[serde(deserialize_with = "numbers")]
    pub deciles: Vec<f64>,
    /// (mean size, mean response time) by bins of size, four to each factor of 10.
    pub by_size: Vec<(f64, f64)>,
}

impl Summary {
    /// The summary without any response.
    pub fn of_nothing() -> Summary {
        let none = f64::NAN;
        Summary {
            count: 0,
            mean: none,
            variance: none,
            median: none,
            p95: none,
            p99: none,
            largest: none,
            very_largest: none,
            deciles: vec![none; 10],
            by_size: Vec::new(),
        }
    }
}

/// What outcomes say that were made before they had a commit.
fn unknown() -> String {
    UNKNOWN.to_owned()
}

/// The commit of a build from sources without their history, or of a program that does not tell.
pub(crate) const UNKNOWN: &str = "unknown";

/// JSON has no word for what is not a number; it is written as `null`.
fn number<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or(f64::NAN))
}

fn numbers<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<f64>, D::Error> {
    let numbers: Vec<Option<f64>> = Vec::deserialize(from)?;
    Ok(numbers.into_iter().map(|number| number.unwrap_or(f64::NAN)).collect())
}

/// Exact servers on the same trace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ideal {
    /// Shortest remaining first.
    pub srpt: Summary,
    /// Processor sharing.
    pub sharing: Summary,
    /// Share of the requests that ended more than 50 ms after processor sharing, or never.
    pub late: f64,
    /// The worst of those that ended, milliseconds.
    #[serde(deserialize_with = "number")]
    pub worst: f64,
}

/// The server's side at one moment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// Seconds from the start.
    pub at: f64,
    /// Connections by state: established, SYN received, closing.
    pub established: u32,
    /// Half open.
    pub syn_received: u32,
    /// Closing: FIN-WAIT, CLOSE-WAIT, LAST-ACK, CLOSING.
    pub closing: u32,
    /// Connections that wait to be accepted.
    pub listen_queue: u32,
    /// Connections refused so far for want of room in the listen queue (ListenOverflows, ListenDrops).
    pub listen_drops: u64,
    /// Packets dropped so far at the bottleneck.
    pub queue_drops: u64,
    /// Packets that wait at the bottleneck.
    pub queue_length: u32,
    /// Processor seconds of the server so far.
    pub cpu: f64,
    /// Bytes of memory of the server.
    pub memory: u64,
}

//! The results of a replay as they are written as JSON; names carry units. Computed by
//! [`compare`](super::compare), shown by text and page.

use serde::Serialize;

/// All of it.
#[derive(Debug, Serialize)]
pub(super) struct Figures {
    pub(super) log: String,
    pub(super) format: String,
    pub(super) requests: u64,
    /// Records that are no requests for a body.
    pub(super) records_left_out: u64,
    pub(super) bad_records: u64,
    /// Requests whose size the log does not say: they count as empty bodies.
    pub(super) unknown_sizes: u64,
    /// RFC 3339; left out if the log does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) began: Option<String>,
    /// From the first request to the last.
    pub(super) span_s: f64,
    pub(super) scale_load: f64,
    pub(super) uplink_bits_per_second: u64,
    pub(super) uplink_pace: f64,
    /// Clients' own limits, if everything went through the server's gate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) round_trip_ms: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) client_bits_per_second: Option<u64>,
    pub(super) body_bytes: f64,
    pub(super) wire_bytes: f64,
    /// Wire bytes asked in the span ÷ what the whole uplink carries in it; left out without a span.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) offered_load: Option<f64>,
    /// What one grant is worth.
    pub(super) grant_bytes: u64,
    /// Finishes that differ by no more count as the same: a grant's time.
    pub(super) same_within_ms: f64,
    pub(super) full: Full,
    /// Under fair sharing.
    pub(super) fair: Times,
    pub(super) policies: Vec<Policy>,
}

/// When the uplink was full.
#[derive(Debug, Serialize)]
pub(super) struct Full {
    pub(super) seconds: f64,
    /// Of the time from the first request to the end of the last response.
    pub(super) percent_of_time: f64,
    pub(super) percent_of_requests: f64,
    /// How many spans there are.
    pub(super) spans: u64,
    /// The longest of them, in order of time.
    pub(super) longest: Vec<Span>,
    /// Left out where clients have limits of their own: what waits for them does not wait for the
    /// uplink.
    #[serde(flatten)]
    pub(super) peak: Option<Peak>,
    /// The most that waited in equal parts of the time; left out with the peak.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) backlog: Vec<Waiting>,
}

/// When most waited for the uplink.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Peak {
    pub(super) peak_backlog_bytes: f64,
    /// How long the uplink needs to send them.
    pub(super) peak_backlog_s: f64,
    pub(super) peak_backlog_at_s: f64,
}

/// A span in which the uplink was full.
#[derive(Debug, Serialize)]
pub(super) struct Span {
    pub(super) from_s: f64,
    pub(super) to_s: f64,
    /// RFC 3339, the log's own time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) from: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) to: Option<String>,
}

/// What waited for the uplink.
#[derive(Debug, Serialize)]
pub(super) struct Waiting {
    pub(super) at_s: f64,
    pub(super) bytes: f64,
}

/// Response times of all requests, and of those that came while the uplink was full.
#[derive(Debug, Serialize)]
pub(super) struct Times {
    pub(super) response_ms_mean: f64,
    pub(super) response_ms_p50: f64,
    pub(super) response_ms_p95: f64,
    pub(super) response_ms_p99: f64,
    pub(super) response_ms_max: f64,
    /// Left out if none came then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) while_full: Option<WhileFull>,
    pub(super) largest_response_bytes: u64,
    pub(super) largest_response_s: f64,
    pub(super) by_size: Vec<SizeClass>,
}

/// Response times of the requests that came while the uplink was full.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct WhileFull {
    pub(super) requests: u64,
    pub(super) response_ms_mean: f64,
    pub(super) response_ms_p50: f64,
    pub(super) response_ms_p95: f64,
    pub(super) response_ms_p99: f64,
}

/// Responses of about one size.
#[derive(Debug, Serialize)]
pub(super) struct SizeClass {
    pub(super) from_bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) below_bytes: Option<u64>,
    pub(super) requests: u64,
    pub(super) response_ms_mean: f64,
    pub(super) response_ms_p50: f64,
    pub(super) response_ms_p99: f64,
    /// Than under fair sharing, and beyond what counts as the same; 0 for fair sharing.
    pub(super) faster_percent: f64,
    pub(super) slower_percent: f64,
}

/// A policy against fair sharing.
#[derive(Debug, Serialize)]
pub(super) struct Policy {
    pub(super) policy: &'static str,
    pub(super) faster_percent: f64,
    pub(super) slower_percent: f64,
    /// The most by which a response ended later than under fair sharing, though it may count as the
    /// same.
    pub(super) latest_s: f64,
    /// By how much the largest response ended later; negative: sooner.
    pub(super) largest_response_later_s: f64,
    #[serde(flatten)]
    pub(super) times: Times,
}

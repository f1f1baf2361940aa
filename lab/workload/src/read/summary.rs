//! What a trace is like, in numbers: sizes, clients, concurrency. `weir-lab trace stats` prints
//! them.

use std::collections::HashSet;
use std::sync::Arc;

use crate::{Request, Wire};

/// Gathers the numbers of a trace request by request. It keeps 8 bytes for each request and the
/// distinct paths.
#[derive(Clone, Debug)]
pub struct Gather {
    wire: Wire,
    sizes: Vec<u64>,
    unknown: u64,
    wire_bytes: u64,
    clients: HashSet<u32>,
    paths: HashSet<Arc<str>>,
    first: Option<f64>,
    last: f64,
    second: Peak,
    minute: Peak,
}

/// What a trace is like. Sizes are those of bodies, in bytes, of the requests whose size is known.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Summary {
    /// Requests.
    pub requests: u64,
    /// Those of unknown size.
    pub unknown_sizes: u64,
    /// Distinct clients.
    pub clients: u64,
    /// Distinct paths.
    pub objects: u64,
    /// Seconds from the first request to the last.
    pub span: f64,
    /// Bytes of all bodies.
    pub bytes: u64,
    /// Mean size.
    pub mean: f64,
    /// Median size (nearest rank, as the other percentiles).
    pub median: u64,
    /// 90th percentile of sizes.
    pub p90: u64,
    /// 99th percentile of sizes.
    pub p99: u64,
    /// Largest size.
    pub max: u64,
    /// Standard deviation of sizes ÷ mean.
    pub cv: f64,
    /// Share of all bytes that the largest 1 % of the responses have.
    pub bytes_in_largest_1_percent: f64,
    /// Share of all bytes that the largest 3 % of the responses have.
    pub bytes_in_largest_3_percent: f64,
    /// Most requests in a second of the trace's time.
    pub peak_per_second: u64,
    /// Most requests in a minute of the trace's time.
    pub peak_per_minute: u64,
    /// Wire bytes of all responses; unknown sizes count as empty bodies.
    pub wire_bytes: u64,
}

/// The most requests in any interval of a fixed length, counted from 0.
#[derive(Clone, Copy, Debug)]
struct Peak {
    length: f64,
    interval: f64,
    count: u64,
    most: u64,
}

impl Peak {
    fn of(length: f64) -> Peak {
        Peak { length, interval: -1.0, count: 0, most: 0 }
    }

    fn add(&mut self, at: f64) {
        let interval = (at / self.length).floor();
        if interval != self.interval {
            self.interval = interval;
            self.count = 0;
        }
        self.count += 1;
        self.most = self.most.max(self.count);
    }
}

impl Gather {
    /// Nothing yet; `wire` says what responses cost on the link.
    pub fn new(wire: Wire) -> Gather {
        Gather {
            wire,
            sizes: Vec::new(),
            unknown: 0,
            wire_bytes: 0,
            clients: HashSet::new(),
            paths: HashSet::new(),
            first: None,
            last: 0.0,
            second: Peak::of(1.0),
            minute: Peak::of(60.0),
        }
    }

    /// Counts a request; they come in order of time.
    pub fn add(&mut self, request: &Request) {
        match request.size {
            Some(size) => self.sizes.push(size),
            None => self.unknown += 1,
        }
        let wire = self.wire.bytes(request.size.unwrap_or(0));
        self.wire_bytes = self.wire_bytes.saturating_add(wire);
        self.clients.insert(request.client);
        if !self.paths.contains(&request.path) {
            self.paths.insert(request.path.clone());
        }
        self.first.get_or_insert(request.at);
        self.last = request.at;
        self.second.add(request.at);
        self.minute.add(request.at);
    }

    /// The numbers. All are 0 for a trace without requests.
    pub fn summary(mut self) -> Summary {
        self.sizes.sort_unstable();
        let sizes = &self.sizes;
        let count = sizes.len() as f64;
        let total = |sizes: &[u64]| sizes.iter().map(|&size| size as f64).sum::<f64>();
        let share = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
        let bytes = total(sizes);
        let mean = share(bytes, count);
        let squares: f64 = sizes.iter().map(|&size| (size as f64 - mean).powi(2)).sum();
        let percentile = |part: f64| {
            let rank = ((part * count).ceil() as usize).max(1);
            sizes.get(rank - 1).copied().unwrap_or(0)
        };
        let largest = |part: f64| {
            let kept = sizes.len() - (part * count).round() as usize;
            share(total(&sizes[kept..]), bytes)
        };
        Summary {
            requests: self.unknown + sizes.len() as u64,
            unknown_sizes: self.unknown,
            clients: self.clients.len() as u64,
            objects: self.paths.len() as u64,
            span: self.last - self.first.unwrap_or(0.0),
            bytes: sizes.iter().fold(0, |sum, &size| sum.saturating_add(size)),
            mean,
            median: percentile(0.5),
            p90: percentile(0.9),
            p99: percentile(0.99),
            max: sizes.last().copied().unwrap_or(0),
            cv: share(share(squares, count).sqrt(), mean),
            bytes_in_largest_1_percent: largest(0.01),
            bytes_in_largest_3_percent: largest(0.03),
            peak_per_second: self.second.most,
            peak_per_minute: self.minute.most,
            wire_bytes: self.wire_bytes,
        }
    }
}

impl Summary {
    /// Wire bytes asked per second ÷ the rate of a link in bits per second; `None` for a trace
    /// without a span.
    pub fn load(&self, bits_per_second: f64) -> Option<f64> {
        let capacity = self.span * bits_per_second / 8.0;
        (capacity > 0.0).then(|| self.wire_bytes as f64 / capacity)
    }
}

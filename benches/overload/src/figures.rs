//! The figures of a run: response times by size, set beside the ideal servers'
//! on the same trace, and lateness against exact processor sharing.

use serde::{Deserialize, Serialize};

use crate::connection::{Outcome, Record};
use crate::ideal::{self, Job};
use crate::options::TraceOptions;
use crate::trace::{Request, wire_bytes};

/// A response this much after its finish under processor sharing is late. It is
/// some grants, a round trip and the emulated link's jitter.
pub(crate) const LATE: f64 = 0.050;

/// The classes of size, by what they are below.
pub(crate) const CLASSES: [(&str, u64); 5] =
    [("<1K", 1_000), ("<10K", 10_000), ("<100K", 100_000), ("<1M", 1_000_000), ("rest", u64::MAX)];

/// Response times of a set of requests, in milliseconds.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Summary {
    pub(crate) count: usize,
    pub(crate) mean: f64,
    pub(crate) median: f64,
    pub p95: f64,
    pub p99: f64,
    /// Mean over the largest 1 % of the responses.
    pub(crate) largest: f64,
    /// Means in the order of [`CLASSES`]; absent where there is no response.
    pub(crate) by_class: Vec<Option<f64>>,
}

/// Finish times of the ideal servers, by request.
pub(crate) struct Ideal {
    pub(crate) jobs: Vec<Job>,
    pub(crate) speed: f64,
    pub(crate) srpt: Vec<f64>,
    pub(crate) sharing: Vec<f64>,
}

impl Ideal {
    /// Serve the trace ideally at `pace` times the rate.
    pub(crate) fn of(requests: &[Request], options: &TraceOptions) -> Ideal {
        let jobs: Vec<Job> = requests
            .iter()
            .map(|request| Job {
                arrival: request.at,
                work: wire_bytes(options.head, request.size) as f64,
            })
            .collect();
        let speed = options.pace * options.rate as f64 / 8.0;
        let srpt = ideal::srpt(&jobs, speed);
        let sharing = ideal::processor_sharing(&jobs, speed);
        Ideal { jobs, speed, srpt, sharing }
    }
}

/// Summary of the requests that `chosen` picks, given all finish times. A finish
/// that is not a number is left out.
pub(crate) fn summary(
    requests: &[Request],
    finish: &[f64],
    chosen: impl Fn(&Request) -> bool,
) -> Summary {
    let mut responses: Vec<(u64, f64)> = requests
        .iter()
        .zip(finish)
        .filter(|(request, finish)| chosen(request) && !finish.is_nan())
        .map(|(request, finish)| (request.size, (finish - request.at) * 1e3))
        .collect();
    let mut times: Vec<f64> = responses.iter().map(|&(_, time)| time).collect();
    times.sort_by(f64::total_cmp);
    // Stable: among equal sizes the earlier stay first.
    responses.sort_by_key(|&(size, _)| std::cmp::Reverse(size));
    let largest = &responses[..responses.len().div_ceil(100)];
    let class_of = |size: u64| CLASSES.iter().position(|&(_, below)| size < below);
    let by_class = (0..CLASSES.len())
        .map(|class| {
            let within = |&&(size, _): &&(u64, f64)| class_of(size) == Some(class);
            let (count, sum) = count_and_sum(responses.iter().filter(within));
            (count > 0).then(|| sum / count as f64)
        })
        .collect();
    let mean = |(count, sum): (usize, f64)| sum / count as f64;
    Summary {
        count: times.len(),
        mean: mean(count_and_sum(responses.iter())),
        median: percentile(&times, 0.5),
        p95: percentile(&times, 0.95),
        p99: percentile(&times, 0.99),
        largest: mean(count_and_sum(largest.iter())),
        by_class,
    }
}

fn count_and_sum<'a>(responses: impl Iterator<Item = &'a (u64, f64)>) -> (usize, f64) {
    responses.fold((0, 0.0), |(count, sum), &(_, time)| (count + 1, sum + time))
}

/// The smallest value that a share `p` of the sorted values does not exceed.
pub(crate) fn percentile(sorted: &[f64], p: f64) -> f64 {
    let rank = (p * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.max(1) - 1).copied().unwrap_or(f64::NAN)
}

/// The finish of each complete response; not a number for the others.
pub(crate) fn finishes(records: &[Record]) -> Vec<f64> {
    let finish = |record: &Record| match record.outcome {
        Outcome::Ok => record.finish,
        _ => f64::NAN,
    };
    records.iter().map(finish).collect()
}

/// Lateness against exact processor sharing.
pub(crate) struct Lateness {
    /// Requests late by more than [`LATE`], and those that never finished.
    pub(crate) late: Vec<usize>,
    /// The worst, in milliseconds, of those that finished.
    pub(crate) worst: f64,
}

/// Which of the chosen requests finish later than under processor sharing.
pub(crate) fn lateness(
    requests: &[Request],
    finish: &[f64],
    sharing: &[f64],
    chosen: impl Fn(&Request) -> bool,
) -> Lateness {
    let mut late = Vec::new();
    let mut worst = f64::NEG_INFINITY;
    for (index, request) in requests.iter().enumerate() {
        if !chosen(request) {
            continue;
        }
        let behind = finish[index] - sharing[index];
        if behind.is_nan() || behind > LATE {
            late.push(index);
        }
        worst = f64::max(worst, behind * 1e3);
    }
    Lateness { late, worst }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(at: f64, size: u64) -> Request {
        let slow = false;
        Request { at, size, slow }
    }

    #[test]
    fn percentiles_are_values_that_occurred() {
        let sorted: Vec<f64> = (1..=100).map(f64::from).collect();
        assert_eq!(percentile(&sorted, 0.5), 50.0);
        assert_eq!(percentile(&sorted, 0.99), 99.0);
        assert_eq!(percentile(&sorted[..1], 0.99), 1.0);
    }

    #[test]
    fn a_summary_leaves_out_what_did_not_finish() {
        let requests = [request(0.0, 500), request(1.0, 5000), request(2.0, 500)];
        let summary = summary(&requests, &[0.5, 2.0, f64::NAN], |_| true);
        assert_eq!((summary.count, summary.mean), (2, 750.0));
        assert_eq!(summary.largest, 1000.0);
        assert_eq!(summary.by_class, [Some(500.0), Some(1000.0), None, None, None]);
    }

    #[test]
    fn late_is_more_than_the_allowance_or_never() {
        let requests = [request(0.0, 1); 3];
        let found = lateness(&requests, &[1.04, 1.06, f64::NAN], &[1.0; 3], |_| true);
        assert_eq!(found.late, [1, 2]);
        assert!((found.worst - 60.0).abs() < 1e-6);
    }
}

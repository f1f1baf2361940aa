//! Shares and means of what became of the clients, under the names that scripts read in
//! `weir-lab sim dtoc --json`; the experiments read them, too.

use serde::Serialize;

use super::model::Model;
use super::tally::Tally;
use crate::impatient::{Figures, Watched, percent};

/// Of all repetitions together. A figure that has no value (a mean over nobody) is left out.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Results {
    /// Useful throughput: clients answered in time, by when they came, per second, in % of the
    /// requests that the server can answer in a second. Above 100 if small ones are preferred.
    pub useful_percent: f64,
    /// Half the width of the 95 % interval of `useful_percent` over the repetitions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub useful_percent_ci95: Option<f64>,
    /// Service seconds of the clients answered in time, in % of the time.
    pub useful_work_percent: f64,
    /// Half the width of its 95 % interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub useful_work_percent_ci95: Option<f64>,
    /// Of the clients of each class of Figure 21 (below 1000, 10 000, 100 000 bytes, above), the
    /// share from 0 to 1 that was answered in time; 0 of a class without clients.
    pub success_by_class: [f64; 4],
    /// Clients of each class, in % of all clients answered in time (Figure 7).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub successful_class_percent: Option<[f64; 4]>,
    /// Clients answered in time, after retries or without, in % of all clients.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub success_percent: Option<f64>,
    /// Clients that were refused because the queue was full, at their first request or at
    /// a retry, in % of all clients.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dropped_percent: Option<f64>,
    /// Clients whose last request timed out, in % of all clients. With `success_percent` and
    /// `dropped_percent` this makes 100.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timed_out_percent: Option<f64>,
    /// Requests whose clients left during service, in % of the requests (first ones and retries)
    /// that went into service while their clients waited (Figure 8).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_service_timeout_percent: Option<f64>,
    /// Requests whose clients left, waiting or in service, in % of the requests (first ones and
    /// retries) that the queue took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accepted_timed_out_percent: Option<f64>,
    /// Requests sent per client, retries included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests_per_client: Option<f64>,
    /// Mean size of what the clients answered in time asked for, in bytes (Figure 6).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean_successful_size_bytes: Option<f64>,
    /// Mean time from the first request of a client answered in time to its answer, in seconds;
    /// over retries too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean_response_seconds: Option<f64>,
    /// Time in which the server was busy, checks and work in vain included, in % of the time.
    pub utilisation_percent: f64,
    /// Time in which the check was on, in % of the time.
    pub check_on_percent: f64,
    /// Most requests that were in the queue, at any time of any repetition.
    pub longest_queue: usize,
    /// Clients that count.
    pub clients: u64,
    /// Arrivals and departures of the whole runs, warm-up included.
    pub events: u64,
    /// Answers in time per second in each interval, by when they were given, in % of what the
    /// server can answer; the last interval may be shorter. Only if asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub intervals: Option<Vec<f64>>,
}

impl Results {
    /// Of repetitions of one model; `None` of none.
    pub fn new(model: &Model, tallies: &[Tally]) -> Option<Results> {
        let mut all = Tally::default();
        tallies.iter().for_each(|tally| all.add(tally));
        let watched = Watched {
            capacity: model.service_rate,
            workers: 1.0,
            duration: model.duration,
            interval: model.interval,
        };
        let counts = &all.counts;
        let figures = Figures::new(watched, tallies.iter().map(|tally| &tally.counts), counts)?;
        let (clients, successful) = (counts.all_clients(), counts.all_successful());
        let of_successful = |count: u64| 100.0 * (count as f64 / successful as f64);
        Some(Results {
            useful_percent: figures.useful_percent.mean,
            useful_percent_ci95: figures.useful_percent.ci95,
            useful_work_percent: figures.useful_work_percent.mean,
            useful_work_percent_ci95: figures.useful_work_percent.ci95,
            success_by_class: figures.success_by_class,
            successful_class_percent: (successful > 0)
                .then(|| counts.successful.map(of_successful)),
            success_percent: figures.success_percent,
            dropped_percent: percent(all.refused + all.refused_again, clients),
            timed_out_percent: figures.timed_out_percent,
            in_service_timeout_percent: percent(all.timed_out_in_service, all.begun),
            accepted_timed_out_percent: percent(counts.tries_timed_out, all.accepted),
            requests_per_client: figures.requests_per_client,
            mean_successful_size_bytes: figures.mean_successful_size_bytes,
            mean_response_seconds: figures.mean_response_seconds,
            utilisation_percent: figures.utilisation_percent,
            check_on_percent: 100.0 * all.check_seconds / counts.seconds,
            longest_queue: all.longest_queue,
            clients,
            events: counts.events,
            intervals: figures.intervals,
        })
    }
}

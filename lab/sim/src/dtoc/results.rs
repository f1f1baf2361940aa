//! Shares and means of what became of the clients, under the names that scripts read. It does not
//! run anything.

use serde::Serialize;

use super::model::Model;
use super::tally::Tally;
use crate::replications::estimate;
use crate::shares::{mean, of_intervals, percent};

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
        let rate = |tally: &Tally| {
            let count = tally.successful.iter().sum::<u64>() as f64;
            100.0 * count / (tally.seconds * model.service_rate)
        };
        let useful = estimate(&tallies.iter().map(rate).collect::<Vec<_>>())?;
        let work = |tally: &Tally| 100.0 * tally.useful_seconds / tally.seconds;
        let useful_work = estimate(&tallies.iter().map(work).collect::<Vec<_>>())?;
        let clients: u64 = all.clients.iter().sum();
        let successful: u64 = all.successful.iter().sum();
        let share = |part: u64, whole: u64| mean(part as f64, whole).unwrap_or_default();
        let success = |class: usize| share(all.successful[class], all.clients[class]);
        let intervals = model.interval.map(|length| {
            let capacity = model.service_rate * tallies.len() as f64;
            of_intervals(&all.intervals, length, model.duration, capacity)
        });
        Some(Results {
            useful_percent: useful.mean,
            useful_percent_ci95: useful.ci95,
            useful_work_percent: useful_work.mean,
            useful_work_percent_ci95: useful_work.ci95,
            success_by_class: [0, 1, 2, 3].map(success),
            successful_class_percent: (successful > 0)
                .then(|| all.successful.map(|count| 100.0 * share(count, successful))),
            success_percent: percent(successful, clients),
            dropped_percent: percent(all.refused + all.refused_again, clients),
            timed_out_percent: percent(all.timed_out, clients),
            in_service_timeout_percent: percent(all.timed_out_in_service, all.begun),
            accepted_timed_out_percent: percent(all.tries_timed_out, all.accepted),
            requests_per_client: mean(all.tries as f64, clients),
            mean_successful_size_bytes: mean(all.useful_bytes, successful),
            mean_response_seconds: mean(all.response_seconds, successful),
            utilisation_percent: 100.0 * all.busy_seconds / all.seconds,
            check_on_percent: 100.0 * all.check_seconds / all.seconds,
            longest_queue: all.longest_queue,
            clients,
            events: all.events,
            intervals,
        })
    }
}

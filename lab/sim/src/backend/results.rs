//! Shares and means of what became of the clients, under the names that scripts read in
//! `weir-lab sim backend --json`. Those of [`crate::dtoc::Results`] mean the same here.

use serde::Serialize;

use super::model::Model;
use super::recovery::Recovery;
use super::tally::Tally;
use crate::impatient::{Figures, Watched, mean, percent};
use crate::replications::estimate;

/// Of all repetitions together. A figure that has no value (a mean over nobody) is left out.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Results {
    /// Useful throughput: clients answered in time, by when they came, per second, in % of the
    /// requests that the application can answer in a second. Above 100 if small ones are preferred.
    pub useful_percent: f64,
    /// Half the width of the 95 % interval of `useful_percent` over the repetitions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub useful_percent_ci95: Option<f64>,
    /// Service seconds of the clients answered in time, in % of the time of all workers.
    pub useful_work_percent: f64,
    /// Half the width of its 95 % interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub useful_work_percent_ci95: Option<f64>,
    /// Of the clients of each class of Figure 21 (below 1000, 10 000, 100 000 bytes, above), the
    /// share from 0 to 1 that was answered in time; 0 of a class without clients.
    pub success_by_class: [f64; 4],
    /// Half the widths of their 95 % intervals over the repetitions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub success_by_class_ci95: Option<[f64; 4]>,
    /// Clients answered in time, after retries or without, in % of all clients.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub success_percent: Option<f64>,
    /// Clients whose last request was refused with 503, in % of all clients.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused_percent: Option<f64>,
    /// Clients that left after their last request, in % of all clients. With `success_percent` and
    /// `refused_percent` this makes 100.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timed_out_percent: Option<f64>,
    /// Requests whose clients left while the application had them or they were on their way to it,
    /// in % of the requests that the gate started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_service_timeout_percent: Option<f64>,
    /// Requests sent per client, retries included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests_per_client: Option<f64>,
    /// Mean size of what the clients answered in time asked for, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean_successful_size_bytes: Option<f64>,
    /// Mean time from the first request of a client answered in time to its answer, in seconds;
    /// over retries too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean_response_seconds: Option<f64>,
    /// Half the width of its 95 % interval; missing too if a repetition answered nobody.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean_response_seconds_ci95: Option<f64>,
    /// Mean time from the request that was answered, which may be a retry, to its answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean_answer_seconds: Option<f64>,
    /// The time from the request that was answered to its answer which 99 % of the answers did not
    /// exceed, within 0.4 %.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p99_answer_seconds: Option<f64>,
    /// Service seconds of the requests whose clients left when they had been started, in % of the
    /// time of all workers.
    pub wasted_work_percent: f64,
    /// Time in which workers were busy, work in vain included, in % of the time of all workers.
    pub utilisation_percent: f64,
    /// The gate's limit, on average over the window.
    pub limit_mean: f64,
    /// The least and the greatest limit with which a repetition ended.
    pub limit_at_end: [u32; 2],
    /// The patience that the gate had learned at the end of a repetition, on average over those
    /// where it had.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub learned_patience_seconds: Option<f64>,
    /// Most clients that waited, at any time of any repetition.
    pub most_waiting: usize,
    /// Clients that count.
    pub clients: u64,
    /// Arrivals, departures and answers of the whole runs, warm-up included.
    pub events: u64,
    /// Clients that never had an outcome, and calls that gate and clients did not agree on: 0
    /// unless the gate has a fault.
    pub faults: u64,
    /// Answers in time per second in each interval, by when they were given, in % of what the
    /// application can answer; the last interval may be shorter. Only if asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub intervals: Option<Vec<f64>>,
    /// What became of those who came after a drop of the load, if there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recovery: Option<Recovery>,
}

impl Results {
    /// Of repetitions of one model, and the usual mean response time after the drop of the load, in
    /// seconds, if it drops; `None` of no repetition.
    pub fn new(model: &Model, tallies: &[Tally], usual: Option<f64>) -> Option<Results> {
        let mut all = Tally::default();
        tallies.iter().for_each(|tally| all.add(tally));
        let over = |value: &dyn Fn(&Tally) -> f64| {
            estimate(&tallies.iter().map(value).collect::<Vec<_>>())
        };
        let workers = f64::from(model.workers);
        let watched = Watched {
            capacity: model.capacity(),
            workers,
            duration: model.duration,
            interval: model.interval,
        };
        let counts = &all.counts;
        let figures = Figures::new(watched, tallies.iter().map(|tally| &tally.counts), counts)?;
        let response =
            over(&|tally| tally.counts.response_seconds / tally.counts.all_successful() as f64)?;
        let by_class =
            [0, 1, 2, 3].map(|class| over(&|tally| tally.counts.success_of(class))?.ci95);
        let (clients, successful) = (counts.all_clients(), counts.all_successful());
        let recovery = model.drop.zip(usual).and_then(|(drop, usual)| {
            let at = model.duration + model.whole_patience();
            Recovery::new(drop.load, at, usual, &all.newcomers)
        });
        Some(Results {
            useful_percent: figures.useful_percent.mean,
            useful_percent_ci95: figures.useful_percent.ci95,
            useful_work_percent: figures.useful_work_percent.mean,
            useful_work_percent_ci95: figures.useful_work_percent.ci95,
            success_by_class: figures.success_by_class,
            success_by_class_ci95: match by_class {
                [Some(a), Some(b), Some(c), Some(d)] => Some([a, b, c, d]),
                _ => None,
            },
            success_percent: figures.success_percent,
            refused_percent: percent(all.refused, clients),
            timed_out_percent: figures.timed_out_percent,
            in_service_timeout_percent: percent(all.left_under_way, all.started),
            requests_per_client: figures.requests_per_client,
            mean_successful_size_bytes: figures.mean_successful_size_bytes,
            mean_response_seconds: figures.mean_response_seconds,
            mean_response_seconds_ci95: response.ci95.filter(|half| half.is_finite()),
            mean_answer_seconds: mean(all.answer_seconds, successful),
            p99_answer_seconds: all.answers.percentile(0.99),
            wasted_work_percent: 100.0 * all.wasted_seconds / (counts.seconds * workers),
            utilisation_percent: figures.utilisation_percent,
            limit_mean: all.limit_seconds / counts.seconds,
            limit_at_end: [all.limits.iter().min(), all.limits.iter().max()]
                .map(|limit| limit.copied().unwrap_or_default()),
            learned_patience_seconds: mean(all.patiences.iter().sum(), all.patiences.len() as u64),
            most_waiting: all.most_waiting,
            clients,
            events: counts.events,
            faults: all.unfinished + all.faults,
            intervals: figures.intervals,
            recovery,
        })
    }
}

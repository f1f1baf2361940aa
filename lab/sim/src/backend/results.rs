//! Shares and means of what became of the clients, under the names that scripts read. Those of
//! [`crate::dtoc::Results`] mean the same here. It does not run anything.

use serde::Serialize;

use super::model::Model;
use super::recovery::Recovery;
use super::tally::Tally;
use crate::replications::estimate;
use crate::shares::{mean, of_intervals, percent};

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
        let useful = over(&|tally| {
            100.0 * total(&tally.successful) as f64 / (tally.seconds * model.capacity())
        })?;
        let workers = f64::from(model.workers);
        let useful_work = over(&|tally| 100.0 * tally.useful_seconds / (tally.seconds * workers))?;
        let response =
            over(&|tally| tally.response_seconds / total(&tally.successful) as f64)?.ci95;
        let share = |tally: &Tally, class: usize| {
            mean(tally.successful[class] as f64, tally.clients[class]).unwrap_or_default()
        };
        let by_class = [0, 1, 2, 3].map(|class| over(&|tally| share(tally, class))?.ci95);
        let (clients, successful) = (total(&all.clients), total(&all.successful));
        let of_time = |seconds: f64| 100.0 * seconds / (all.seconds * workers);
        let recovery = model.drop.zip(usual).and_then(|(drop, usual)| {
            let at = model.duration + model.whole_patience();
            Recovery::new(drop.load, at, usual, &all.newcomers)
        });
        Some(Results {
            useful_percent: useful.mean,
            useful_percent_ci95: useful.ci95,
            useful_work_percent: useful_work.mean,
            useful_work_percent_ci95: useful_work.ci95,
            success_by_class: [0, 1, 2, 3].map(|class| share(&all, class)),
            success_by_class_ci95: match by_class {
                [Some(a), Some(b), Some(c), Some(d)] => Some([a, b, c, d]),
                _ => None,
            },
            success_percent: percent(successful, clients),
            refused_percent: percent(all.refused, clients),
            timed_out_percent: percent(all.timed_out, clients),
            in_service_timeout_percent: percent(all.left_under_way, all.started),
            requests_per_client: mean(all.tries as f64, clients),
            mean_successful_size_bytes: mean(all.useful_bytes, successful),
            mean_response_seconds: mean(all.response_seconds, successful),
            mean_response_seconds_ci95: response.filter(|half| half.is_finite()),
            mean_answer_seconds: mean(all.answer_seconds, successful),
            p99_answer_seconds: all.answers.percentile(0.99),
            wasted_work_percent: of_time(all.wasted_seconds),
            utilisation_percent: of_time(all.busy_seconds),
            limit_mean: all.limit_seconds / all.seconds,
            limit_at_end: [all.limits.iter().min(), all.limits.iter().max()]
                .map(|limit| limit.copied().unwrap_or_default()),
            learned_patience_seconds: mean(all.patiences.iter().sum(), all.patiences.len() as u64),
            most_waiting: all.most_waiting,
            clients,
            events: all.events,
            faults: all.unfinished + all.faults,
            intervals: model.interval.map(|length| {
                let capacity = model.capacity() * tallies.len() as f64;
                of_intervals(&all.intervals, length, model.duration, capacity)
            }),
            recovery,
        })
    }
}

fn total(classes: &[u64; 4]) -> u64 {
    classes.iter().sum()
}

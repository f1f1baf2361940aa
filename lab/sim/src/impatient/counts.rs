//! What became of the clients of one run, or of several, as far as both models count it; and the
//! figures that both make of it. A model's own tally holds these counts beside its own.

use super::shares::{add, mean, of_intervals, percent};
use crate::replications::{Estimate, estimate};

/// Counts over the window; a client or a request counts if the client came in the window.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counts {
    /// Length of the window, in seconds.
    pub seconds: f64,
    /// Clients by class of size: below 1000 bytes, below 10 000, below 100 000, above.
    pub clients: [u64; 4],
    /// Those that had their answer in time, by class.
    pub successful: [u64; 4],
    /// Clients that left after their last request.
    pub timed_out: u64,
    /// Requests sent: first ones and retries.
    pub tries: u64,
    /// Requests whose clients left before the answer.
    pub tries_timed_out: u64,
    /// Service of the successful, in seconds.
    pub useful_seconds: f64,
    /// Bytes that the successful asked for.
    pub useful_bytes: f64,
    /// Times from the first request of the successful to their answer, in seconds, added up.
    pub response_seconds: f64,
    /// Seconds of the window in which workers were busy, over all workers.
    pub busy_seconds: f64,
    /// Arrivals (retries and refused ones too) and departures (answered, dropped, aborted and
    /// purged ones), in the whole run.
    pub events: u64,
    /// Answers in time in each interval of the window, by when they were given, whenever their
    /// clients came; empty if not asked for.
    pub intervals: Vec<u64>,
}

/// The class of a size in bytes, from 0 to 3, as in Carter & Cherkasova 1999, Figure 21.
pub(crate) fn class(size: f64) -> usize {
    [1e3, 1e4, 1e5].iter().filter(|limit| size >= **limit).count()
}

impl Counts {
    /// Nothing yet. `interval`: seconds of each interval of the series, if one is wanted.
    pub(crate) fn new(duration: f64, interval: Option<f64>) -> Counts {
        // What rounding leaves over is no interval.
        let intervals =
            interval.map_or(0, |length| (duration / length - 1e-6).ceil().max(1.0) as usize);
        Counts { seconds: duration, intervals: vec![0; intervals], ..Counts::default() }
    }

    /// Counts a client that was answered in time: what it asked for in bytes, the service of that
    /// and its response time over all its requests, in seconds.
    pub(crate) fn answered(&mut self, size: f64, service: f64, response: f64) {
        self.successful[class(size)] += 1;
        self.useful_seconds += service;
        self.useful_bytes += size;
        self.response_seconds += response;
    }

    /// Counts an answer in its interval of `length` seconds, `at` seconds into the window.
    pub(crate) fn answer_at(&mut self, at: f64, length: f64) {
        if let Some(count) = self.intervals.get_mut((at / length) as usize) {
            *count += 1;
        }
    }

    /// Adds another run of the same model.
    pub(crate) fn add(&mut self, other: &Counts) {
        self.seconds += other.seconds;
        for class in 0..4 {
            self.clients[class] += other.clients[class];
            self.successful[class] += other.successful[class];
        }
        self.timed_out += other.timed_out;
        self.tries += other.tries;
        self.tries_timed_out += other.tries_timed_out;
        self.useful_seconds += other.useful_seconds;
        self.useful_bytes += other.useful_bytes;
        self.response_seconds += other.response_seconds;
        self.busy_seconds += other.busy_seconds;
        self.events += other.events;
        add(&mut self.intervals, &other.intervals);
    }

    /// Clients of the window.
    pub(crate) fn all_clients(&self) -> u64 {
        self.clients.iter().sum()
    }

    /// Those that had their answer in time.
    pub(crate) fn all_successful(&self) -> u64 {
        self.successful.iter().sum()
    }

    /// The share from 0 to 1 of a class that was answered in time; 0 of a class without clients.
    pub(crate) fn success_of(&self, class: usize) -> f64 {
        mean(self.successful[class] as f64, self.clients[class]).unwrap_or_default()
    }
}

/// What was watched, as far as the figures need to know.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Watched {
    /// Requests that all workers can answer in a second.
    pub(crate) capacity: f64,
    /// How many there are.
    pub(crate) workers: f64,
    /// Length of the window, in seconds.
    pub(crate) duration: f64,
    /// Seconds of each interval of the series, if one is wanted.
    pub(crate) interval: Option<f64>,
}

/// Figures of all repetitions together, under the names that they have in the models' results.
#[derive(Clone, Debug)]
pub(crate) struct Figures {
    pub(crate) useful_percent: Estimate,
    pub(crate) useful_work_percent: Estimate,
    pub(crate) success_by_class: [f64; 4],
    pub(crate) success_percent: Option<f64>,
    pub(crate) timed_out_percent: Option<f64>,
    pub(crate) requests_per_client: Option<f64>,
    pub(crate) mean_successful_size_bytes: Option<f64>,
    pub(crate) mean_response_seconds: Option<f64>,
    pub(crate) utilisation_percent: f64,
    pub(crate) intervals: Option<Vec<f64>>,
}

impl Figures {
    /// Of repetitions; `None` of none. `all` is their sum.
    pub(crate) fn new<'a>(
        watched: Watched,
        each: impl Iterator<Item = &'a Counts> + Clone,
        all: &Counts,
    ) -> Option<Figures> {
        let Watched { capacity, workers, duration, interval } = watched;
        let useful = |one: &Counts| 100.0 * one.all_successful() as f64 / (one.seconds * capacity);
        let work = |one: &Counts| 100.0 * one.useful_seconds / (one.seconds * workers);
        let (clients, successful) = (all.all_clients(), all.all_successful());
        let runs = each.clone().count() as f64;
        Some(Figures {
            useful_percent: estimate(&each.clone().map(useful).collect::<Vec<_>>())?,
            useful_work_percent: estimate(&each.map(work).collect::<Vec<_>>())?,
            success_by_class: [0, 1, 2, 3].map(|class| all.success_of(class)),
            success_percent: percent(successful, clients),
            timed_out_percent: percent(all.timed_out, clients),
            requests_per_client: mean(all.tries as f64, clients),
            mean_successful_size_bytes: mean(all.useful_bytes, successful),
            mean_response_seconds: mean(all.response_seconds, successful),
            utilisation_percent: 100.0 * all.busy_seconds / (all.seconds * workers),
            intervals: interval
                .map(|length| of_intervals(&all.intervals, length, duration, capacity * runs)),
        })
    }
}

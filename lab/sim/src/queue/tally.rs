//! The figures of a run of one server: response times and slowdowns, their intervals, and which
//! jobs were late. `weir-lab sim queue` and `transient` add each departure to it.

use weir_stats::confidence::{Interval, mean_interval};

use super::{Departure, Spread};

/// Batches of equal number whose means give the interval of one run (Law, "Simulation Modeling and
/// Analysis", section 9.5.3: 20 to 30).
const BATCHES: usize = 25;
/// Fewer jobs to a batch say nothing about how far batches differ.
const LEAST_BATCH: u64 = 40;

/// Late is later than under processor sharing by more than this share of the mean size, and of the
/// time itself: what rounding can do.
const ROUNDING: (f64, f64) = (1e-6, 1e-12);

#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    count: u64,
    response: f64,
    slowdown: f64,
}

impl Sums {
    fn add(&mut self, response: f64, slowdown: f64) {
        self.count += 1;
        self.response += response;
        self.slowdown += slowdown;
    }

    fn merge(&mut self, other: &Sums) {
        self.count += other.count;
        self.response += other.response;
        self.slowdown += other.slowdown;
    }

    fn mean(&self, sum: impl Fn(&Sums) -> f64) -> Option<f64> {
        (self.count > 0).then(|| sum(self) / self.count as f64)
    }
}

/// Means over the jobs of a class of sizes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Class {
    /// Jobs are at least so large; 0 for the first.
    pub from: f64,
    /// How many.
    pub jobs: u64,
    /// Mean time from arrival to departure.
    pub mean_response: f64,
    /// Mean of response time ÷ size.
    pub mean_slowdown: f64,
}

/// What is counted of jobs that left. Everything but percentiles is exact.
#[derive(Clone, Debug)]
pub struct Tally {
    /// Jobs that arrive before this one are not counted.
    warmup: u64,
    batch: f64,
    tolerance: f64,
    all: Sums,
    batches: Vec<Sums>,
    responses: Spread,
    slowdowns: Spread,
    compared: u64,
    late: u64,
    worst: f64,
    bounds: Vec<f64>,
    classes: Vec<Sums>,
}

impl Tally {
    /// For `jobs` jobs after the first `warmup`, of sizes with a mean of `mean`. `bounds` divides
    /// sizes into classes: ascending, and with none there are none.
    pub fn new(warmup: u64, jobs: u64, mean: f64, bounds: Vec<f64>) -> Tally {
        let count = if jobs < LEAST_BATCH * BATCHES as u64 { 0 } else { BATCHES };
        let classes = if bounds.is_empty() { 0 } else { bounds.len() + 1 };
        Tally {
            warmup,
            batch: count as f64 / jobs as f64,
            tolerance: ROUNDING.0 * mean,
            all: Sums::default(),
            batches: vec![Sums::default(); count],
            responses: Spread::default(),
            slowdowns: Spread::default(),
            compared: 0,
            late: 0,
            worst: 0.0,
            bounds,
            classes: vec![Sums::default(); classes],
        }
    }

    /// Counts a job.
    pub fn add(&mut self, departure: &Departure) {
        let Some(index) = departure.index.checked_sub(self.warmup) else { return };
        let (response, size) = (departure.response(), departure.job.size);
        let slowdown = response / size;
        self.all.add(response, slowdown);
        self.responses.add(response);
        self.slowdowns.add(slowdown);
        if let Some(last) = self.batches.len().checked_sub(1) {
            let batch = (index as f64 * self.batch) as usize;
            self.batches[batch.min(last)].add(response, slowdown);
        }
        if let Some(sharing) = departure.sharing {
            let behind = departure.finish - sharing;
            self.compared += 1;
            if behind > self.tolerance + ROUNDING.1 * sharing.abs() {
                self.late += 1;
                self.worst = self.worst.max(behind);
            }
        }
        if !self.classes.is_empty() {
            let class = self.bounds.partition_point(|bound| *bound <= size);
            self.classes[class].add(response, slowdown);
        }
    }

    /// Counts what another run of the same kind counted.
    pub fn merge(&mut self, other: &Tally) {
        self.all.merge(&other.all);
        self.responses.merge(&other.responses);
        self.slowdowns.merge(&other.slowdowns);
        self.compared += other.compared;
        self.late += other.late;
        self.worst = self.worst.max(other.worst);
        let pairs = self.classes.iter_mut().zip(&other.classes);
        pairs.for_each(|(mine, its)| mine.merge(its));
        let pairs = self.batches.iter_mut().zip(&other.batches);
        pairs.for_each(|(mine, its)| mine.merge(its));
    }

    /// Jobs counted.
    pub fn jobs(&self) -> u64 {
        self.all.count
    }

    /// Mean time from arrival to departure; `None` without jobs.
    pub fn mean_response(&self) -> Option<f64> {
        self.all.mean(|sums| sums.response)
    }

    /// Mean of response time ÷ size; `None` without jobs.
    pub fn mean_slowdown(&self) -> Option<f64> {
        self.all.mean(|sums| sums.slowdown)
    }

    /// Interval of the mean response time of one run by batch means; `None` with too few jobs.
    pub fn response_interval(&self) -> Option<Interval> {
        self.interval(|sums| sums.response)
    }

    /// The same of the mean slowdown.
    pub fn slowdown_interval(&self) -> Option<Interval> {
        self.interval(|sums| sums.slowdown)
    }

    fn interval(&self, sum: impl Fn(&Sums) -> f64) -> Option<Interval> {
        let means: Option<Vec<f64>> = self.batches.iter().map(|batch| batch.mean(&sum)).collect();
        mean_interval(&means?)
    }

    /// Response times.
    pub fn responses(&self) -> &Spread {
        &self.responses
    }

    /// Slowdowns.
    pub fn slowdowns(&self) -> &Spread {
        &self.slowdowns
    }

    /// The share (0 to 1) of the jobs that left later than under processor sharing, by more than
    /// rounding: a millionth of the mean size. `None` if that was not known.
    pub fn late(&self) -> Option<f64> {
        (self.compared > 0).then(|| self.late as f64 / self.compared as f64)
    }

    /// By how much the latest was later; 0 if nobody was, `None` if that was not known.
    pub fn worst_lateness(&self) -> Option<f64> {
        (self.compared > 0).then_some(self.worst)
    }

    /// Means by class of sizes, of classes with jobs.
    pub fn classes(&self) -> Vec<Class> {
        let from = std::iter::once(0.0).chain(self.bounds.iter().copied());
        let class = |(from, sums): (f64, &Sums)| {
            Some(Class {
                from,
                jobs: sums.count,
                mean_response: sums.mean(|sums| sums.response)?,
                mean_slowdown: sums.mean(|sums| sums.slowdown)?,
            })
        };
        from.zip(&self.classes).filter_map(class).collect()
    }
}

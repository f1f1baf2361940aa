//! The parameters of an application behind the gate and of its clients, checked before a run.
//! `weir-lab sim backend` and the experiments fill them in.

use std::sync::Arc;
use std::time::Duration;

use weir_sched::{BackendConfig, Time};
use weir_workload::Invalid;
use weir_workload::law::{Law, carter};
use weir_workload::shape::{Period, Shape};

use super::recovery::Newcomers;
use crate::impatient::{Limits, Sizes, check_range, mean_size};

/// Times are in nanoseconds here, so runs are shorter than those of Carter's server.
const LIMITS: Limits = Limits { seconds: 1e7, requests: 1e10, patience: "patience" };
/// Nobody comes again who is told to wait longer than this, in seconds.
pub(super) const LONGEST_RETRY_AFTER: f64 = 600.0;

/// An end of the overload.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LoadDrop {
    /// The load after it; 1 is what the application can answer.
    pub load: f64,
    /// Seconds for which those who come are watched.
    pub watched: f64,
}

/// An application behind the gate, its clients and how long they are watched.
#[derive(Clone, Debug)]
pub struct Model {
    /// What clients ask for. Classes go by bytes.
    pub law: Arc<dyn Law>,
    /// New clients over time, as multiples of the application's capacity.
    pub shape: Shape,
    /// Requests of the law that a worker can answer in a second.
    pub service_rate: f64,
    /// How many calls the application works on at a time.
    pub workers: u32,
    /// Seconds that a started call takes to reach the application.
    pub gap: f64,
    /// Seconds that a client waits for an answer; infinite if nobody ever leaves.
    pub patience: f64,
    /// How often a client asks again.
    pub retries: u32,
    /// Whether a refused client asks again, after the time that it was told.
    pub retry_refused: bool,
    /// Whether all clients have one address instead of one each.
    pub one_address: bool,
    /// Whether the gate can tell what is asked.
    pub known: bool,
    /// The gate. Its backend does not stop when a client leaves.
    pub gate: BackendConfig,
    /// Seconds from the start, with nobody there, that do not count.
    pub warm_up: f64,
    /// Seconds after that in which those come who count.
    pub duration: f64,
    /// Seconds of each interval of the series of answers, if one is wanted.
    pub interval: Option<f64>,
    /// A lower load when all who count have their outcomes. The shape is a constant load then.
    pub drop: Option<LoadDrop>,
}

impl Model {
    /// An exclusive application of 100 requests of Figure 21 a second, 0.2 ms away, behind a gate
    /// with its defaults; no retries, an address for each client; watched for 600 s after 60.
    pub fn new(shape: Shape, patience: f64) -> Model {
        Model {
            law: Arc::new(carter()),
            shape,
            service_rate: 100.0,
            workers: 1,
            gap: 0.0002,
            patience,
            retries: 0,
            retry_refused: false,
            one_address: false,
            known: true,
            gate: BackendConfig::default(),
            warm_up: 60.0,
            duration: 600.0,
            interval: None,
            drop: None,
        }
    }

    /// Requests of the law that all workers can answer in a second.
    pub fn capacity(&self) -> f64 {
        self.service_rate * f64::from(self.workers)
    }

    /// Seconds in which a client who is never answered sends its requests and waits.
    pub(super) fn whole_patience(&self) -> f64 {
        self.patience * (f64::from(self.retries) + 1.0)
    }

    /// Checks the parameters and makes ready to run.
    ///
    /// # Errors
    ///
    /// A parameter out of range: which, and what is expected.
    pub fn prepare(self) -> Result<Prepared, Invalid> {
        check_range("number of workers", self.workers.into(), 1.0, 10_000.0, "at a time")?;
        LIMITS.check_service_rate(self.service_rate)?;
        check_range("hand-over gap", self.gap, 0.0, 60.0, "seconds")?;
        if self.patience != f64::INFINITY {
            LIMITS.check_patience(self.patience, self.capacity())?;
        }
        LIMITS.check_retries(self.retries)?;
        LIMITS.check_window(self.warm_up, self.duration, self.interval)?;
        if self.retry_refused && self.retries == 0 {
            return Err(Invalid("to ask again after a refusal takes at least one retry".into()));
        }
        let mean = mean_size(self.law.as_ref())?;
        let end = self.warm_up + self.duration;
        let shape = self.shape_with_drop(end)?;
        let drops = self.drop.map(|_| end + self.whole_patience());
        let until = drops.zip(self.drop).map_or(end, |(at, drop)| at + drop.watched);
        let watched = until + self.patience_or_none();
        LIMITS.check_requests(watched, &self.shape, self.capacity(), self.retries)?;
        Ok(Prepared {
            nanos_per_byte: 1e9 / (mean * self.service_rate),
            shape,
            sizes: Sizes::new(self.law.clone()),
            window: (time(self.warm_up), time(end)),
            drops: drops.map_or(Time::NEVER, time),
            until: time(until),
            nobody_after: watched + f64::from(self.retries) * LONGEST_RETRY_AFTER,
            model: self,
        })
    }

    /// The patience of all requests of a client; 0 if nobody leaves, for then nobody needs to come
    /// any more.
    fn patience_or_none(&self) -> f64 {
        if self.patience.is_finite() { self.whole_patience() } else { 0.0 }
    }

    /// The shape that is run.
    fn shape_with_drop(&self, end: f64) -> Result<Shape, Invalid> {
        let Some(drop) = self.drop else { return Ok(self.shape.clone()) };
        let [Period { load, .. }] = *self.shape.periods() else {
            return Err(Invalid("a load that drops must be constant before that".into()));
        };
        if self.patience.is_infinite() {
            return Err(Invalid("a load that drops needs clients with a patience".into()));
        }
        check_range("load after the drop", 100.0 * drop.load, 1e-3, 1e6, "%")?;
        let second = 10.0 * Newcomers::STEP;
        check_range("time that newcomers are watched", drop.watched, second, 1e6, "seconds")?;
        let before = Period { seconds: end + self.whole_patience(), load };
        // The shape repeats; nobody is watched as long as this.
        let after = Period { seconds: 1e8, load: drop.load };
        Shape::new(format!("{} to {}", self.shape, drop.load), vec![before, after])
    }
}

/// The moment so many seconds after the start; never, if infinite.
pub(super) fn time(seconds: f64) -> Time {
    Time::from_nanos((seconds * 1e9).round() as u64)
}

/// So many seconds; the longest possible, if infinite.
pub(super) fn span(seconds: f64) -> Duration {
    Duration::from_nanos((seconds * 1e9).round() as u64)
}

/// A model whose parameters are valid.
#[derive(Debug)]
pub struct Prepared {
    pub(super) model: Model,
    pub(super) shape: Shape,
    pub(super) sizes: Sizes,
    pub(super) nanos_per_byte: f64,
    /// Those who come in it count.
    pub(super) window: (Time, Time),
    /// When the load drops.
    pub(super) drops: Time,
    /// When the run ends, once those who count have their outcomes.
    pub(super) until: Time,
    /// Nobody comes after this, in seconds from the start.
    pub(super) nobody_after: f64,
}

impl Prepared {
    /// The parameters.
    pub fn model(&self) -> &Model {
        &self.model
    }
}

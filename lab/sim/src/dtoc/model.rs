//! The parameters of a run, checked. It does not know what happens in one.

use std::sync::Arc;

use weir_workload::Invalid;
use weir_workload::law::{self, Law, carter};
use weir_workload::shape::Shape;

use super::offered::Sizes;
use super::server;
use super::strategy::Strategy;
use super::tally::Tally;

/// Longest timeout, warm-up and window, in seconds.
const LONGEST: f64 = 1e8;
/// Longest timeout, in mean service times: those who wait are kept in memory.
const MOST_SERVICES: f64 = 1e7;
/// Most requests of a run, first ones and retries, that are let pass as meant.
const MOST_REQUESTS: f64 = 1e11;
/// Most retries of a client.
const MOST_RETRIES: u32 = 1000;
/// Longest queue: those who wait are kept in memory.
const LONGEST_QUEUE: usize = 10_000_000;
/// Most intervals of a series.
const MOST_INTERVALS: f64 = 1e6;

/// A server, its clients and how long they are watched.
#[derive(Clone, Debug)]
pub struct Model {
    /// What clients ask for. Classes go by bytes.
    pub law: Arc<dyn Law>,
    /// New clients over time, as multiples of the server's capacity.
    pub shape: Shape,
    /// The server's capacity: requests of the law a second.
    pub service_rate: f64,
    /// Requests that can wait beside the one in service.
    pub queue: usize,
    /// Seconds that a client waits for an answer.
    pub timeout: f64,
    /// How often a client asks again.
    pub retries: u32,
    /// What the server does about clients that left.
    pub strategy: Strategy,
    /// What the check takes, as a share of the mean service time.
    pub check_cost: f64,
    /// The check is on while the utilisation of the last second was above this share.
    pub check_above: f64,
    /// Seconds from the start, with an empty server, that do not count.
    pub warm_up: f64,
    /// Seconds after that in which those come who count.
    pub duration: f64,
    /// Seconds of each interval of the series of answers, if one is wanted.
    pub interval: Option<f64>,
}

impl Model {
    /// The paper's server: sizes of Figure 21, 100 requests a second, a listen queue of 1024, no
    /// retries, a check of 0.5 % above 95 %. It is watched for 10 000 s after
    /// [`Model::usual_warm_up`].
    pub fn new(shape: Shape, timeout: f64, strategy: Strategy) -> Model {
        let mut model = Model {
            law: Arc::new(carter()),
            shape,
            service_rate: 100.0,
            queue: 1024,
            timeout,
            retries: 0,
            strategy,
            check_cost: 0.005,
            check_above: 0.95,
            warm_up: 0.0,
            duration: 10_000.0,
            interval: None,
        };
        model.warm_up = model.usual_warm_up();
        model
    }

    /// Seconds after which constant load shows its steady state: 100 times what a full queue takes
    /// to serve, and ten timeouts. The paper does not name its own. At loads a little above 100 %
    /// a regular server takes this long to fill its queue for good.
    pub fn usual_warm_up(&self) -> f64 {
        (100.0 * self.queue as f64 / self.service_rate + 10.0 * self.timeout).round()
    }

    /// Number of intervals of the series.
    pub(super) fn intervals(&self) -> usize {
        // What rounding leaves over is no interval.
        self.interval.map_or(0, |length| (self.duration / length - 1e-6).ceil().max(1.0) as usize)
    }

    /// Makes ready to run.
    ///
    /// # Errors
    ///
    /// A parameter out of range: which, and what is expected.
    pub fn prepare(self) -> Result<Prepared, Invalid> {
        within("service rate", self.service_rate, 1e-6, 1e9, "requests a second")?;
        let patience = LONGEST.min(MOST_SERVICES / self.service_rate);
        within("timeout", self.timeout, 1e-6, patience, "seconds")?;
        within("check cost", self.check_cost * 100.0, 0.0, 1e4, "% of a mean service")?;
        within("threshold of the check", self.check_above * 100.0, 0.0, 100.0, "% utilisation")?;
        within("warm-up", self.warm_up, 0.0, LONGEST, "seconds")?;
        within("duration", self.duration, 1e-3, LONGEST, "seconds")?;
        if let Some(interval) = self.interval {
            within("interval", interval, self.duration / MOST_INTERVALS, LONGEST, "seconds")?;
        }
        let mean = self.law.mean();
        within("mean of the law of sizes", mean, 1e-9, 1e15, "bytes")?;
        law::check_tail(self.law.as_ref())?;
        let (retries, queue) = (f64::from(self.retries), self.queue as f64);
        within("number of retries", retries, 0.0, f64::from(MOST_RETRIES), "a client")?;
        within("listen queue", queue, 0.0, LONGEST_QUEUE as f64, "requests")?;
        let end = self.warm_up + self.duration;
        let watched = end + (retries + 1.0) * self.timeout;
        let most = self.shape.periods().iter().map(|period| period.load).fold(0.0, f64::max);
        let requests = watched * most * self.service_rate * (retries + 1.0);
        if requests > MOST_REQUESTS {
            return Err(Invalid(format!(
                "these are up to {requests:.0} requests, retries included, in {watched} s; give \
                 a shorter duration or timeout, fewer retries or less load, for at most \
                 {MOST_REQUESTS:.0}"
            )));
        }
        Ok(Prepared {
            seconds_per_byte: 1.0 / (mean * self.service_rate),
            check: self.check_cost / self.service_rate,
            end,
            sizes: Sizes::new(self.law.clone()),
            model: self,
        })
    }
}

/// Says what is wrong with a value out of its range, and what is expected.
pub(crate) fn within(
    what: &str,
    value: f64,
    least: f64,
    most: f64,
    unit: &str,
) -> Result<(), Invalid> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    Err(Invalid(format!("the {what} is {value} {unit}; give {least} to {most}")))
}

/// A model whose parameters make sense.
#[derive(Debug)]
pub struct Prepared {
    pub(super) model: Model,
    pub(super) sizes: Sizes,
    pub(super) seconds_per_byte: f64,
    /// Seconds of a check.
    pub(super) check: f64,
    /// The end of the window, in seconds from the start.
    pub(super) end: f64,
}

impl Prepared {
    /// The parameters.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// What becomes of the clients; the same for the same seed.
    pub fn run(&self, seed: u64) -> Tally {
        server::run(self, seed)
    }
}

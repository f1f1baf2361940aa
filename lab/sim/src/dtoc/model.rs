//! The parameters of Carter's server, checked before a run. `weir-lab sim dtoc` and the experiments
//! fill them in.

use std::sync::Arc;

use weir_workload::Invalid;
use weir_workload::law::{Law, carter};
use weir_workload::shape::Shape;

use super::strategy::Strategy;
use crate::impatient::{Limits, Sizes, check_range, mean_size};

const LIMITS: Limits = Limits { seconds: 1e8, requests: 1e11, patience: "timeout" };
/// Longest queue: those who wait are kept in memory.
const LONGEST_QUEUE: usize = 10_000_000;

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

    /// Seconds in which a client who is never answered sends its requests and waits.
    pub(super) fn whole_patience(&self) -> f64 {
        (f64::from(self.retries) + 1.0) * self.timeout
    }

    /// Checks the parameters and makes ready to run.
    ///
    /// # Errors
    ///
    /// A parameter out of range: which, and what is expected.
    pub fn prepare(self) -> Result<Prepared, Invalid> {
        LIMITS.check_service_rate(self.service_rate)?;
        LIMITS.check_patience(self.timeout, self.service_rate)?;
        check_range("check cost", self.check_cost * 100.0, 0.0, 1e4, "% of a mean service")?;
        let above = self.check_above * 100.0;
        check_range("threshold of the check", above, 0.0, 100.0, "% utilisation")?;
        LIMITS.check_window(self.warm_up, self.duration, self.interval)?;
        let mean = mean_size(self.law.as_ref())?;
        LIMITS.check_retries(self.retries)?;
        let longest = LONGEST_QUEUE as f64;
        check_range("listen queue", self.queue as f64, 0.0, longest, "requests")?;
        let end = self.warm_up + self.duration;
        let watched = end + self.whole_patience();
        LIMITS.check_requests(watched, &self.shape, self.service_rate, self.retries)?;
        Ok(Prepared {
            seconds_per_byte: 1.0 / (mean * self.service_rate),
            check: self.check_cost / self.service_rate,
            end,
            sizes: Sizes::new(self.law.clone()),
            model: self,
        })
    }
}

/// A model whose parameters are valid.
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
}

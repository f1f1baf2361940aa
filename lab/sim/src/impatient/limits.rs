//! Which parameters of a model of impatient clients are valid: ranges that keep a run within memory,
//! time and the precision of its clock. Both models check theirs here before they run.

use weir_workload::Invalid;
use weir_workload::law::{self, Law};
use weir_workload::shape::Shape;

/// Longest patience, in mean service times: those who wait are kept in memory.
const MOST_SERVICES: f64 = 1e7;
/// Most retries of a client.
const MOST_RETRIES: u32 = 1000;
/// Most intervals of a series.
const MOST_INTERVALS: f64 = 1e6;

/// What differs between the models.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Longest patience, warm-up and window, in seconds.
    pub(crate) seconds: f64,
    /// Most requests of a run, first ones and retries, that are taken to be intended.
    pub(crate) requests: f64,
    /// What the model calls the time that clients wait.
    pub(crate) patience: &'static str,
}

impl Limits {
    /// Checks the service rate in requests a second, of one worker.
    pub(crate) fn check_service_rate(self, rate: f64) -> Result<(), Invalid> {
        check_range("service rate", rate, 1e-6, 1e9, "requests a second")
    }

    /// Checks the patience in seconds. `capacity`: requests a second of all workers.
    pub(crate) fn check_patience(self, patience: f64, capacity: f64) -> Result<(), Invalid> {
        let longest = self.seconds.min(MOST_SERVICES / capacity);
        check_range(self.patience, patience, 1e-6, longest, "seconds")
    }

    /// Checks how often a client asks again.
    pub(crate) fn check_retries(self, retries: u32) -> Result<(), Invalid> {
        let most = f64::from(MOST_RETRIES);
        check_range("number of retries", retries.into(), 0.0, most, "a client")
    }

    /// Checks warm-up, window and the intervals of the series, in seconds.
    pub(crate) fn check_window(
        self,
        warm_up: f64,
        duration: f64,
        interval: Option<f64>,
    ) -> Result<(), Invalid> {
        check_range("warm-up", warm_up, 0.0, self.seconds, "seconds")?;
        check_range("duration", duration, 1e-3, self.seconds, "seconds")?;
        match interval {
            Some(interval) => {
                let least = duration / MOST_INTERVALS;
                check_range("interval", interval, least, self.seconds, "seconds")
            }
            None => Ok(()),
        }
    }

    /// Checks how many requests a run may have that lasts for `seconds`.
    pub(crate) fn check_requests(
        self,
        seconds: f64,
        shape: &Shape,
        capacity: f64,
        retries: u32,
    ) -> Result<(), Invalid> {
        let load = shape.periods().iter().map(|period| period.load).fold(0.0, f64::max);
        let requests = seconds * load * capacity * (f64::from(retries) + 1.0);
        if requests <= self.requests {
            return Ok(());
        }
        Err(Invalid(format!(
            "these are up to {requests:.0} requests, retries included, in {seconds} s; give a \
             shorter duration or {}, fewer retries or less load, for at most {:.0}",
            self.patience, self.requests
        )))
    }
}

/// The mean size of a law in bytes, once the law is known to be one that can be simulated.
pub(crate) fn mean_size(law: &dyn Law) -> Result<f64, Invalid> {
    let mean = law.mean();
    check_range("mean of the law of sizes", mean, 1e-9, 1e15, "bytes")?;
    law::check_tail(law)?;
    Ok(mean)
}

/// Says what is wrong with a value out of its range, and what is expected.
pub(crate) fn check_range(
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

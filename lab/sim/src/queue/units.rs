//! Policies count whole bytes; the simulator's sizes are any numbers. Chooses how many of a
//! policy's units a unit of work is, fine enough that no decision is decided by rounding.

use weir_sched::PolicyKind;
use weir_workload::Invalid;
use weir_workload::law::{self, Law};

use super::job::Job;

/// Units that a mean size is worth: finer than the time of a long run is known.
const MEAN: f64 = (1_u64 << 40) as f64;
/// All work of a run stays below this many units: policies sum it up in 63 bits.
const TOTAL: f64 = (1_u64 << 60) as f64;
/// The largest size stays below this many units, which a float still counts one by one.
const LARGEST: f64 = (1_u64 << 53) as f64;
/// The least and the largest mean of a law.
const MEANS: std::ops::RangeInclusive<f64> = 1e-15..=1e15;

/// What sizes a run has, roughly.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sizes {
    /// The mean size.
    pub mean: f64,
    /// The largest size.
    pub largest: f64,
    /// All sizes together.
    pub total: f64,
}

impl Sizes {
    /// Of so many jobs of a law.
    ///
    /// # Errors
    ///
    /// A law without a mean, or with one that is no reasonable number or is not reached by the
    /// sizes that are drawn.
    pub fn of_law(law: &dyn Law, jobs: u64) -> Result<Sizes, Invalid> {
        let (mean, largest) = (law.mean(), law.quantile(1.0 - f64::EPSILON));
        if !MEANS.contains(&mean) || !largest.is_finite() {
            return Err(Invalid(format!(
                "{law}: the mean is {mean} and sizes reach {largest}; a queue needs a law of sizes \
                 that end and whose mean is {:e} to {:e}",
                MEANS.start(),
                MEANS.end()
            )));
        }
        law::check_tail(law)?;
        Ok(Sizes { mean, largest, total: jobs as f64 * mean })
    }

    /// Of these jobs; `None` without any.
    pub fn of_jobs(jobs: &[Job]) -> Option<Sizes> {
        let total: f64 = jobs.iter().map(|job| job.size).sum();
        let largest = jobs.iter().map(|job| job.size).max_by(f64::total_cmp)?;
        Some(Sizes { mean: total / jobs.len() as f64, largest, total })
    }
}

/// How work is counted for a policy.
#[derive(Clone, Copy, Debug)]
pub(super) struct Units {
    /// Units to a unit of work.
    pub(super) per_work: f64,
    /// A begun unit does not count: what is a byte short of a cutoff is below it.
    down: bool,
}

impl Units {
    /// A power of two, so that nothing is rounded but the last unit. For a policy that wants bytes
    /// (`bands`) a unit is a byte.
    pub(super) fn new(policy: PolicyKind, sizes: &Sizes, byte: f64) -> Units {
        if policy.needs().bytes {
            return Units { per_work: 1.0 / byte, down: true };
        }
        let most = (MEAN / sizes.mean).min(TOTAL / sizes.total).min(LARGEST / sizes.largest);
        // Where sizes differ by more than 2^33, small ones matter more than a float's last bit.
        let least = ((1 << 20) as f64 / sizes.mean).min(TOTAL / sizes.total);
        Units { per_work: most.max(least).log2().floor().exp2(), down: false }
    }

    /// Whole units of so much work.
    pub(super) fn of(&self, work: f64) -> u64 {
        let units = work * self.per_work;
        if self.down { units as u64 } else { (units + 0.5) as u64 }
    }

    /// Whole units that are at least so much work.
    pub(super) fn covering(&self, work: f64) -> u64 {
        (work * self.per_work).ceil() as u64
    }

    /// The work of so many units.
    pub(super) fn work(&self, units: u64) -> f64 {
        units as f64 / self.per_work
    }
}

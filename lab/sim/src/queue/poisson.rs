//! Jobs that come as a Poisson process, with sizes of a law: what `weir-lab sim queue` serves.

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};
use weir_workload::law::Law;

use super::job::Job;

/// A Poisson stream of jobs. Times and sizes are drawn from generators of their own: with another
/// load the same sizes come, sooner or later.
#[derive(Debug)]
pub struct Poisson<'a> {
    law: &'a dyn Law,
    times: Xoshiro256PlusPlus,
    sizes: Xoshiro256PlusPlus,
    now: f64,
    mean_gap: f64,
    /// In place of 0.
    least: f64,
}

impl Poisson<'_> {
    /// Jobs of a law whose mean is `mean`, so many that they keep a server busy for the share
    /// `load` (above 0) of the time. They do not end.
    pub fn new(law: &dyn Law, mean: f64, load: f64, seed: u64) -> Poisson<'_> {
        let mut times = Xoshiro256PlusPlus::seed_from_u64(seed);
        let sizes = Xoshiro256PlusPlus::from_rng(&mut times);
        // The logarithm of 1 is a size of 0, which has no slowdown; what is above 0 stays as it is.
        let least = mean * f64::EPSILON;
        Poisson { law, times, sizes, now: 0.0, mean_gap: mean / load, least }
    }
}

impl Iterator for Poisson<'_> {
    type Item = Job;

    fn next(&mut self) -> Option<Job> {
        self.now -= (1.0 - self.times.random::<f64>()).ln() * self.mean_gap;
        let size = self.law.quantile(self.sizes.random::<f64>());
        Some(Job { arrival: self.now, size: if size > 0.0 { size } else { self.least } })
    }
}

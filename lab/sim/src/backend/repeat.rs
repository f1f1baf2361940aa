//! Independent repetitions of a run, and the usual response time that recovery is compared with.
//! `weir-lab sim backend` and the experiments call it.

use weir_workload::shape::Shape;

use super::model::{Model, Prepared};
use super::results::Results;
use crate::replications;

/// Seconds for which the usual response time after a drop of the load is simulated.
const USUAL: f64 = 1000.0;

impl Prepared {
    /// The results of `count` independent repetitions; `None` of none.
    pub fn repeat(&self, count: usize, seed: u64) -> Option<Results> {
        let tallies = replications::run(count, seed, |seed| self.run(seed));
        Results::new(&self.model, &tallies, self.usual_response(count, seed))
    }

    /// Mean response time at the load after the drop, had it always been so.
    fn usual_response(&self, count: usize, seed: u64) -> Option<f64> {
        let shape = Shape::constant(self.model.drop?.load).ok()?;
        let duration = self.model.duration.max(USUAL);
        let usual = Model { shape, drop: None, interval: None, duration, ..self.model.clone() };
        let usual = usual.prepare().ok()?;
        // Other clients than those of the runs that it is compared with.
        let tallies = replications::run(count, !seed, |seed| usual.run(seed));
        Results::new(usual.model(), &tallies, None)?.mean_response_seconds
    }
}

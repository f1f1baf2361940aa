//! Runs a plan: checks it and hands it to the engine. What `weir-lab load` and the experiments call.

use weir_stats::Record;

use crate::demand::Demand;
use crate::engine::Engine;
use crate::error::Error;
use crate::plan::Plan;
use crate::report::{Live, Report};

/// Sends the demand from the calling thread (in its network namespace) until all requests have
/// ended; `record` gets each request as it ends. Time zero is the moment of the call plus
/// a few milliseconds.
///
/// # Errors
///
/// When the plan cannot be followed (a source address that is not this host's, no patience, nothing
/// under way), the event loop itself fails or descriptors cannot be had at all; what happens to single
/// requests is in their records.
pub fn run(
    plan: &Plan,
    demand: Demand,
    live: &Live,
    record: &mut dyn FnMut(Record),
) -> Result<Report, Error> {
    check(plan, &demand)?;
    Engine::new(plan, demand, live, record)?.run()
}

/// What would make a run end at once or never.
fn check(plan: &Plan, demand: &Demand) -> Result<(), Error> {
    if let Some(after) = plan.abort_after.filter(|after| after.is_nan() || *after <= 0.0) {
        return Err(Error(format!(
            "invalid patience: users give up after {after} s; give more than 0 s, or none at all"
        )));
    }
    if plan.drain.is_nan() || plan.drain < 0.0 {
        return Err(Error(format!("invalid drain time: {} s; give 0 s or more", plan.drain)));
    }
    if matches!(demand, Demand::Saturate(_, 0)) {
        return Err(Error("at least 1 request must be under way to saturate a server".into()));
    }
    Ok(())
}

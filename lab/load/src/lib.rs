//! Sends a workload open loop, as impatient users, and records what they would see. It does not
//! know which server it asks.

mod connections;
mod demand;
mod engine;
mod exchange;
mod lag;
mod limits;
mod machine;
mod plan;
mod socket;
mod task;
mod timer;
mod traffic;

#[doc(hidden)]
pub use exchange::outcome_of;
pub use limits::check_limits;
pub use plan::{Body, Demand, Error, Live, Plan, Report, Source, Step, Users, run};

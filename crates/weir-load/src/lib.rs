//! Sends a workload open loop, as impatient users, and records what they would see. It does not
//! know which server it asks.

mod plan;

pub use plan::{Body, Demand, Error, Live, Plan, Report, Source, Step, Users, run};

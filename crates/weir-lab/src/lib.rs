//! Experiments: a test network, systems under test, a workload, and a report that sets the paper's
//! figure beside ours. It does not know how any server works inside.

pub mod cell;
pub mod outcome;

pub use cell::Cell;
pub use outcome::Outcome;

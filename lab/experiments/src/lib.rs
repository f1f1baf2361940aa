//! Experiments: a test network, systems under test, a workload, and a report that sets the paper's
//! figure beside ours. It does not know how any server works inside.

pub mod backend;
pub mod cell;
mod command;
mod counters;
mod demand;
mod error;
pub mod experiment;
mod figures;
pub mod initial_rto;
mod interrupt;
mod kept;
mod machine;
mod measure;
mod namespace;
mod network;
pub mod outcome;
mod processes;
pub mod report;
mod runner;
mod sampling;
mod settings;
mod systems;
mod tuning;
pub mod verdict;

pub use cell::Cell;
pub use error::{Error, Result};
pub use interrupt::interrupted;
pub use measure::run_cell;
pub use outcome::Outcome;
pub use runner::{Progress, run_cells};
pub use settings::Settings;

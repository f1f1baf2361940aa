//! What the papers' experiments have in common: how one is defined, the conditions and systems that
//! several share, outcomes by seed, and the plots and tables that most sections have.

pub(crate) mod case;
mod definition;
mod measures;
pub(crate) mod pieces;
mod runs;
pub(crate) mod systems;
pub(crate) mod workload;

pub(crate) use definition::Evidence;
pub use definition::{Experiment, Group};
pub(crate) use measures::{Measure, largest, link_use, listen_drops, mean, most_connections};
pub use runs::Runs;

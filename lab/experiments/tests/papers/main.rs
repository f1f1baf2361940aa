//! The experiments of the papers on outcomes that are made up: nothing is run, nobody needs root.

#[path = "../support/made_up.rs"]
mod made_up;

mod conditions;
mod disks;
mod experiments;
mod report;

//! Experiments of papers on web servers under overload, repeated: which cells each needs, how a cell
//! is run, and the report that sets the paper's figure beside ours. The program `weir-lab` runs them.
//!
//! From the ground up, each module uses those before it only:
//!
//! - `settings`: where things are
//! - `choice`, [`cell`], [`outcome`]: what the user chose, what is run, what it showed
//! - `machine`, `tuning`: what a run needs of the machine
//! - `kept`, `figures`: files of a cell, figures of its records
//! - `link`, [`backend`], [`disk`]: cells with a link, with an application behind proxies, with files on
//!   a slow disk
//! - `run_cell`, `runner`: one cell of any kind, many side by side
//! - [`findings`]: rows with verdicts, tables, plots and sections, as values
//! - [`experiment`]: what the experiments have in common
//! - [`report`]: sections as HTML, Markdown and JSON
//! - [`papers`]: the experiments, paper by paper

mod settings;

pub mod cell;
mod choice;
pub mod outcome;

mod machine;
mod tuning;

mod figures;
mod kept;

pub mod backend;
pub mod disk;
mod link;

mod run_cell;
mod slots;

mod runner;

pub mod findings;

pub mod experiment;

pub mod report;

pub mod papers;

pub use cell::{Cell, cell_name};
pub use choice::{Choice, Scale};
pub use outcome::Outcome;
pub use run_cell::run_cell;
pub use runner::{Progress, run_cells};
pub use settings::Settings;
pub use weir_peers::interrupt::interrupted;
pub use weir_peers::{Error, Result};

//! How far a figure may be trusted: confidence intervals from batches of one run and from several
//! seeds, all of 95 %. The experiments and `weir-lab load` give them beside their figures.

mod batch;
mod median;
mod student;

pub use batch::{BatchMeans, batch_means};
pub use median::{MedianInterval, median_interval};
pub use student::{Interval, mean_interval};

/// The confidence of every interval here.
pub const CONFIDENCE: f64 = 0.95;

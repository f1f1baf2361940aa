//! How far a figure may be trusted: confidence intervals from batches of one run, from several
//! seeds, and of the ratio of two systems. All are of 95 %. It does not know what the figures are.

mod batch;
mod median;
mod ratio;
mod student;

pub use batch::{BatchMeans, batch_means};
pub use median::{MedianInterval, median_interval};
pub use ratio::{PairedRatio, paired_ratio};
pub use student::{Interval, mean_interval};

/// The confidence of every interval here.
pub const CONFIDENCE: f64 = 0.95;

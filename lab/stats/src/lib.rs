//! Response records and what is computed from them: response times, lateness, service inversion,
//! confidence intervals. The generator makes records; `weir-lab`, the simulator and the experiments
//! compute their figures here.
//!
//! Times are seconds, sizes are bytes. No function here returns a number that is not one: what has
//! no value (the mean of nothing, an interval from one run) is `None`.

pub mod composition;
pub mod confidence;
mod error;
pub mod factorial;
pub mod file;
pub mod inversion;
pub mod lag;
pub mod lateness;
pub mod record;
pub mod samples;
pub mod series;
pub mod size;
pub mod streaming;
pub mod summary;
mod welford;

pub use error::Error;
pub use file::{RecordReader, RecordWriter};
pub use record::{Outcome, Record};
pub use samples::Samples;
pub use summary::{Response, Summary, responses};
pub use welford::Welford;

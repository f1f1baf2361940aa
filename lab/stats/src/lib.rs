//! Response records and what is computed from them: response times, slowdown, service inversion,
//! confidence intervals. It does not know where records come from.
//!
//! Times are seconds, sizes are bytes. No function here returns a number that is not one: what has
//! no value (the mean of nothing, an interval from one run) is `None`.

pub mod composition;
pub mod confidence;
mod error;
pub mod file;
pub mod inversion;
pub mod lag;
pub mod lateness;
pub mod record;
pub mod samples;
pub mod series;
pub mod size;
pub mod slowdown;
pub mod streaming;
pub mod summary;
mod welford;

pub use error::Error;
pub use file::{RecordReader, RecordWriter};
pub use record::{Outcome, Record};
pub use samples::Samples;
pub use summary::{Response, Summary, responses};
pub use welford::Welford;

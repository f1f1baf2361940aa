//! Traces: requests that were made once, read from the logs of servers. Compression and format are
//! found by content, and reading streams. `weir-lab trace`, `load` and `sim replay` and the experiments
//! read traces here.
//!
//! Times become seconds from the first request. Where a log says only the second (every format but
//! plain CSV), requests are spread inside it, see [`Spread`].

pub mod buckets;
mod clf;
pub mod curve;
mod detect;
mod entry;
mod error;
mod format;
mod input;
mod limits;
mod lines;
mod names;
mod order;
mod root;
pub mod summary;
mod table;
mod trace;
pub mod wc98;
mod write;

pub use buckets::SizeBuckets;
pub use curve::Minute;
pub use error::{Compression, Fault, Place, Reason, TraceError};
pub use format::Format;
pub(crate) use input::Input;
pub use limits::{LONGEST_LINE, MOST_HELD};
pub(crate) use lines::Lines;
#[cfg(test)]
pub(crate) use names::safe_path;
pub use order::Spread;
pub use root::{Replayable, Root};
pub use summary::{Gather, Summary};
pub use trace::{Counts, LeftOut, Options, Trace, open};
pub use write::CsvWriter;

#[cfg(test)]
mod tests;

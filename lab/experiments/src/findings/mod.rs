//! What an experiment found, as plain values: rows with verdicts, tables, plots and text, gathered in
//! a section. Experiments make them, reports print them.

mod bar;
mod digits;
pub(crate) mod number;
mod ours;
mod row;
mod section;
pub(crate) mod series;

pub use bar::{Bar, Claim};
pub use ours::{Interval, Ours};
pub use row::{Row, Unit, Verdict};
pub use section::{Counts, Section, Table};
pub(crate) use series::label;
pub(crate) use weir_plot::{Axis, Plot, Range};

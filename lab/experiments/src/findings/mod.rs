//! What an experiment found, as plain values: rows with verdicts, tables, plots and text, gathered in
//! a section. Experiments make them, reports print them.

mod bar;
mod digits;
pub(crate) mod number;
mod ours;
mod row;
mod section;
pub(crate) mod series;
mod unit;

pub use bar::{Bar, Claim};
pub use ours::{Interval, Ours};
pub use row::{Row, Verdict};
pub use section::{Counts, Section, Table};
pub(crate) use series::label;
pub use unit::Unit;
pub(crate) use weir_plot::{Axis, Plot, Range};

//! Reports: the sections of one or several runs as HTML, Markdown with or without plots, and JSON.
//! `weir-lab run` and `weir-lab report` write them.

mod contents;
mod html;
mod markdown;
mod plots;
mod run;

pub use contents::Report;
pub use html::html;
pub use markdown::{markdown, markdown_with_plots};
pub use plots::{PlotFile, plot_files};
pub use run::{Machine, Run};

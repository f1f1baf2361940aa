//! Reports: the sections of one or several runs as HTML, Markdown and JSON. `weir-lab run` and
//! `weir-lab report` write them.

mod contents;
mod html;
mod markdown;
mod run;

pub use contents::Report;
pub use html::html;
pub use markdown::markdown;
pub use run::{Machine, Run};

//! Plots as inline SVG and the page around them: one file of HTML that needs nothing else, light or
//! dark as the reader has it. The pages of `weir-lab load` and `sim replay` and the experiments'
//! reports are made with it. A plot can also be a file of SVG, which the Markdown of a report shows.

mod axis;
mod file;
mod page;
mod plot;
mod svg;

pub use page::page;
pub use plot::{Axis, COLOURS, Plot, Range, Series};

//! The plots of a report as files of SVG, under the names by which `markdown` shows them.
//! `weir-lab report --plots` writes them.

use weir_plot::Plot;

use super::contents::Report;
use crate::choice::Scale;
use crate::findings::Section;

/// A plot as a file.
#[derive(Debug)]
pub struct PlotFile {
    /// Its name, such as `ruan-load-1.svg`.
    pub name: String,
    /// Its contents.
    pub svg: String,
}

/// The files of all plots that the Markdown shows, in its order.
pub fn plot_files(report: &Report) -> Vec<PlotFile> {
    let shown = report.sections.iter().flat_map(plots_with_names);
    shown.map(|(name, plot)| PlotFile { name, svg: plot.to_svg() }).collect()
}

/// The plots of a section that have a point, and the names of their files: the experiment, its scale
/// if that is not the full one, and which of the section's plots it is. Names are short, and a title
/// can be changed without a new one.
pub(super) fn plots_with_names(section: &Section) -> impl Iterator<Item = (String, &Plot)> {
    let scale = match section.scale {
        Scale::Full => String::new(),
        other => format!("-{}", other.name()),
    };
    let plots = section.plots.iter().enumerate().filter(|(_, plot)| has_a_point(plot));
    plots.map(move |(index, plot)| {
        let name = format!("{}{scale}-{}.svg", section.name, index + 1);
        (name, plot)
    })
}

fn has_a_point(plot: &Plot) -> bool {
    let mut points = plot.series.iter().flat_map(|series| &series.points);
    points.any(|(across, up)| across.is_finite() && up.is_finite())
}

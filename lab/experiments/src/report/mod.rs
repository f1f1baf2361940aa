//! Reports: sections of paragraphs, plots, tables and verdicts, as HTML, Markdown and JSON. It does not
//! know experiments.

mod html;
mod markdown;
mod run;
mod section;
pub(crate) mod series;

pub use html::html;
pub use markdown::markdown;
pub use run::{Machine, Run};
pub use section::{Section, Table};
pub(crate) use series::label;
pub(crate) use weir_plot::{Axis, Plot, Range};

use crate::experiment::{Choice, Experiment, Runs, Scale, find};
use crate::verdict::{Bar, Ours, Row, Unit};

/// What one or several runs showed.
#[derive(Debug, serde::Serialize)]
pub struct Report {
    /// What was run, when and where.
    pub runs: Vec<Run>,
    /// One for each experiment and scale.
    pub sections: Vec<Section>,
}

impl Report {
    /// The sections of all experiments of the runs; an experiment that several runs have at the same
    /// scale has one section, with what all of them planned.
    pub fn new(runs: Vec<Run>, outcomes: &Runs) -> Report {
        let mut planned: Vec<(&Experiment, Choice)> = Vec::new();
        for run in &runs {
            for experiment in run.experiments.iter().filter_map(|name| find(name)) {
                let same = |(known, choice): &&mut (&Experiment, Choice)| {
                    known.name == experiment.name && choice.scale == run.choice.scale
                };
                match planned.iter_mut().find(same) {
                    Some((_, choice)) => *choice = choice.with(&run.choice),
                    None => planned.push((experiment, run.choice.clone())),
                }
            }
        }
        let section =
            |(experiment, choice): &(&Experiment, Choice)| experiment.section(choice, outcomes);
        let mut sections: Vec<Section> = planned.iter().map(section).collect();
        let place = |section: &Section| {
            crate::experiment::EXPERIMENTS.iter().position(|e| e.name == section.name)
        };
        sections.sort_by_key(place);
        Report { runs, sections }
    }

    /// All rows with a bar; a quick run is no result.
    fn bars(&self) -> impl Iterator<Item = (&Section, &Row)> {
        let rows = |section| Section::rows(section).iter().map(move |row| (section, row));
        let sections = self.sections.iter().filter(|section| section.scale != Scale::Quick);
        sections.flat_map(rows).filter(|(_, row)| row.bar.is_some())
    }
}

/// Three significant figures, more only before the point.
pub(crate) fn number(value: f64) -> String {
    let digits = match value.abs() {
        size if size >= 100.0 => 0,
        size if size >= 10.0 => 1,
        size if size >= 1.0 => 2,
        0.0 => 0,
        _ => 3,
    };
    let text = format!("{value:.digits$}");
    // What is written as zero has no sign.
    match text.strip_prefix('-') {
        Some(zero) if !zero.contains(|digit| matches!(digit, '1'..='9')) => zero.to_owned(),
        _ => text,
    }
}

/// A value in its unit, without the unit's name.
fn figure(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Percent => number(value * 100.0),
        Unit::Count if value.fract() == 0.0 => format!("{value:.0}"),
        _ => number(value),
    }
}

fn with_unit(text: String, unit: Unit) -> String {
    match unit {
        Unit::Times | Unit::Count => text,
        Unit::Ms => text + " ms",
        Unit::Percent => text + " %",
    }
}

/// The median, and the interval where it differs in print.
pub(crate) fn ours(ours: &Ours, unit: Unit) -> String {
    let Some(interval) = ours.interval else { return "–".to_owned() };
    let (middle, low, high) =
        (figure(interval.middle, unit), figure(interval.low, unit), figure(interval.high, unit));
    if low == high {
        return with_unit(middle, unit);
    }
    with_unit(format!("{middle} ({low}–{high})"), unit)
}

/// A bar in words.
pub(crate) fn bar(bar: Option<Bar>, unit: Unit) -> String {
    let print = |value| figure(value, unit);
    let text = match bar {
        None => return String::new(),
        Some(Bar::AtMost(limit)) => format!("≤ {}", print(limit)),
        Some(Bar::AtLeast(limit)) => format!("≥ {}", print(limit)),
        Some(Bar::Above(limit)) => format!("> {}", print(limit)),
        Some(Bar::Between(low, high)) => format!("{} to {}", print(low), print(high)),
    };
    with_unit(text, unit)
}

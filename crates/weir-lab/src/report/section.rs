//! What an experiment tells: text, plots as data, tables as text, and rows with verdicts.

use serde::Serialize;

use crate::experiment::{Counts, Experiment, Scale};
use crate::verdict::{Ours, Row, Unit};

/// One experiment's part of a report.
#[derive(Debug, Serialize)]
pub struct Section {
    /// The experiment.
    pub name: String,
    /// What it looks at.
    pub title: String,
    /// First author and year.
    pub paper: String,
    /// Figures and tables repeated.
    pub repeats: String,
    /// How long its runs are.
    pub scale: Scale,
    /// Runs, and those that count.
    pub counts: Counts,
    /// Text.
    pub paragraphs: Vec<String>,
    /// Plots.
    pub plots: Vec<Plot>,
    /// Tables.
    pub tables: Vec<Table>,
    /// What the paper found and what we found.
    rows: Vec<Row>,
}

impl Section {
    /// Of an experiment, with nothing told yet.
    pub(crate) fn new(experiment: &Experiment, scale: Scale, counts: Counts) -> Section {
        Section {
            name: experiment.name.to_owned(),
            title: experiment.title.to_owned(),
            paper: experiment.paper.to_owned(),
            repeats: experiment.repeats.to_owned(),
            scale,
            counts,
            paragraphs: Vec::new(),
            plots: Vec::new(),
            tables: Vec::new(),
            rows: Vec::new(),
        }
    }

    pub(crate) fn text(&mut self, paragraph: impl Into<String>) {
        self.paragraphs.push(paragraph.into());
    }

    /// A plot with nothing in it is left out.
    pub(crate) fn plot(&mut self, plot: Plot) {
        if plot.series.iter().any(|series| !series.points.is_empty()) {
            self.plots.push(plot);
        }
    }

    pub(crate) fn table(&mut self, table: Table) {
        self.tables.push(table);
    }

    pub(crate) fn row(&mut self, row: Row) {
        self.rows.push(row);
    }

    /// What the paper found and what we found, with bars and verdicts.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }
}

/// A table; the first column is text, the others are figures.
#[derive(Debug, Serialize)]
pub struct Table {
    /// What is in it, with units.
    pub caption: String,
    /// Column heads.
    pub columns: Vec<String>,
    /// Cells as printed.
    pub rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new(caption: impl Into<String>, columns: &[&str]) -> Table {
        let columns = columns.iter().map(|&column| column.to_owned()).collect();
        Table { caption: caption.into(), columns, rows: Vec::new() }
    }

    /// A row of figures.
    pub(crate) fn row(&mut self, name: impl Into<String>, figures: &[(Ours, Unit)]) {
        let printed = figures.iter().map(|(figure, unit)| match unit {
            // The column head names the unit.
            Unit::Ms | Unit::Percent => {
                super::ours(figure, *unit).replace([' ', '%'], "").replace("ms", "")
            }
            _ => super::ours(figure, *unit),
        });
        let spaced = printed.map(|text| text.replace('(', " ("));
        self.rows.push(std::iter::once(name.into()).chain(spaced).collect());
    }
}

/// How an axis is divided.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Range {
    /// From zero, or the least value if that is below.
    Linear,
    /// By factors of ten; values of zero or less are not drawn.
    Log,
    /// Names at 0, 1, 2, …
    Names(Vec<String>),
}

/// An axis.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Axis {
    /// What it is, with the unit.
    pub label: String,
    /// How it is divided.
    pub range: Range,
}

impl Axis {
    pub(crate) fn linear(label: &str) -> Axis {
        Axis { label: label.to_owned(), range: Range::Linear }
    }

    pub(crate) fn log(label: &str) -> Axis {
        Axis { label: label.to_owned(), range: Range::Log }
    }

    pub(crate) fn names(label: &str, names: impl IntoIterator<Item = String>) -> Axis {
        Axis { label: label.to_owned(), range: Range::Names(names.into_iter().collect()) }
    }
}

/// A plot.
#[derive(Debug, Serialize)]
pub struct Plot {
    /// What it shows; names the paper's figure.
    pub title: String,
    /// Across.
    pub x: Axis,
    /// Up.
    pub y: Axis,
    /// Curves.
    pub series: Vec<Series>,
    /// Spans of x with a shade, such as periods of overload.
    pub shaded: Vec<(f64, f64)>,
}

impl Plot {
    pub(crate) fn new(title: impl Into<String>, x: Axis, y: Axis) -> Plot {
        Plot { title: title.into(), x, y, series: Vec::new(), shaded: Vec::new() }
    }
}

/// A curve.
#[derive(Debug, Serialize)]
pub struct Series {
    /// Its name in the legend.
    pub name: String,
    /// Index of its colour.
    pub colour: usize,
    /// Dashed.
    pub dashed: bool,
    /// Points are marked: the curve is a few measurements, not many.
    pub marked: bool,
    /// In order of x.
    pub points: Vec<(f64, f64)>,
    /// Lower and upper ends at each point; empty without any.
    pub intervals: Vec<(f64, f64)>,
}

impl Series {
    /// A line through many points.
    pub(crate) fn line(system: &str, points: Vec<(f64, f64)>) -> Series {
        let (colour, dashed) = colour(system);
        Series { name: label(system), colour, dashed, marked: false, points, intervals: Vec::new() }
    }

    /// A few measurements over the seeds; those that nobody made are left out.
    pub(crate) fn measured(
        system: &str,
        points: impl IntoIterator<Item = (f64, Ours)>,
        scale: f64,
    ) -> Series {
        let mut series = Series { marked: true, ..Series::line(system, Vec::new()) };
        for (x, ours) in points {
            if let Some(interval) = ours.interval {
                series.points.push((x, interval.middle * scale));
                series.intervals.push((interval.low * scale, interval.high * scale));
            }
        }
        series
    }

    /// With another name.
    pub(crate) fn named(mut self, name: impl Into<String>) -> Series {
        self.name = name.into();
        self
    }

    /// With another colour and dashes.
    pub(crate) fn coloured(mut self, colour: usize, dashed: bool) -> Series {
        self.colour = colour;
        self.dashed = dashed;
        self
    }
}

/// How a system is called in tables and legends.
pub(crate) fn label(system: &str) -> String {
    match system {
        "apache-prefork" => "Apache prefork".to_owned(),
        "apache-event" => "Apache event".to_owned(),
        "caddy" => "Caddy".to_owned(),
        other => other.replacen("weir:", "weir ", 1),
    }
}

/// A system has one colour in the whole report: colour and dashes.
fn colour(system: &str) -> (usize, bool) {
    match system.split(' ').next().unwrap_or(system) {
        "weir:srpt" => (0, false),
        "weir:protective" => (1, false),
        "weir:fair" => (2, false),
        "nginx" => (3, false),
        "apache-prefork" => (4, false),
        "weir:fsp" => (5, true),
        "weir:bands" => (6, true),
        "apache-event" => (4, true),
        "exact" => (7, true),
        "lighttpd" => (5, false),
        "h2o" => (6, false),
        "caddy" => (3, true),
        _ => (7, false),
    }
}

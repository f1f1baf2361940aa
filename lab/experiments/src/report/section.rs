//! What an experiment tells: text, plots, tables as text, and rows with verdicts. It does not know
//! pages.

use serde::Serialize;
use weir_plot::Plot;

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

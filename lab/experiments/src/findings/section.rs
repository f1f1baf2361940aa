//! What an experiment has to say: text, plots, tables as text, and rows with verdicts. Experiments fill
//! it in, reports print it.

use std::collections::BTreeMap;

use serde::Serialize;
use weir_plot::Plot;

use super::number;
use super::ours::Ours;
use super::row::Row;
use super::unit::Unit;
use crate::choice::Scale;

/// How many runs there are, and how many count.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Cells the experiment has.
    pub planned: usize,
    /// Cells that have an outcome.
    pub run: usize,
    /// Those whose outcome counts.
    pub valid: usize,
    /// Why others do not, and how many of them.
    pub reasons: BTreeMap<String, usize>,
}

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
    pub(crate) rows: Vec<Row>,
}

impl Section {
    /// A paragraph.
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
                number::ours(figure, *unit).replace([' ', '%'], "").replace("ms", "")
            }
            _ => number::ours(figure, *unit),
        });
        let spaced = printed.map(|text| text.replace('(', " ("));
        self.rows.push(std::iter::once(name.into()).chain(spaced).collect());
    }
}

//! What an experiment is: the cells it needs, and what it says of their outcomes. Every module of
//! `papers` defines one or more.

use super::runs::Runs;
use crate::cell::{Cell, cell_name};
use crate::choice::{Choice, Scale};
use crate::findings::{Counts, Section};

/// What an experiment's section is written from.
pub(crate) struct Evidence<'a> {
    pub(crate) choice: &'a Choice,
    pub(crate) runs: &'a Runs,
}

/// Cells that differ only in their seed.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// The cell, with seed 0.
    pub cell: Cell,
    /// One point of a curve: it needs fewer seeds than a comparison that has a bar.
    pub point: bool,
}

/// Seeds of a point of a curve in a full run.
const POINT_SEEDS: u64 = 3;

/// An experiment.
pub struct Experiment {
    /// What it is called on the command line.
    pub name: &'static str,
    /// First author and year.
    pub paper: &'static str,
    /// The figures, tables and rows it repeats.
    pub repeats: &'static str,
    /// What is looked at, in a few words.
    pub title: &'static str,
    /// The cells it needs, as groups with seed 0.
    pub(crate) groups: fn(&Choice) -> Vec<Group>,
    /// Writes its section.
    pub(crate) report: fn(&Evidence<'_>, &mut Section),
}

impl Experiment {
    /// Whether it is simulated or computed: it has no cells, and telling it is all the work.
    pub fn is_simulated(&self) -> bool {
        self.groups(&Choice::of(Scale::Full)).is_empty()
    }

    /// Its groups of cells; no two are equal.
    pub fn groups(&self, choice: &Choice) -> Vec<Group> {
        let mut groups: Vec<Group> = Vec::new();
        for group in (self.groups)(choice) {
            match groups.iter_mut().find(|known| known.cell == group.cell) {
                Some(known) => known.point &= group.point,
                None => groups.push(group),
            }
        }
        groups
    }

    /// Its cells by name, seed by seed, so that an early look at the results sees every system. Equal
    /// cells of several experiments have equal names.
    pub fn cells(&self, choice: &Choice) -> Vec<(String, Cell)> {
        let groups = self.groups(choice);
        let seeds = choice.seeds.unwrap_or(choice.scale.seeds());
        let of_seed = |seed: u64| {
            let wanted = groups.iter().filter(move |group| !group.point || seed <= POINT_SEEDS);
            wanted.map(move |group| Cell { seed, ..group.cell.clone() })
        };
        (1..=seeds).flat_map(of_seed).map(|cell| (cell_name(&cell), cell)).collect()
    }

    /// What its outcomes say.
    pub fn section(&self, choice: &Choice, runs: &Runs) -> Section {
        let mut section = self.empty_section(choice.scale, runs.counts(&self.cells(choice)));
        (self.report)(&Evidence { choice, runs }, &mut section);
        section
    }

    /// With nothing reported yet.
    pub(crate) fn empty_section(&self, scale: Scale, counts: Counts) -> Section {
        Section {
            name: self.name.to_owned(),
            title: self.title.to_owned(),
            paper: self.paper.to_owned(),
            repeats: self.repeats.to_owned(),
            scale,
            counts,
            paragraphs: Vec::new(),
            plots: Vec::new(),
            tables: Vec::new(),
            rows: Vec::new(),
        }
    }
}

//! The experiments: which cells repeat a paper's figure, and what is told of their outcomes. It does
//! not know how cells are run, nor how a report looks.

mod aborts;
mod carter;
mod case;
mod conditions;
mod crovella;
mod figures;
mod name;
mod nasa;
mod onoff;
mod persistent;
mod pieces;
mod proxy;
mod realistic;
mod router;
mod rows;
mod runs;
mod slowdown;
mod traces;
mod w1;
mod wan;
mod wan_range;
mod why;
mod workload;
mod workloads;

use serde::{Deserialize, Serialize};

use crate::cell::Cell;
use crate::report::Section;

pub use figures::{FIGURES, Figure, State};
pub use name::cell_name;
pub(crate) use runs::Told;
pub use runs::{Counts, Runs};

/// How long an experiment takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scale {
    /// One seed and about a minute of load: a check that all works, not a result. At most three
    /// minutes with all cells side by side.
    Quick,
    /// About 150 s of load and five seeds.
    Full,
    /// The paper's 30 minutes (Crovella: 10) and one seed.
    Paper,
}

impl Scale {
    /// The word used in files and reports.
    pub fn name(self) -> &'static str {
        match self {
            Scale::Quick => "quick",
            Scale::Full => "full",
            Scale::Paper => "paper",
        }
    }

    fn seeds(self) -> u64 {
        match self {
            Scale::Quick | Scale::Paper => 1,
            Scale::Full => 5,
        }
    }
}

/// What the user chose.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Choice {
    /// How long.
    pub scale: Scale,
    /// Seeds 1 to this; `None` is the scale's own number.
    pub seeds: Option<u64>,
    /// Systems under test instead of the experiment's own.
    pub systems: Option<Vec<String>>,
}

impl Choice {
    /// The scale's own seeds and the experiments' own systems.
    pub fn of(scale: Scale) -> Choice {
        Choice { scale, seeds: None, systems: None }
    }

    /// What this and another run of the same experiments at the same scale cover together.
    pub(crate) fn with(&self, other: &Choice) -> Choice {
        let seeds = |choice: &Choice| choice.seeds.unwrap_or(choice.scale.seeds());
        let systems = self.systems.as_ref().zip(other.systems.as_ref()).map(|(ours, theirs)| {
            let more = theirs.iter().filter(|system| !ours.contains(system));
            ours.iter().chain(more).cloned().collect()
        });
        Choice { scale: self.scale, seeds: Some(seeds(self).max(seeds(other))), systems }
    }

    /// The systems of a comparison: the user's, or `own`.
    fn systems(&self, own: &[&str]) -> Vec<String> {
        match &self.systems {
            Some(chosen) => chosen.clone(),
            None => own.iter().map(|&system| system.to_owned()).collect(),
        }
    }
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
    groups: fn(&Choice) -> Vec<Group>,
    tell: fn(&Told<'_>, &mut Section),
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
        let mut section = Section::new(self, choice.scale, runs.counts(&self.cells(choice)));
        (self.tell)(&Told { choice, runs }, &mut section);
        section
    }
}

/// All experiments, in the order of reports.
pub const EXPERIMENTS: [Experiment; 24] = [
    w1::EXPERIMENT,
    persistent::EXPERIMENT,
    workloads::EXPERIMENT,
    wan::EXPERIMENT,
    wan_range::EXPERIMENT,
    rows::PERSISTENT_CONNECTIONS,
    rows::RTO,
    rows::SYN_COOKIES,
    aborts::EXPERIMENT,
    rows::PACKET_LENGTH,
    realistic::EXPERIMENT,
    why::EXPERIMENT,
    nasa::EXPERIMENT,
    traces::EXPERIMENT,
    router::EXPERIMENT,
    crovella::LOAD,
    crovella::CONCURRENCY,
    onoff::EXPERIMENT,
    slowdown::EXPERIMENT,
    carter::LOAD,
    carter::DAYS,
    carter::MODEL,
    proxy::EXPERIMENT,
    carter::UPLINK,
];

/// The experiment of this name.
pub fn find(name: &str) -> Option<&'static Experiment> {
    EXPERIMENTS.iter().find(|experiment| experiment.name == name)
}

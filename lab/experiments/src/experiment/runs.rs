//! Outcomes by what was run, and figures over the seeds: medians, and ratios between systems taken
//! seed by seed on the same requests. Runs that do not count are left out, and counted.

use std::collections::{BTreeMap, BTreeSet};

use crate::cell::{Cell, cell_name};
use crate::findings::{Counts, Interval, Ours};
use crate::outcome::{FilesOutcome, Outcome};

/// Outcomes, by cell and seed.
#[derive(Debug, Default)]
pub struct Runs {
    /// By the name of the cell with seed 0, then by seed.
    by_cell: BTreeMap<String, BTreeMap<u64, Outcome>>,
}

impl Runs {
    /// Outcomes in any order; of equal cells the later counts, unless only the earlier is valid.
    pub fn new(outcomes: impl IntoIterator<Item = Outcome>) -> Runs {
        let mut runs = Runs::default();
        for outcome in outcomes {
            let seeds = runs.by_cell.entry(key(&outcome.cell)).or_default();
            let seed = outcome.cell.seed;
            let better = |known: &Outcome| known.invalid.is_empty() && !outcome.invalid.is_empty();
            if !seeds.get(&seed).is_some_and(better) {
                seeds.insert(seed, outcome);
            }
        }
        runs
    }

    /// All outcomes.
    pub fn outcomes(&self) -> impl Iterator<Item = &Outcome> {
        self.by_cell.values().flat_map(BTreeMap::values)
    }

    /// How many of these cells were run and count.
    pub(crate) fn counts(&self, cells: &[(String, Cell)]) -> Counts {
        let mut counts = Counts { planned: cells.len(), ..Counts::default() };
        for (_, cell) in cells {
            let Some(outcome) = self.by_cell.get(&key(cell)).and_then(|s| s.get(&cell.seed)) else {
                continue;
            };
            counts.run += 1;
            counts.valid += usize::from(outcome.invalid.is_empty());
            for reason in &outcome.invalid {
                *counts.reasons.entry(kind(reason)).or_default() += 1;
            }
            let phases = outcome.files.as_ref().filter(|_| outcome.invalid.is_empty());
            for reason in phases.map(FilesOutcome::why_invalid).unwrap_or_default() {
                let words = format!("{} (in a part of the cell)", kind(&reason));
                *counts.reasons.entry(words).or_default() += 1;
            }
        }
        counts
    }

    /// The runs of a cell that count, by seed.
    pub(crate) fn of(&self, cell: &Cell) -> impl Iterator<Item = (u64, &Outcome)> {
        let seeds = self.by_cell.get(&key(cell));
        let all = seeds.into_iter().flatten().map(|(&seed, outcome)| (seed, outcome));
        all.filter(|(_, outcome)| outcome.invalid.is_empty())
    }

    /// The first run of a cell that counts.
    pub(crate) fn first(&self, cell: &Cell) -> Option<&Outcome> {
        self.of(cell).next().map(|(_, outcome)| outcome)
    }

    /// Seeds of which a run of one of the cells does not count.
    pub(crate) fn void(&self, cells: &[&Cell]) -> BTreeSet<u64> {
        let seeds = cells.iter().filter_map(|cell| self.by_cell.get(&key(cell))).flatten();
        let void = seeds.filter(|(_, outcome)| !outcome.invalid.is_empty());
        void.map(|(seed, _)| *seed).collect()
    }

    /// The largest share of requests without a whole response among the runs that count.
    fn incomplete(&self, cells: &[&Cell]) -> f64 {
        let runs = cells.iter().flat_map(|cell| self.of(cell));
        runs.map(|(_, outcome)| outcome.incomplete).fold(0.0, f64::max)
    }

    /// The commits of the weir that was measured, among the runs that count.
    fn commits(&self, cells: &[&Cell]) -> BTreeSet<String> {
        let runs = cells.iter().flat_map(|cell| self.of(cell));
        runs.map(|(_, outcome)| outcome.commit.clone()).collect()
    }

    /// Values of these cells, one for each seed, and what is known of their runs.
    fn ours(&self, cells: &[&Cell], values: impl Iterator<Item = f64>) -> Ours {
        Ours {
            interval: Interval::of(values),
            left_out: self.void(cells).len(),
            incomplete: self.incomplete(cells),
            commits: self.commits(cells),
        }
    }

    /// A figure over the seeds. A figure that is not a finite number is none.
    pub(crate) fn value(&self, cell: &Cell, figure: impl Fn(&Outcome) -> f64) -> Ours {
        let values = self.of(cell).map(|(_, outcome)| figure(outcome));
        self.ours(&[cell], values)
    }

    /// A figure of two cells on the same seeds.
    pub(crate) fn paired(
        &self,
        above: &Cell,
        below: &Cell,
        figure: impl Fn(&Outcome, &Outcome) -> f64,
    ) -> Ours {
        let below_runs: BTreeMap<u64, &Outcome> = self.of(below).collect();
        let both = self.of(above).filter_map(|(seed, outcome)| {
            below_runs.get(&seed).map(|other| figure(outcome, other))
        });
        self.ours(&[above, below], both)
    }

    /// A figure of several cells, in their order, on the seeds that all of them have.
    pub(crate) fn across(&self, cells: &[Cell], figure: impl Fn(&[&Outcome]) -> f64) -> Ours {
        let all: Vec<&Cell> = cells.iter().collect();
        let runs: Vec<BTreeMap<u64, &Outcome>> =
            cells.iter().map(|cell| self.of(cell).collect()).collect();
        let seeds = runs.first().map(|first| first.keys()).into_iter().flatten();
        let values = seeds.filter_map(|seed| {
            let of_seed: Option<Vec<&Outcome>> =
                runs.iter().map(|run| run.get(seed).copied()).collect();
            of_seed.map(|outcomes| figure(&outcomes))
        });
        self.ours(&all, values)
    }

    /// A figure of one cell over that of another, seed by seed.
    pub(crate) fn ratio(
        &self,
        above: &Cell,
        below: &Cell,
        figure: impl Fn(&Outcome) -> f64,
    ) -> Ours {
        self.paired(above, below, |above, below| figure(above) / figure(below))
    }
}

fn key(cell: &Cell) -> String {
    cell_name(&Cell { seed: 0, ..cell.clone() })
}

/// A reason without its figures, so that like ones are counted together.
fn kind(reason: &str) -> String {
    let before = reason.split(':').next().unwrap_or(reason);
    let words = before.split(' ').map(|word| match word.contains(|c: char| c.is_ascii_digit()) {
        true => "…",
        false => word,
    });
    words.collect::<Vec<_>>().join(" ")
}

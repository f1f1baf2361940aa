//! Many cells side by side, each in a thread of its own, and only those that have no outcome yet.
//! `weir-lab run` calls it with the cells of its experiments.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use weir_peers::Result;
use weir_peers::interrupt;

use crate::cell::Cell;
use crate::link::demand::duration;
use crate::outcome::Outcome;
use crate::settings::Settings;
use crate::slots::{Slots, slots_of};
use crate::tuning::Tuning;
use crate::{disk, kept, machine, run_cell};

/// Who is told how far a run is.
pub trait Progress: Sync {
    /// A cell begins.
    fn started(&self, name: &str);
    /// A cell has ended, or was there already.
    fn finished(&self, name: &str, outcome: &Result<Outcome>);
    /// After each cell: cells that have ended, all cells, and seconds that the rest may take.
    fn left(&self, done: usize, of: usize, seconds_left: f64);
}

/// Between the beginnings of cells that run side by side.
const STAGGER: Duration = Duration::from_millis(1500);

/// Run all cells, named by their directories under [`Settings::out`], at most
/// [`Settings::side_by_side`] at once, in order; those with much to do count for several. A cell whose directory already holds a valid
/// outcome of an equal cell is not run again, so that an interrupted run goes on where it was;
/// another weir or another configuration of a peer needs another directory.
///
/// The outcomes are in the order of the cells; those of cells that failed are `None`, and
/// [`Progress::finished`] was told why.
///
/// # Errors
///
/// When nothing can be run at all (no root, no directory) or Ctrl-C ended the run.
pub fn run_cells(
    cells: &[(String, Cell)],
    settings: &Settings,
    progress: &dyn Progress,
) -> Result<Vec<Option<Outcome>>> {
    let outcomes: Vec<Mutex<Option<Outcome>>> = cells.iter().map(|_| Mutex::new(None)).collect();
    let mut waiting = Vec::new();
    for (index, (name, cell)) in cells.iter().enumerate() {
        match earlier(&settings.out.join(name), cell) {
            Some(outcome) => {
                progress.finished(name, &Ok(outcome.clone()));
                keep(&outcomes[index], outcome);
            }
            None => waiting.push(index),
        }
    }
    let plan = Plan { cells, settings, progress, waiting, outcomes };
    if !plan.waiting.is_empty() {
        run_cell::prepare()?;
        plan.work()?;
    }
    let taken = plan.outcomes.into_iter().map(|kept| kept.into_inner().unwrap_or(None));
    Ok(taken.collect())
}

struct Plan<'a> {
    cells: &'a [(String, Cell)],
    settings: &'a Settings,
    progress: &'a dyn Progress,
    /// Indices of the cells to run.
    waiting: Vec<usize>,
    outcomes: Vec<Mutex<Option<Outcome>>>,
}

impl Plan<'_> {
    fn work(&self) -> Result<()> {
        let _tuning = Tuning::set();
        // Cells with files on a slow disk share it.
        let _disk = disk::Keep::new();
        let next = AtomicUsize::new(0);
        let all = self.settings.side_by_side.max(1);
        let (slots, open_files) = (Slots::of(all), machine::open_files());
        let done = AtomicUsize::new(self.cells.len() - self.waiting.len());
        let origin = Instant::now();
        let threads = self.settings.side_by_side.clamp(1, self.waiting.len());
        self.left(done.load(Ordering::Relaxed), 0, origin);
        std::thread::scope(|scope| {
            for thread in 0..threads {
                let (next, done, slots) = (&next, &done, &slots);
                scope.spawn(move || {
                    // One after the other: making networks and documents must not disturb the
                    // cells that run, and their periods of overload need not fall together.
                    for _ in 0..thread {
                        std::thread::sleep(STAGGER);
                        if interrupt::check().is_err() {
                            return;
                        }
                    }
                    loop {
                        let position = next.fetch_add(1, Ordering::Relaxed);
                        let Some(&index) = self.waiting.get(position) else { return };
                        let wanted = slots_of(&self.cells[index].1, all, open_files);
                        let Some(taken) = slots.acquire(wanted) else { return };
                        self.one(index);
                        slots.release(taken);
                        let done = done.fetch_add(1, Ordering::Relaxed) + 1;
                        self.left(done, next.load(Ordering::Relaxed), origin);
                    }
                });
            }
        });
        interrupt::check()
    }

    fn one(&self, index: usize) {
        let (name, cell) = &self.cells[index];
        self.progress.started(name);
        let outcome = run_cell::run_cell(cell, self.settings, &self.settings.out.join(name));
        self.progress.finished(name, &outcome);
        if let Ok(outcome) = outcome {
            keep(&self.outcomes[index], outcome);
        }
    }

    /// What is left, by the lengths of the cells and by how long those that ended took.
    fn left(&self, done: usize, begun: usize, origin: Instant) {
        let all: f64 = self.seconds(0..self.waiting.len());
        let threads = self.settings.side_by_side.max(1) as f64;
        // Cells under way count as half done.
        let ended = done.saturating_sub(self.cells.len() - self.waiting.len());
        let begun = begun.min(self.waiting.len());
        let past = self.seconds(0..ended.min(begun)) + self.seconds(ended.min(begun)..begun) / 2.0;
        let pace = match past > 0.0 && ended > 0 {
            true => origin.elapsed().as_secs_f64() / past,
            false => 1.0 / threads,
        };
        self.progress.left(done, self.cells.len(), (all - past).max(0.0) * pace);
    }

    fn seconds(&self, positions: std::ops::Range<usize>) -> f64 {
        let cells = self.waiting[positions].iter().map(|&index| &self.cells[index].1);
        cells.map(|cell| duration(cell) + AROUND).sum()
    }
}

/// Seconds that a cell takes beside its demand: network, server, the last responses.
const AROUND: f64 = 5.0;

/// The outcome of an equal cell that ran before.
fn earlier(directory: &Path, cell: &Cell) -> Option<Outcome> {
    let text = fs::read(directory.join(kept::OUTCOME)).ok()?;
    let outcome: Outcome = serde_json::from_slice(&text).ok()?;
    // What does not count is run again.
    (outcome.cell == *cell && outcome.invalid.is_empty()).then_some(outcome)
}

fn keep(place: &Mutex<Option<Outcome>>, outcome: Outcome) {
    // A poisoned lock only means that another thread panicked; the place is ours alone.
    let mut place = place.lock().unwrap_or_else(PoisonError::into_inner);
    *place = Some(outcome);
}

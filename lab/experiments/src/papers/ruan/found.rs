//! Figures of a phase over the seeds, and what the search for a server's capacity came to. The reports of
//! all experiments of Ruan & Pai take theirs from here.

use std::collections::BTreeSet;

use weir_stats::Samples;

use crate::cell::{DISK_FULL, Demand, Files, Load, Phase};
use crate::experiment::Evidence;
use crate::experiment::case::Case;
use crate::findings::{Ours, label};
use crate::outcome::{FilesOutcome, Outcome, PhaseOutcome, SearchEnd};

/// A figure of a phase.
pub(super) type Figure = fn(&PhaseOutcome) -> f64;

/// A figure of a phase of an outcome, or the median of those of its rounds if it was repeated; not a number
/// if the outcome has no such phase that counts.
pub(super) fn of_phase(
    outcome: &Outcome,
    phase: Phase,
    figure: impl Fn(&PhaseOutcome) -> f64,
) -> f64 {
    let counting = rounds(outcome, phase).filter(|(asked, found)| counts(asked, found));
    let figures = Samples::new(counting.map(|(_, found)| figure(found)));
    figures.median().unwrap_or(f64::NAN)
}

/// What was asked for, and each round of a phase.
fn rounds(outcome: &Outcome, phase: Phase) -> impl Iterator<Item = (&Files, &PhaseOutcome)> {
    let asked = match &outcome.cell.demand {
        Demand::Files(asked) => Some(asked),
        _ => None,
    };
    let found = outcome.files.iter().flat_map(|files| &files.phases);
    let found = found.filter(move |found| found.phase == phase);
    asked.into_iter().flat_map(move |asked| found.clone().map(move |found| (asked, found)))
}

/// Whether a phase counts. Where a server falls behind at a share of the rate with which it kept up in a
/// trial, response times are as long as the phase makes them. By its end so many requests wait, or have
/// failed, as are never under way in saturation (at any moment hundreds may wait for a server that blocks); or
/// the disk was busy all the time, and those who wait for it pile up beside what is in memory.
fn counts(asked: &Files, found: &PhaseOutcome) -> bool {
    let is_own = matches!(found.phase.load, Load::Own(_));
    let waiting = found.requests as f64 - found.per_second * asked.longest(found.phase.what);
    let fell_behind = waiting > f64::from(asked.connections) || found.busy > DISK_FULL;
    found.invalid.is_empty() && !(is_own && fell_behind)
}

/// Whether an outcome has one of these phases, and no round of it counts.
fn has_void(outcome: &Outcome, phases: &[Phase]) -> bool {
    phases.iter().any(|phase| {
        let mut rounds = rounds(outcome, *phase).peekable();
        rounds.peek().is_some() && !rounds.any(|(asked, found)| counts(asked, found))
    })
}

/// Figures of a case's cells over the seeds.
#[derive(Clone, Copy)]
pub(super) struct Found<'a> {
    evidence: &'a Evidence<'a>,
    case: &'a Case,
}

impl<'a> Found<'a> {
    /// Of this case.
    pub(super) fn of(evidence: &'a Evidence<'a>, case: &'a Case) -> Found<'a> {
        Found { evidence, case }
    }

    /// A figure of a phase of a system.
    pub(super) fn value(
        &self,
        system: &str,
        phase: Phase,
        figure: impl Fn(&PhaseOutcome) -> f64,
    ) -> Ours {
        self.of_phases(system, &[phase], |outcome| of_phase(outcome, phase, &figure))
    }

    /// A figure of an outcome that rests on these phases.
    pub(super) fn of_phases(
        &self,
        system: &str,
        phases: &[Phase],
        figure: impl Fn(&Outcome) -> f64,
    ) -> Ours {
        let cell = self.case.cell(system);
        let ours = self.evidence.runs.value(&cell, figure);
        let left_out = self.void(system, phases).len();
        Ours { left_out, incomplete: self.incomplete(system, phases), ..ours }
    }

    /// The seeds of runs that do not count, or not in one of these phases.
    pub(super) fn void(&self, system: &str, phases: &[Phase]) -> BTreeSet<u64> {
        let cell = self.case.cell(system);
        let runs = self.evidence.runs.of(&cell);
        let void = runs.filter(|(_, outcome)| has_void(outcome, phases)).map(|(seed, _)| seed);
        void.chain(self.evidence.runs.void(&[&cell])).collect()
    }

    /// The largest share of a phase's requests without a whole response.
    fn incomplete(&self, system: &str, phases: &[Phase]) -> f64 {
        let cell = self.case.cell(system);
        let runs = self.evidence.runs.of(&cell);
        let shares = runs.flat_map(|(_, outcome)| {
            phases.iter().map(move |phase| of_phase(outcome, *phase, incomplete))
        });
        shares.fold(0.0, f64::max)
    }

    /// The highest rate at which a system keeps up, in requests per second.
    pub(super) fn capacity(&self, system: &str) -> Ours {
        self.evidence.runs.value(&self.case.cell(system), capacity)
    }

    /// The highest rate at which one system keeps up over that of another, seed by seed.
    pub(super) fn capacities(&self, above: &str, below: &str) -> Ours {
        let (above, below) = (self.case.cell(above), self.case.cell(below));
        self.evidence.runs.paired(&above, &below, |above, below| capacity(above) / capacity(below))
    }

    /// The name of a system in a table with its capacity. It says in how many of the runs something else
    /// than the server ended the search.
    pub(super) fn searched(&self, system: &str) -> String {
        let cell = self.case.cell(system);
        let runs = self.evidence.runs.of(&cell);
        let ends: Vec<&str> = runs
            .filter_map(|(_, outcome)| outcome.files.as_ref().and_then(not_the_server))
            .collect();
        let mut name = label(system);
        for words in NOT_THE_SERVER {
            let count = ends.iter().filter(|end| **end == words).count();
            if count > 0 {
                let runs = if count == 1 { "run" } else { "runs" };
                name.push_str(&format!("; {words} ({count} {runs})"));
            }
        }
        name
    }

    /// What was asked for at a share of the own capacity over what the system did in saturation, which the
    /// paper takes for its capacity. The less, the more a comparison at that share flatters the system.
    pub(super) fn of_saturation(&self, system: &str, phase: Phase) -> Ours {
        self.of_phases(system, &[phase, Phase::SATURATED], |outcome| {
            of_phase(outcome, phase, offered) / of_phase(outcome, Phase::SATURATED, per_second)
        })
    }

    /// A figure of one phase over that of another, of one system.
    pub(super) fn over(&self, system: &str, above: Phase, below: Phase, figure: Figure) -> Ours {
        self.of_phases(system, &[above, below], |outcome| {
            of_phase(outcome, above, figure) / of_phase(outcome, below, figure)
        })
    }

    /// A figure of a phase of one system over that of another, seed by seed.
    pub(super) fn ratio(&self, above: &str, below: &str, phase: Phase, figure: Figure) -> Ours {
        self.paired(above, (*self, below), phase, figure, |above, below| above / below)
    }

    /// A figure of a phase of one system over that in other conditions, seed by seed.
    pub(super) fn over_other(
        &self,
        system: &str,
        below: Found<'a>,
        phase: Phase,
        figure: Figure,
    ) -> Ours {
        self.paired(system, (below, system), phase, figure, |above, below| above / below)
    }

    /// How many times as much a figure of one system changes from other conditions to these as that of
    /// another system, seed by seed.
    pub(super) fn changes_more(
        &self,
        others: Found<'a>,
        [one, other]: [&str; 2],
        phase: Phase,
        figure: Figure,
    ) -> Ours {
        let places = [(*self, one), (others, one), (*self, other), (others, other)];
        let cells = places.map(|(found, system)| found.case.cell(system));
        let ours = self.evidence.runs.across(&cells, |outcomes| {
            let at = |place: usize| of_phase(outcomes[place], phase, figure);
            (at(0) / at(1)) / (at(2) / at(3))
        });
        let incomplete = places.map(|(found, system)| found.incomplete(system, &[phase]));
        let void: BTreeSet<u64> =
            places.iter().flat_map(|(found, system)| found.void(system, &[phase])).collect();
        let incomplete = incomplete.into_iter().fold(0.0, f64::max);
        Ours { incomplete, left_out: void.len(), ..ours }
    }

    /// What `join` makes of a figure of a phase of one system and of that of another, which may be in
    /// other conditions, seed by seed.
    pub(super) fn paired(
        &self,
        one: &str,
        (others, other): (Found<'a>, &str),
        phase: Phase,
        figure: Figure,
        join: fn(f64, f64) -> f64,
    ) -> Ours {
        let (one_cell, other_cell) = (self.case.cell(one), others.case.cell(other));
        let ours = self.evidence.runs.paired(&one_cell, &other_cell, |one, other| {
            join(of_phase(one, phase, figure), of_phase(other, phase, figure))
        });
        let incomplete = self.incomplete(one, &[phase]).max(others.incomplete(other, &[phase]));
        let void = &self.void(one, &[phase]) | &others.void(other, &[phase]);
        Ours { incomplete, left_out: void.len(), ..ours }
    }
}

/// The highest rate at which the server kept up; not a number if there is none.
fn capacity(outcome: &Outcome) -> f64 {
    outcome.files.as_ref().and_then(|files| files.capacity).unwrap_or(f64::NAN)
}

/// What ended a search for a capacity, if not the server that did not keep up with a higher rate.
const NOT_THE_SERVER: [&str; 3] =
    ["the clients were late above it", "no higher rate was tried", "kept up with no rate"];

fn not_the_server(found: &FilesOutcome) -> Option<&'static str> {
    match (found.search_end?, found.capacity) {
        (_, None) => Some(NOT_THE_SERVER[2]),
        (SearchEnd::Clients, _) => Some(NOT_THE_SERVER[0]),
        (SearchEnd::Bracket, _) => Some(NOT_THE_SERVER[1]),
        (SearchEnd::Server, _) => None,
    }
}

pub(super) fn mean(phase: &PhaseOutcome) -> f64 {
    phase.all.mean()
}

pub(super) fn median(phase: &PhaseOutcome) -> f64 {
    phase.all.at(50)
}

pub(super) fn p5(phase: &PhaseOutcome) -> f64 {
    phase.all.at(5)
}

pub(super) fn p90(phase: &PhaseOutcome) -> f64 {
    phase.all.at(90)
}

pub(super) fn p95(phase: &PhaseOutcome) -> f64 {
    phase.all.at(95)
}

pub(super) fn p99(phase: &PhaseOutcome) -> f64 {
    phase.all.at(99)
}

pub(super) fn longest(phase: &PhaseOutcome) -> f64 {
    phase.all.at(100)
}

pub(super) fn hot_p99(phase: &PhaseOutcome) -> f64 {
    phase.hot.at(99)
}

pub(super) fn inversion(phase: &PhaseOutcome) -> f64 {
    phase.inversion.unwrap_or(f64::NAN)
}

pub(super) fn megabits(phase: &PhaseOutcome) -> f64 {
    phase.megabits
}

/// Requests per second that were asked for in an open loop.
pub(super) fn offered(phase: &PhaseOutcome) -> f64 {
    phase.offered.unwrap_or(f64::NAN)
}

pub(super) fn per_second(phase: &PhaseOutcome) -> f64 {
    phase.per_second
}

pub(super) fn reads(phase: &PhaseOutcome) -> f64 {
    phase.reads_per_1000
}

pub(super) fn busy(phase: &PhaseOutcome) -> f64 {
    phase.busy
}

pub(super) fn incomplete(phase: &PhaseOutcome) -> f64 {
    phase.incomplete
}

#[cfg(test)]
mod tests {
    use super::super::conditions::{files, own};
    use super::*;
    use crate::choice::Scale;

    #[test]
    fn a_server_that_falls_behind_at_a_share_of_its_own_capacity_has_no_figures() {
        let asked = files(Scale::Full, Vec::new());
        let found = |phase: Phase, unanswered: f64| {
            let per_second = 10_000.0 - unanswered / asked.seconds;
            let requests = (10_000.0 * asked.seconds) as usize;
            let void = PhaseOutcome::void(phase, String::new());
            PhaseOutcome { requests, per_second, invalid: Vec::new(), ..void }
        };
        // A server that blocks leaves hundreds waiting at any moment.
        for (unanswered, does) in [(0.0, true), (1000.0, true), (1050.0, false), (30_000.0, false)]
        {
            assert_eq!(counts(&asked, &found(own(0.95), unanswered)), does, "{unanswered}");
            // At a given rate, overload is what is looked at.
            let given = Phase::of(Load::Rate(10_000.0));
            assert!(counts(&asked, &found(given, unanswered)));
        }
        let full = |phase| PhaseOutcome { busy: 0.995, ..found(phase, 0.0) };
        assert!(!counts(&asked, &full(own(0.95))) && counts(&asked, &full(Phase::SATURATED)));
        assert!(!counts(&asked, &PhaseOutcome::void(own(0.95), "clients late".to_owned())));
    }
}

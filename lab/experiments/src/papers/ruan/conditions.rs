//! The conditions of Ruan & Pai (sections 2.2 to 2.4), and figures of a phase over the seeds. All
//! experiments of this paper use them. A quick run has a small set, little memory and short phases.

use crate::cell::{Disk, Files, Load, Phase, What};
use crate::choice::{Choice, Scale};
use crate::experiment::Evidence;
use crate::experiment::case::Case;
use crate::findings::{Ours, label};
use crate::outcome::{FilesOutcome, Outcome, PhaseOutcome, SearchEnd};

/// weir without an uplink to schedule; its place in the paper is New-Flash's.
pub(super) const WEIR: &str = "weir:files";
/// The same switched so that it opens and reads files in its loop, as the paper's Flash does.
pub(super) const BLOCKS: &str = "weir:files --disk-work blocks";
/// The event-driven server that people run; its place in the paper is Flash's.
pub(super) const NGINX: &str = "nginx";
/// Its remedy.
pub(super) const AIO: &str = "nginx-aio";
/// The paper's other server, today's version.
pub(super) const APACHE: &str = "apache-prefork";
pub(super) const WORKER: &str = "apache-worker";
pub(super) const EVENT: &str = "apache-event";
/// The same with files opened by `weir-lab opener`, which is asked for each; its place in the paper is
/// Flashpache's.
pub(super) const FLASHPACHE: &str = "apache-prefork-opener-always";
/// The same, asked only for what is not in memory.
pub(super) const OPENER: &str = "apache-prefork-opener";
pub(super) const LIGHTTPD: &str = "lighttpd";

/// Loads of the paper's figures, as shares of a server's own capacity (section 3.4).
pub(super) const LOADS: [f64; 6] = [0.2, 0.4, 0.6, 0.8, 0.9, 0.95];
/// The load of its distributions, deciles and tables.
pub(super) const HIGH: f64 = 0.95;
/// Bytes of the set, and of memory (sections 2.2 and 2.3).
const SET: u64 = 3 << 30;
const MEMORY: u64 = 1 << 30;
/// Connections, and requests on each (section 2.3).
const CONNECTIONS: u32 = 1024;
const PER_CONNECTION: u32 = 5;
/// A disk of 2 ms and 60 MB/s, one operation at a time.
pub(super) const DISK: Disk = Disk { seek_ms: 2.0, rate: 60_000_000 };

/// What a server is asked for.
pub(super) fn files(scale: Scale, phases: Vec<Phase>) -> Files {
    let (set, memory, connections, warm, seconds) = match scale {
        // Overload of a second takes a server some tens of MB.
        Scale::Quick => (200 << 20, 128 << 20, 64, 2.0, 2.0),
        Scale::Full => (SET, MEMORY, CONNECTIONS, 40.0, 20.0),
        Scale::Paper => (SET, MEMORY, CONNECTIONS, 60.0, 120.0),
    };
    Files { set, memory, disk: DISK, connections, warm, seconds, phases }
}

/// The paper's users of these files.
pub(super) fn case(files: Files) -> Case {
    Case::files(files).requests_per_connection(PER_CONNECTION)
}

/// Saturation and then shares of the server's own capacity.
pub(super) fn own_loads(loads: &[f64]) -> Vec<Phase> {
    let open = loads.iter().map(|share| own(*share));
    std::iter::once(Phase::SATURATED).chain(open).collect()
}

/// A share of the server's own capacity.
pub(super) fn own(share: f64) -> Phase {
    Phase::of(Load::Own(share))
}

/// The systems of a run; a quick one has only the first two.
pub(super) fn systems(choice: &Choice, own: &[&str]) -> Vec<String> {
    let shown = if choice.scale == Scale::Quick { &own[..own.len().min(2)] } else { own };
    choice.systems(shown)
}

/// A figure of a phase.
pub(super) type Figure = fn(&PhaseOutcome) -> f64;

/// A figure of one phase of an outcome; not a number if it has none such, or one that does not count.
pub(super) fn of_phase(
    outcome: &Outcome,
    phase: Phase,
    figure: impl Fn(&PhaseOutcome) -> f64,
) -> f64 {
    let files = outcome.files.as_ref();
    let found = files.and_then(|files| files.phase(phase.load, phase.what));
    found.filter(|phase| phase.invalid.is_empty()).map_or(f64::NAN, figure)
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
        Ours { incomplete: self.incomplete(system, phases), ..ours }
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
        Ours { incomplete, ..ours }
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

/// Phases of what is asked for in memory, at the same rate as the phase.
pub(super) fn in_memory(phase: Phase) -> Phase {
    Phase { what: What::InMemory, ..phase }
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

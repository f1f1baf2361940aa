//! Whether a server that never waits for a disk still gains by scheduling its uplink. Ruan & Pai (section 6)
//! write that theirs need not schedule connections, of a network that was never full; Schroeder &
//! Harchol-Balter scheduled a full uplink, of a server whose files were in memory. A factorial experiment
//! with a slow disk and a slow uplink, and users who leave.

use std::collections::BTreeSet;

use weir_stats::factorial::{Cube, Effects, PAIRS, effects};
use weir_workload::{FileSet, Wire};

use super::conditions::{case, files};
use super::found::{Figure, Found, busy, incomplete, mean, median, megabits, of_phase, p99, reads};
use crate::cell::{Files, Load, Phase};
use crate::choice::{Choice, Scale};
use crate::experiment::case::Case;
use crate::experiment::{Evidence, Experiment, Group};
use crate::findings::{Axis, Ours, Plot, Row, Section, Table, Unit, series};
use crate::outcome::{Outcome, PhaseOutcome};

pub(in crate::papers) const EXPERIMENT: Experiment = Experiment {
    name: "ruan-factorial",
    paper: "Ruan 2006",
    repeats: "Section 6: whether scheduling is needed without blocking",
    title: "Blocking, scheduling and departures: a factorial experiment",
    groups,
    report,
};

/// What each factor is at its low and at its high level.
const LEVELS: [[&str; 2]; 3] = [
    ["blocking", "not blocking"],
    ["fair", "protective"],
    ["departures unnoticed", "departures noticed"],
];
/// What a factor is called.
const FACTORS: [&str; 3] = ["not blocking", "protective", "departures noticed"];
/// Flags of weir for the levels of the first and the third.
const DISK_WORK: [&str; 2] = [" --disk-work blocks", ""];
const DEPARTURES: [&str; 2] = [" --file-departures unnoticed", ""];

/// Megabits per second of the uplink, and bytes asked for ÷ what it carries, in packets of an Ethernet.
const UPLINK: u64 = 200;
const LOAD: f64 = 1.1;
/// Seconds after which users leave.
const PATIENCE: f64 = 3.0;
/// Of the memory of the other experiments, this share, so that the disk has work at the uplink's rate. An
/// eighth is too little where a server blocks or works for users who left: it is ended for want of memory.
const MEMORY: u64 = 4;
/// Phases are so many times as long.
const LONGER: f64 = 3.0;

/// The flags of the combination of an index of [`Cube`].
fn system(place: usize) -> String {
    let level = |factor: usize| (place >> factor) & 1;
    let (disk, policy) = (DISK_WORK[level(0)], LEVELS[1][level(1)]);
    format!("weir:{policy} --uplink {UPLINK}mbit{disk}{}", DEPARTURES[level(2)])
}

/// What the combination is called.
fn name(place: usize) -> String {
    let level = |factor: usize| LEVELS[factor][(place >> factor) & 1];
    format!("{}, {}, {}", level(0), level(1), level(2))
}

fn of(scale: Scale) -> Case {
    let files = files(scale, Vec::new());
    let set = FileSet::of_bytes(files.set);
    let wire = Wire { requests_per_connection: 5, ..Wire::default() };
    let mean = set.mean_of(&|size| wire.bytes(size) as f64);
    let rate = (LOAD * UPLINK as f64 * 1e6 / 8.0 / mean).round();
    // A quick run's memory holds no server if it is smaller still.
    let memory = if scale == Scale::Quick { files.memory } else { files.memory / MEMORY };
    let phases = vec![Phase::of(Load::Rate(rate))];
    case(Files { memory, seconds: files.seconds * LONGER, phases, ..files }).abort(PATIENCE, 0)
}

fn groups(choice: &Choice) -> Vec<Group> {
    let own: Vec<String> = (0..8).map(system).collect();
    let own: Vec<&str> = own.iter().map(String::as_str).collect();
    of(choice.scale).groups(&choice.systems(&own)).collect()
}

/// What is looked at.
const FIGURES: [(&str, Unit, Figure); 5] = [
    ("median", Unit::Ms, median),
    ("mean", Unit::Ms, mean),
    ("p99", Unit::Ms, p99),
    ("useful bytes, share of the uplink", Unit::Percent, useful),
    ("users answered", Unit::Percent, answered),
];

/// Whether the disk had work to do.
const DISK: [(&str, Unit, Figure); 2] =
    [("disk reads per 1000", Unit::Count, reads), ("disk busy", Unit::Percent, busy)];

fn useful(phase: &PhaseOutcome) -> f64 {
    megabits(phase) / UPLINK as f64
}

fn answered(phase: &PhaseOutcome) -> f64 {
    1.0 - incomplete(phase)
}

/// The eight cells and their only phase.
struct Eight<'a> {
    evidence: &'a Evidence<'a>,
    case: Case,
    phase: Phase,
}

impl Eight<'_> {
    fn found(&self) -> Found<'_> {
        Found::of(self.evidence, &self.case)
    }

    /// One of the effects on a figure, seed by seed.
    fn effect(&self, figure: Figure, pick: impl Fn(&Effects) -> f64) -> Ours {
        let cells: Vec<_> = (0..8).map(|place| self.case.cell(&system(place))).collect();
        let ours = self.evidence.runs.across(&cells, |outcomes| {
            let of = |outcome: &Outcome| of_phase(outcome, self.phase, figure);
            let mut cube: Cube = [f64::NAN; 8];
            for (value, outcome) in cube.iter_mut().zip(outcomes) {
                *value = of(outcome);
            }
            effects(&cube).as_ref().map_or(f64::NAN, &pick)
        });
        let void = (0..8).map(|place| self.found().void(&system(place), &[self.phase]));
        let void: BTreeSet<u64> = void.flatten().collect();
        Ours { left_out: void.len(), ..ours }
    }
}

fn report(evidence: &Evidence<'_>, section: &mut Section) {
    section.text(format!(
        "One server in eight ways: it opens and reads files in its only worker or on helper threads; \
         shares its uplink equally or sends the least remaining first, as far as that is fair; goes on \
         waiting for the disk and the uplink for users who left, until it cannot send to them, or gives \
         their requests up. Its uplink of {UPLINK} Mbit/s, paced by the server on the loopback interface, \
         is asked for {LOAD} of what it carries, in packets of an Ethernet (those of the loopback \
         interface are larger, with fewer headers, so it is a little less there); its memory is a \
         quarter of that of the other experiments, so that the disk has work to do at that rate. Users \
         leave after {PATIENCE} s, and response times are those of users who were answered, so none is \
         longer, whatever the server: shares of users and of bytes say more of an overload than the 99th \
         percentile."
    ));
    section.text(
        "Ruan & Pai write that their approach \"removes the need for the application to explicitly schedule \
         connections\", and that network scheduling \"can still be used\"; their network could carry more \
         than their servers sent. Schroeder & Harchol-Balter scheduled an uplink that was full, for files \
         that were in memory, and judged the mean. So neither measured what is measured here, and the \
         rows have no verdict.",
    );
    section.text(
        "An effect is by how much a figure is multiplied when a factor is high, in the geometric mean \
         over the levels of the others. An interaction is the multiple of one factor's effect when the \
         other is high, over that when it is low: 1 says that each does the same with and without the \
         other. Above 1 is worse for times and better for shares. A gain by scheduling \
         that needs blocking would show as an interaction of \"not blocking\" and \"protective\" on the \
         median above 1, and as a ratio of fair to protective of 1 where nothing blocks.",
    );
    let case = of(evidence.choice.scale);
    let phase = only_phase(&case);
    let eight = Eight { evidence, case, phase };
    section.plot(plot(&eight));
    section.table(combinations(&eight));
    section.table(table(&eight));
    rows(&eight, section);
}

fn only_phase(case: &Case) -> Phase {
    case.files_asked().and_then(|files| files.phases.first()).copied().unwrap_or(Phase::SATURATED)
}

fn plot(eight: &Eight<'_>) -> Plot {
    let names = [0, 1, 4, 5].map(|place: usize| LEVELS[0][place & 1].to_owned());
    let label = "departures unnoticed on the left, noticed on the right";
    let mut plot = Plot::new(
        "Median response time, fair and protective",
        Axis::names(label, names),
        Axis::log("median response time, ms"),
    );
    for (policy, known) in [(0, "weir:fair"), (2, "weir:protective")] {
        let points = [0, 1, 4, 5].into_iter().enumerate().map(|(x, place)| {
            (x as f64, eight.found().value(&system(place | policy), eight.phase, median))
        });
        plot.series.push(series::measured(known, points, 1.0));
    }
    plot
}

fn combinations(eight: &Eight<'_>) -> Table {
    let mut columns = vec!["combination"];
    columns.extend(FIGURES.map(|(name, ..)| name));
    columns.extend(DISK.map(|(name, ..)| name));
    let caption = "Response times in ms of those who were answered, shares in %; median over the seeds, in \
         brackets its interval.";
    let mut table = Table::new(caption, &columns);
    for place in 0..8 {
        let value = |(_, unit, figure): (&str, Unit, Figure)| {
            (eight.found().value(&system(place), eight.phase, figure), unit)
        };
        let figures: Vec<_> = FIGURES.into_iter().chain(DISK).map(value).collect();
        table.row(name(place), &figures);
    }
    table
}

/// One of the effects.
type Pick = Box<dyn Fn(&Effects) -> f64>;

/// Effects and interactions, by name.
fn contrasts() -> Vec<(String, Pick)> {
    let mut all: Vec<(String, Pick)> = Vec::new();
    for (factor, name) in FACTORS.into_iter().enumerate() {
        all.push((name.to_owned(), Box::new(move |effects| effects.alone[factor])));
    }
    for (place, (one, other)) in PAIRS.into_iter().enumerate() {
        let name = format!("{} × {}", FACTORS[one], FACTORS[other]);
        all.push((name, Box::new(move |effects| effects.pairs[place])));
    }
    all.push(("all three".to_owned(), Box::new(|effects| effects.all)));
    all
}

fn table(eight: &Eight<'_>) -> Table {
    let mut columns = vec!["effect or interaction"];
    columns.extend(FIGURES.map(|(name, ..)| name));
    let caption = "By how much the figure is multiplied; 1 is no effect, no interaction.";
    let mut table = Table::new(caption, &columns);
    for (name, pick) in contrasts() {
        let figures = FIGURES.map(|(_, _, figure)| (eight.effect(figure, &pick), Unit::Times));
        table.row(name, &figures);
    }
    table
}

fn rows(eight: &Eight<'_>, section: &mut Section) {
    const NOTICED: usize = 4;
    for blocking in [1, 0] {
        for (name, _, figure) in FIGURES {
            let place = NOTICED + blocking;
            let (fair, protective) = (system(place), system(place | 2));
            let ours = eight.found().ratio(&fair, &protective, eight.phase, figure);
            let what = format!("fair ÷ protective, {name}, {}", LEVELS[0][blocking]);
            section.row(Row::new(what, "", ours, Unit::Times));
        }
    }
    for (name, _, figure) in FIGURES {
        let ours = eight.effect(figure, |effects| effects.pairs[0]);
        let what = format!("interaction of not blocking and protective, {name}");
        section.row(Row::new(what, "", ours, Unit::Times));
    }
    for (factor, called) in FACTORS.into_iter().enumerate() {
        let ours = eight.effect(median, |effects| effects.alone[factor]);
        section.row(Row::new(format!("effect of {called}, median"), "", ours, Unit::Times));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_combination_is_a_server_of_its_own() {
        let all: BTreeSet<String> = (0..8).map(system).collect();
        assert_eq!(all.len(), 8);
        assert_eq!(system(7), "weir:protective --uplink 200mbit");
        assert_eq!(name(7), "not blocking, protective, departures noticed");
        assert!(system(0).starts_with("weir:fair ") && system(0).contains("--disk-work blocks"));
    }
}

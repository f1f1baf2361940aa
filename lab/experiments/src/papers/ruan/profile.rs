//! Response times over the load and their distributions: the first half of the experiment on load
//! (Ruan & Pai, Figures 4 to 7, 16 and 17).

use super::conditions::{APACHE, FLASHPACHE, HIGH, NGINX, WEIR, own};
use super::found::{
    Figure, Found, busy, hot_p99, incomplete, longest, mean, median, megabits, of_phase, offered,
    p5, p90, p95, p99, per_second, reads,
};
use crate::cell::Phase;
use crate::experiment::Evidence;
use crate::experiment::case::Case;
use crate::findings::{Axis, Bar, Claim, Plot, Row, Section, Table, Unit, label, series};
use crate::outcome::{Outcome, PhaseOutcome};

/// What the sections are about.
pub(super) struct Profile<'a> {
    pub(super) evidence: &'a Evidence<'a>,
    pub(super) case: &'a Case,
    pub(super) systems: &'a [String],
    /// Shares of each server's capacity.
    pub(super) loads: &'a [f64],
}

impl<'a> Profile<'a> {
    pub(super) fn found(&self) -> Found<'a> {
        Found::of(self.evidence, self.case)
    }
}

/// Milliseconds within which the paper counts quick responses (section 3.4).
const QUICK: f64 = 10.0;

pub(super) fn report(all: &Profile<'_>, section: &mut Section) {
    for system in all.systems {
        section.plot(profile(all, system));
    }
    for system in all.systems {
        section.plot(distributions(all, system));
    }
    section.table(saturation(all));
    section.table(open_loop(all));
    rows(all, section);
}

/// The paper's number of a figure that a system has there.
fn figure(system: &str, numbers: &[(&str, u32)]) -> String {
    let number = numbers.iter().find(|(of, _)| *of == system);
    number.map_or_else(String::new, |(_, number)| format!("Figure {number}: "))
}

fn profile(all: &Profile<'_>, system: &str) -> Plot {
    let numbers = [(APACHE, 4), (NGINX, 5), (WEIR, 16), (FLASHPACHE, 17)];
    let title = format!("{}response times over load, {}", figure(system, &numbers), label(system));
    let mut plot = Plot::new(title, Axis::linear("load"), Axis::log("response time, ms"));
    let lines: [(&str, Figure); 4] =
        [("5th percentile", p5), ("median", median), ("mean", mean), ("95th percentile", p95)];
    for (colour, (name, figure)) in lines.into_iter().enumerate() {
        let points =
            all.loads.iter().map(|load| (*load, all.found().value(system, own(*load), figure)));
        let line = series::measured(system, points, 1.0);
        plot.series.push(line.named(name).coloured(colour, false));
    }
    plot
}

fn distributions(all: &Profile<'_>, system: &str) -> Plot {
    let number = figure(system, &[(APACHE, 6), (NGINX, 7)]);
    let title = format!("{number}distribution of response times, {}", label(system));
    let mut plot =
        Plot::new(title, Axis::log("response time, ms"), Axis::linear("share of responses"));
    let open = all.loads.iter().map(|load| (format!("load {load}"), own(*load)));
    let all_loads = open.chain([("saturated".to_owned(), Phase::SATURATED)]);
    for (colour, (name, phase)) in all_loads.enumerate() {
        let points = (0..=100).filter_map(|percent| {
            let at = all.found().value(system, phase, |found| found.all.at(percent));
            Some((at.middle()?, percent as f64 / 100.0))
        });
        let line = series::line(system, points.collect());
        plot.series.push(line.named(name).coloured(colour, false));
    }
    plot
}

fn saturation(all: &Profile<'_>) -> Table {
    let columns = [
        "system",
        "requests/s",
        "Mbit/s",
        "median ms",
        "p90 ms",
        "longest ms",
        "disk reads per 1000",
        "disk busy %",
        "incomplete %",
        "keeps up with, requests/s",
    ];
    let caption = "In saturation, and the highest rate at which the system keeps up in an open loop: the \
                   server did not keep up with a higher one, or the row says what else ended the \
                   search; median over the seeds, in brackets its interval.";
    let mut table = Table::new(caption, &columns);
    for system in all.systems {
        let value = |figure: Figure| all.found().value(system, Phase::SATURATED, figure);
        let figures = [
            (value(per_second), Unit::Count),
            (value(megabits), Unit::Count),
            (value(median), Unit::Ms),
            (value(p90), Unit::Ms),
            (value(longest), Unit::Ms),
            (value(reads), Unit::Count),
            (value(busy), Unit::Percent),
            (value(incomplete), Unit::Percent),
            (all.found().capacity(system), Unit::Count),
        ];
        table.row(all.found().searched(system), &figures);
    }
    table
}

fn open_loop(all: &Profile<'_>) -> Table {
    let columns = [
        "load, system",
        "asked for, requests/s",
        "of saturation, %",
        "p5",
        "median",
        "mean",
        "p90",
        "p95",
        "p99",
        "longest",
        "hot p99",
        "within 10 ms, %",
        "disk busy %",
        "incomplete %",
    ];
    let mut table = Table::new("At shares of its own capacity. Response times in ms.", &columns);
    for load in all.loads {
        for system in all.systems {
            let value = |figure: Figure| all.found().value(system, own(*load), figure);
            let figures = [
                (value(offered), Unit::Count),
                (all.found().of_saturation(system, own(*load)), Unit::Percent),
                (value(p5), Unit::Ms),
                (value(median), Unit::Ms),
                (value(mean), Unit::Ms),
                (value(p90), Unit::Ms),
                (value(p95), Unit::Ms),
                (value(p99), Unit::Ms),
                (value(longest), Unit::Ms),
                (value(hot_p99), Unit::Ms),
                (value(quick), Unit::Percent),
                (value(busy), Unit::Percent),
                (value(incomplete), Unit::Percent),
            ];
            table.row(format!("{load}, {}", label(system)), &figures);
        }
    }
    table
}

/// Share of the responses within 10 ms.
fn quick(phase: &PhaseOutcome) -> f64 {
    phase.all.within(QUICK)
}

fn rows(all: &Profile<'_>, section: &mut Section) {
    let found = all.found();
    for system in all.systems {
        let what = format!("{}, rate at {HIGH} ÷ rate in saturation", label(system));
        let ours = found.of_saturation(system, own(HIGH));
        section.row(Row::new(what, HIGH.to_string(), ours, Unit::Times).paper_is(HIGH));
    }
    let low = own(all.loads[0]);
    let phases: Vec<Phase> = all.loads.iter().map(|load| own(*load)).collect();
    let over_least = |outcome: &Outcome| {
        let of = |phase: Phase| of_phase(outcome, phase, p95);
        // Without one of the loads there is no least.
        let least = phases.iter().map(|phase| of(*phase)).reduce(|least, other| {
            if least.is_nan() || other.is_nan() { f64::NAN } else { least.min(other) }
        });
        of(own(HIGH)) / least.unwrap_or(f64::NAN)
    };
    for (system, paper, limit) in [
        (WEIR, "less than a tripling", Bar::Below(3.0)),
        (FLASHPACHE, "less than a tripling", Bar::Below(3.0)),
        (NGINX, "two orders of magnitude", Bar::AtLeast(100.0)),
        (APACHE, "two orders of magnitude", Bar::AtLeast(100.0)),
    ] {
        let what = format!("{}, p95 at {HIGH} ÷ its least over the loads", label(system));
        let row = Row::new(what, paper, found.of_phases(system, &phases, over_least), Unit::Times);
        section.row(row.paper_says(limit));
    }
    for system in [NGINX, APACHE] {
        let ours = found.over(system, Phase::SATURATED, low, median);
        let what = format!("{}, median in saturation ÷ at {}", label(system), all.loads[0]);
        let row = Row::new(what, "over one hundred times", ours, Unit::Times);
        section.row(noted(row.paper_says(Bar::Above(100.0)), system));
    }
    let says = Claim::Holds;
    for (system, phase, word, paper, claim) in [
        (APACHE, own(HIGH), "at 0.95", "over 60 %", says(Bar::Above(0.6))),
        (NGINX, own(HIGH), "at 0.95", "very few (Flash)", says(Bar::AtMost(0.1))),
        (WEIR, own(HIGH), "at 0.95", "98 % (New-Flash)", Claim::Is(0.98)),
        (APACHE, Phase::SATURATED, "in saturation", "only 18 %", Claim::Is(0.18)),
    ] {
        let what = format!("{}, responses within 10 ms, {word}", label(system));
        let row = Row::new(what, paper, found.value(system, phase, quick), Unit::Percent);
        let row = Row { claim: Some(claim), ..row };
        section.row(match system {
            NGINX => row.note("a tenth is taken for very few"),
            APACHE if phase == Phase::SATURATED => noted(row, system),
            _ => row,
        });
    }
    let what = format!("{}, p95 ÷ mean at {HIGH}", label(WEIR));
    let ours = found.value(WEIR, own(HIGH), |phase| p95(phase) / mean(phase));
    let row = Row::new(what, "lower than the mean", ours, Unit::Times);
    section.row(row.paper_says(Bar::Below(1.0)));
    for system in [NGINX, APACHE] {
        let ours = found.ratio(system, WEIR, own(HIGH), hot_p99);
        let what = format!("{} ÷ weir, p99 of hot requests, {HIGH} of own capacity", label(system));
        let row = Row::new(what, "", ours, Unit::Times);
        section.row(row.note("the higher a server's rate, the more files are hot"));
    }
}

/// Says what else makes Apache's requests wait in saturation.
fn noted(row: Row, system: &str) -> Row {
    match system {
        APACHE => row.note("with 256 processes, three in four connections wait to be accepted"),
        _ => row,
    }
}

//! Ruan & Pai, sections 3.1 and 3.2: a server that blocks finds many events ready when it wakes, and its
//! processes become runnable all at once.

use super::conditions::{
    self, AIO, APACHE, EVENT, FLASHPACHE, Found, LIGHTTPD, NGINX, WEIR, WORKER, case, files,
};
use crate::cell::{Load, Phase, What};
use crate::choice::{Choice, Scale};
use crate::experiment::case::Case;
use crate::experiment::{Evidence, Experiment, Group};
use crate::findings::{Axis, Bar, Plot, Row, Section, Table, Unit, label, series};
use crate::outcome::{Observed, PhaseOutcome, Ready};

pub(in crate::papers) const EXPERIMENT: Experiment = Experiment {
    name: "ruan-bursts",
    paper: "Ruan 2006",
    repeats: "Figures 1, 2, 13 and 14",
    title: "Ready events and runnable processes come in bursts",
    groups,
    report,
};

const BLOCKS: &str = "weir:files --disk-work blocks";
const OWN: [&str; 9] = [WEIR, NGINX, BLOCKS, AIO, APACHE, FLASHPACHE, WORKER, EVENT, LIGHTTPD];
const WATCHED: Phase = Phase { load: Load::Saturated, what: What::Watched };

fn of(scale: Scale) -> Case {
    case(files(scale, vec![Phase::SATURATED, WATCHED]))
}

fn groups(choice: &Choice) -> Vec<Group> {
    of(choice.scale).points(&conditions::systems(choice, &OWN)).collect()
}

fn report(evidence: &Evidence<'_>, section: &mut Section) {
    section.text(
        "In saturation (1024 requests under way), watched as `weir-lab blame` does: what each wake of \
         an event loop returned, and how many of a server's processes and threads could run. nginx \
         stands where the paper has Flash, weir where it has New-Flash, and Apache prefork with the \
         opener's module where it has Flashpache; Apache prefork has 256 processes.",
    );
    let case = of(evidence.choice.scale);
    let found = Found::of(evidence, &case);
    let systems = conditions::systems(evidence.choice, &OWN);
    section.plot(runnable(found, &systems));
    section.table(table(found, &systems));
    rows(found, section);
}

fn observed(phase: &PhaseOutcome, figure: impl Fn(&Observed) -> f64) -> f64 {
    phase.observed.as_ref().map_or(f64::NAN, figure)
}

fn ready(phase: &PhaseOutcome, figure: fn(&Ready) -> f64) -> f64 {
    observed(phase, |seen| seen.ready.as_ref().map_or(f64::NAN, figure))
}

/// The share of the time with none runnable, or with more than four fifths.
fn none(phase: &PhaseOutcome) -> f64 {
    observed(phase, |seen| seen.runnable[0])
}

fn nearly_all(phase: &PhaseOutcome) -> f64 {
    observed(phase, |seen| seen.runnable[9] + seen.runnable[10])
}

fn mean_runnable(phase: &PhaseOutcome) -> f64 {
    observed(phase, |seen| seen.mean_runnable)
}

fn runnable(found: Found<'_>, systems: &[String]) -> Plot {
    let names = std::iter::once("none".to_owned())
        .chain((1..=10).map(|tenth| format!("to {} %", tenth * 10)));
    let mut plot = Plot::new(
        "Figures 2 and 14: how many of a server's processes can run",
        Axis::names("of its processes and threads", names),
        Axis::linear("share of the time, %"),
    );
    for system in systems {
        let points = (0..11).map(|place| {
            let ours = found.value(system, WATCHED, |phase| observed(phase, |s| s.runnable[place]));
            (place as f64, ours)
        });
        plot.series.push(series::measured(system, points, 100.0));
    }
    plot
}

fn table(found: Found<'_>, systems: &[String]) -> Table {
    let columns = [
        "system",
        "events per wake, median",
        "mean",
        "most",
        "above 100, %",
        "none can run, %",
        "over 80 % can run, %",
        "mean share that can run, %",
    ];
    let caption = "Figures 1, 2, 13 and 14: ready events, and shares of the time.";
    let mut table = Table::new(caption, &columns);
    for system in systems {
        let events =
            |figure: fn(&Ready) -> f64| found.value(system, WATCHED, |phase| ready(phase, figure));
        let value = |figure: fn(&PhaseOutcome) -> f64| found.value(system, WATCHED, figure);
        let figures = [
            (events(|ready| ready.median), Unit::Count),
            (events(|ready| ready.mean), Unit::Count),
            (events(|ready| ready.most), Unit::Count),
            (events(|ready| ready.above_100), Unit::Percent),
            (value(none), Unit::Percent),
            (value(nearly_all), Unit::Percent),
            (value(mean_runnable), Unit::Percent),
        ];
        table.row(label(system), &figures);
    }
    table
}

fn rows(found: Found<'_>, section: &mut Section) {
    let events = |system: &str, what: &str, figure: fn(&Ready) -> f64, paper: &str, unit| {
        let ours = found.value(system, WATCHED, |phase| ready(phase, figure));
        let what = format!("{}, ready events per wake, {what}", label(system));
        Row::new(what, paper, ours, unit)
    };
    let flash = [NGINX, BLOCKS];
    let mut all = Vec::new();
    for system in flash {
        all.push(events(system, "median", |r| r.median, "12 (Flash)", Unit::Count).paper_is(12.0));
        all.push(events(system, "mean", |r| r.mean, "61 (Flash)", Unit::Count).paper_is(61.0));
        let most = events(system, "most", |r| r.most, "more than 600 (Flash)", Unit::Count);
        all.push(most.paper_says(Bar::Above(600.0)));
        let many =
            events(system, "above 100", |r| r.above_100, "more than 25 % (Flash)", Unit::Percent);
        all.push(many.paper_says(Bar::Above(0.25)));
    }
    all.push(events(WEIR, "median", |r| r.median, "2 (New-Flash)", Unit::Count).paper_is(2.0));
    all.push(events(WEIR, "mean", |r| r.mean, "1.6 (New-Flash)", Unit::Count).paper_is(1.6));
    all.into_iter().for_each(|row| section.row(row));
    for (what, figure, paper, limit) in [
        ("none can run", none as fn(&PhaseOutcome) -> f64, "one third of the time", None),
        ("over 80 % can run", nearly_all, "over 40 % of the time", Some(Bar::Above(0.4))),
    ] {
        let what = format!("{}, {what}", label(APACHE));
        let row = Row::new(what, paper, found.value(APACHE, WATCHED, figure), Unit::Percent);
        section.row(match limit {
            Some(limit) => row.paper_says(limit),
            None => row.paper_is(1.0 / 3.0),
        });
    }
    let row = Row::new(
        format!("{}, mean share that can run", label(FLASHPACHE)),
        "about 20 % (Flashpache)",
        found.value(FLASHPACHE, WATCHED, mean_runnable),
        Unit::Percent,
    );
    section.row(row.paper_is(0.2));
}

//! Ruan & Pai, sections 3.1 and 3.2: a server that blocks finds many events ready when it wakes, and its
//! processes become runnable all at once.

use super::conditions::{
    self, AIO, APACHE, APACHE_1024, BLOCKS, EVENT, FLASHPACHE, LIGHTTPD, NGINX, OPENER, WEIR,
    WORKER, case, files,
};
use super::found::Found;
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

const OWN: [&str; 11] =
    [WEIR, NGINX, BLOCKS, AIO, APACHE, APACHE_1024, OPENER, FLASHPACHE, WORKER, EVENT, LIGHTTPD];
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
         opener always asked where it has Flashpache; Apache prefork has 256 processes, or 1024. nginx takes \
         at most 512 events at once (`epoll_events`), weir 1024.",
    );
    let case = of(evidence.choice.scale);
    let found = Found::of(evidence, &case);
    let systems = conditions::systems(evidence.choice, &OWN);
    section.plot(events(found, &systems));
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

fn events(found: Found<'_>, systems: &[String]) -> Plot {
    let mut plot = Plot::new(
        "Figures 1 and 13: ready events per wake",
        Axis::log("events"),
        Axis::linear("share of the wakes"),
    );
    for system in systems {
        let points = (1..=100).filter_map(|percent| {
            let share = f64::from(percent) / 100.0;
            let at = found.value(system, WATCHED, |phase| {
                observed(phase, |seen| seen.ready.as_ref().map_or(f64::NAN, |r| r.at(share)))
            });
            Some((at.middle()?, share))
        });
        plot.series.push(series::line(system, points.collect()));
    }
    plot
}

/// The share of the time in these bins.
fn share(phase: &PhaseOutcome, bins: &[usize]) -> f64 {
    observed(phase, |seen| {
        seen.runnable.map_or(f64::NAN, |shares| bins.iter().map(|bin| shares[*bin]).sum())
    })
}

/// The share of the time with none runnable, with three or four fifths of them, or with more.
fn none(phase: &PhaseOutcome) -> f64 {
    share(phase, &[0])
}

fn most_of_them(phase: &PhaseOutcome) -> f64 {
    share(phase, &[7, 8])
}

fn nearly_all(phase: &PhaseOutcome) -> f64 {
    share(phase, &[9, 10])
}

fn mean_runnable(phase: &PhaseOutcome) -> f64 {
    observed(phase, |seen| seen.mean_runnable.unwrap_or(f64::NAN))
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
            let ours = found.value(system, WATCHED, |phase| share(phase, &[place]));
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
        all.push(match system {
            NGINX => most.note("it takes at most 512 at once"),
            _ => most.paper_says(Bar::Above(600.0)),
        });
        let many =
            events(system, "above 100", |r| r.above_100, "more than 25 % (Flash)", Unit::Percent);
        all.push(many.paper_says(Bar::Above(0.25)));
    }
    all.push(events(WEIR, "median", |r| r.median, "2 (New-Flash)", Unit::Count).paper_is(2.0));
    all.push(events(WEIR, "mean", |r| r.mean, "1.6 (New-Flash)", Unit::Count).paper_is(1.6));
    all.into_iter().for_each(|row| section.row(row));
    let row = |system: &str, what: &str, figure: fn(&PhaseOutcome) -> f64, paper: &str| {
        let what = format!("{}, {what}", label(system));
        Row::new(what, paper, found.value(system, WATCHED, figure), Unit::Percent)
    };
    let blocked = row(APACHE_1024, "none can run", none, "roughly one third of the time");
    section.row(blocked.paper_is(1.0 / 3.0));
    let all = row(APACHE_1024, "over 80 % can run", nearly_all, "over 40 % of the time");
    section.row(all.paper_says(Bar::Above(0.4)));
    let most = row(APACHE, "60 to 80 % can run", most_of_them, "generally");
    let most = most.paper_says(Bar::Above(0.5));
    section.row(most.note("more than half of the time is taken for generally"));
    let row = Row::new(
        format!("{}, mean share that can run", label(FLASHPACHE)),
        "about 20 % (Flashpache)",
        found.value(FLASHPACHE, WATCHED, mean_runnable),
        Unit::Percent,
    );
    section.row(row.paper_is(0.2));
}

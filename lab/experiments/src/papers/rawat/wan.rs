//! Rawat 2003, section 5, over a real link: Figures 3 to 10 with real servers, monitored clients far away
//! and others beside the server.

use crate::choice::{Choice, Scale};
use crate::experiment::case::Case;
use crate::experiment::systems::{FAIR, NGINX, SRPT};
use crate::experiment::{Evidence, Experiment, Group};
use crate::findings::{Axis, Bar, Ours, Plot, Row, Section, Table, Unit, label, series};
use crate::outcome::{Outcome, Summary};

pub(in crate::papers) const EXPERIMENT: Experiment = Experiment {
    name: "rawat-wan",
    paper: "Rawat 2003",
    repeats: "Figures 3 to 10, with real servers over an emulated link",
    title: "SWIFT over real paths",
    groups,
    report,
};

const SWIFT: &str = "weir:swift";
/// It takes the round trip from the request, as the paper's server does.
const SWIFT_TOLD: &str = "weir:swift --swift-round-trip request";
const OWN: [&str; 5] = [SWIFT, SRPT, FAIR, SWIFT_TOLD, NGINX];

/// The figures' loads, and the lines of each, in milliseconds.
const LOADS: [f64; 4] = [0.5, 0.7, 0.8, 0.9];
const ROUND_TRIPS: [f64; 4] = [50.0, 100.0, 150.0, 250.0];
/// The share of the load that is monitored, and the round trip of the other clients: the paper gives
/// neither.
const MONITORED: f64 = 0.5;
const BESIDE_THE_SERVER: f64 = 0.2;

fn case(scale: Scale, load: f64, round_trip: f64) -> Case {
    let seconds = match scale {
        Scale::Quick => 30.0,
        Scale::Full => 60.0,
        Scale::Paper => 600.0,
    };
    let (monitored, others) = (load * MONITORED, load * (1.0 - MONITORED));
    Case::classes(&[(monitored, round_trip), (others, BESIDE_THE_SERVER)], seconds)
}

/// Loads and round trips of a run: a quick one has the corners.
fn grid(scale: Scale) -> impl Iterator<Item = (f64, f64)> {
    let corner = |load: f64, trip: f64| [0.5, 0.9].contains(&load) && [50.0, 250.0].contains(&trip);
    let all = LOADS.into_iter().flat_map(|load| ROUND_TRIPS.map(|trip| (load, trip)));
    all.filter(move |(load, trip)| scale != Scale::Quick || corner(*load, *trip))
}

fn groups(choice: &Choice) -> Vec<Group> {
    let systems = choice.systems(&OWN);
    let of = |(load, trip)| case(choice.scale, load, trip).groups(&systems).collect::<Vec<_>>();
    grid(choice.scale).flat_map(of).collect()
}

/// A figure of one class of clients.
fn class(outcome: &Outcome, class: usize, figure: fn(&Summary) -> f64) -> f64 {
    outcome.by_class.get(class).map_or(f64::NAN, figure)
}

fn monitored(outcome: &Outcome) -> f64 {
    class(outcome, 0, |summary| summary.mean)
}

fn others(outcome: &Outcome) -> f64 {
    class(outcome, 1, |summary| summary.mean)
}

/// The largest 1 % of the monitored responses; those of 500 KB, the paper's large, are fewer.
fn large(outcome: &Outcome) -> f64 {
    class(outcome, 0, |summary| summary.largest)
}

fn deciles(outcome: &Outcome) -> &[f64] {
    outcome.by_class.first().map_or(&[], |summary| &summary.deciles)
}

/// A mean over the smallest half of the monitored responses.
fn small(outcome: &Outcome) -> f64 {
    deciles(outcome).iter().take(5).sum::<f64>() / 5.0
}

/// The share of the deciles of size in which the first has less response time than the second.
fn gaining(swift: &Outcome, srpt: &Outcome) -> f64 {
    let pairs = || deciles(swift).iter().zip(deciles(srpt));
    pairs().filter(|(swift, srpt)| swift < srpt).count() as f64 / pairs().count() as f64
}

fn report(evidence: &Evidence<'_>, section: &mut Section) {
    section.text(
        "Half of the offered load (in wire bytes) comes from monitored clients at the given round-trip \
         time, the other half from clients beside the server, all by Poisson arrivals with the sizes of \
         the World Cup trace; one connection per request, and the response time counts from its SYN. \
         The paper's background are SURGE's users, whose tail is too heavy for runs of a minute; the \
         simulated experiment `rawat` has them. Both sites of the paper differ in their own round trip \
         alone (30 and 50 ms), to which its clients add what is missing: here the whole round trip is \
         the emulated link's, and one set of runs stands for both sites.",
    );
    let systems = evidence.choice.systems(&OWN);
    let has = |system: &str| systems.iter().any(|known| known == system);
    for load in LOADS {
        curves(evidence, section, load, &systems);
    }
    section.table(table(evidence, &systems));
    if has(SWIFT) && has(SRPT) {
        claims(evidence, section);
    }
}

/// A figure of the paper: response times over the percentile of size, a line for each policy and round
/// trip.
fn curves(evidence: &Evidence<'_>, section: &mut Section, load: f64, systems: &[String]) {
    let number = 3 + LOADS.iter().position(|known| *known == load).unwrap_or(0);
    let title = format!("Figures {number} and {}: monitored clients, load {load}", number + 4);
    let (x, y) = (Axis::linear("percentile of size"), Axis::log("mean response time, ms"));
    let mut plot = Plot::new(&title, x, y);
    for (_, trip) in grid(evidence.choice.scale).filter(|(at, _)| *at == load) {
        let case = case(evidence.choice.scale, load, trip);
        for system in systems.iter().filter(|system| [SWIFT, SRPT].contains(&system.as_str())) {
            let cell = case.cell(system);
            let points = (0..10).map(|decile| {
                let at = |o: &Outcome| deciles(o).get(decile).copied().unwrap_or(f64::NAN);
                (decile as f64 * 10.0 + 5.0, evidence.runs.value(&cell, at))
            });
            let mut line = series::measured(system, points, 1.0);
            line.name = format!("{}, {trip} ms", label(system));
            plot.series.push(line);
        }
    }
    if !plot.series.is_empty() {
        section.plot(plot);
    }
}

fn table(evidence: &Evidence<'_>, systems: &[String]) -> Table {
    let columns = [
        "load, round trip, system",
        "monitored, mean",
        "smaller half",
        "largest 1 %",
        "others, mean",
        "incomplete %",
    ];
    let mut table = Table::new(
        "Response times in ms; median over the seeds, in brackets its interval.",
        &columns,
    );
    for (load, trip) in grid(evidence.choice.scale) {
        for system in systems {
            let cell = case(evidence.choice.scale, load, trip).cell(system);
            let value = |figure: fn(&Outcome) -> f64| evidence.runs.value(&cell, figure);
            let figures = [
                (value(monitored), Unit::Ms),
                (value(small), Unit::Ms),
                (value(large), Unit::Ms),
                (value(others), Unit::Ms),
                (value(|o| o.incomplete), Unit::Percent),
            ];
            table.row(format!("{load}, {trip} ms, {}", label(system)), &figures);
        }
    }
    table
}

fn claims(evidence: &Evidence<'_>, section: &mut Section) {
    let scale = evidence.choice.scale;
    let gain = |load: f64, trip: f64, figure: fn(&Outcome) -> f64| -> Ours {
        let (swift, srpt) = both(scale, load, trip);
        evidence.runs.paired(&swift, &srpt, |swift, srpt| 1.0 - figure(swift) / figure(srpt))
    };
    for (load, trip) in grid(scale) {
        let what = format!("swift against srpt, largest 1 %, load {load}, {trip} ms: gain");
        let row = Row::new(what, "2.5 to 10 %", gain(load, trip, large), Unit::Percent);
        section.row(row.paper_says(Bar::Between(0.025, 0.1)));
    }
    for (load, trip) in grid(scale) {
        let (swift, srpt) = both(scale, load, trip);
        let ours = evidence.runs.paired(&swift, &srpt, gaining);
        let what = format!("deciles of size that gain, load {load}, {trip} ms");
        let row = Row::new(what, "40 to 80 % of the requests", ours, Unit::Percent);
        section.row(row.paper_says(Bar::Between(0.4, 0.8)));
    }
    for (load, trip) in grid(scale) {
        let what = format!("swift against srpt, smaller half, load {load}, {trip} ms: gain");
        let paper = "not adversely affected by much";
        let row = Row::new(what, paper, gain(load, trip, small), Unit::Percent);
        section.row(row.paper_says(Bar::AtLeast(-0.05)).note("a loss of 5 % counts as not much"));
    }
    for (load, trip) in grid(scale) {
        let what = format!("swift against srpt, the others' mean, load {load}, {trip} ms: gain");
        section.row(Row::new(what, "", gain(load, trip, others), Unit::Percent));
    }
    for (load, trip) in grid(scale) {
        let (swift, _) = both(scale, load, trip);
        let stock = case(scale, load, trip).cell(NGINX);
        let ours = evidence.runs.ratio(&swift, &stock, large);
        let what = format!("swift ÷ nginx, largest 1 %, load {load}, {trip} ms");
        let row =
            Row::new(what, "the mean response time for the largest goes up", ours, Unit::Times);
        section.row(row.paper_says(Bar::Above(1.0)).note("the paper's stock server is Apache 1.3"));
    }
}

fn both(scale: Scale, load: f64, trip: f64) -> (crate::cell::Cell, crate::cell::Cell) {
    let case = case(scale, load, trip);
    (case.cell(SWIFT), case.cell(SRPT))
}

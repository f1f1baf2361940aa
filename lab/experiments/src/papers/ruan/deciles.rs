//! The order of responses: service inversion over the load, and the sizes in each decile of response
//! times. The second half of the experiment on load (Ruan & Pai, Table 4, Figures 10, 11, 18, 19 and 21).

use weir_stats::composition::{Composition, RUAN_SHARES};
use weir_stats::inversion::of_random_order;
use weir_workload::FileSet;

use super::conditions::{APACHE, BLOCKS, FLASHPACHE, HIGH, LOADS, NGINX, WEIR, own};
use super::found::{Found, inversion};
use super::profile::Profile;
use crate::cell::Phase;
use crate::findings::{Axis, Bar, Plot, Row, Section, Table, Unit, label, series};
use crate::outcome::PhaseOutcome;

/// Table 4.
const APACHES: [f64; 6] = [0.14, 0.23, 0.28, 0.51, 0.54, 0.58];
const FLASHS: [f64; 6] = [0.25, 0.35, 0.45, 0.52, 0.56, 0.58];
/// What the series of sizes are called in a legend.
const SERIES: [&str; 4] = ["up to 0.5 KB", "0.6 to 4 KB", "5 and 6 KB", "7 KB and more"];

pub(super) fn report(all: &Profile<'_>, section: &mut Section) {
    section.plot(over_load(all));
    for system in all.systems {
        let number = match system.as_str() {
            APACHE => "Figure 10: ",
            NGINX => "Figure 11: ",
            WEIR => "Figure 18: ",
            FLASHPACHE => "Figure 21: ",
            _ => "",
        };
        let title = format!("{number}sizes by decile of response time, {}", label(system));
        section.plot(by_decile(all.found(), system, own(HIGH), &title));
    }
    section.table(table(all));
    rows(all, section);
}

fn over_load(all: &Profile<'_>) -> Plot {
    let mut plot = Plot::new(
        "Figure 19: service inversion over load",
        Axis::linear("load"),
        Axis::linear("service inversion"),
    );
    for system in all.systems {
        let points =
            all.loads.iter().map(|load| (*load, all.found().value(system, own(*load), inversion)));
        plot.series.push(series::measured(system, points, 1.0));
    }
    plot
}

/// The share of a series of sizes in a decile, both counted from 0.
fn share(phase: &PhaseOutcome, series: usize, decile: usize) -> f64 {
    let shares = phase.composition.as_ref().map(Composition::shares).unwrap_or_default();
    let of_decile = shares.into_iter().nth(decile).flatten();
    of_decile.and_then(|shares| shares.get(series).copied()).unwrap_or(f64::NAN)
}

/// A line for each series of sizes: its share of every decile.
pub(super) fn by_decile(found: Found<'_>, system: &str, phase: Phase, title: &str) -> Plot {
    let mut plot = Plot::new(
        title,
        Axis::linear("decile of response time, fastest first"),
        Axis::linear("share of the responses, %"),
    );
    for (place, name) in SERIES.into_iter().enumerate() {
        let points = (0..10).map(|decile| {
            let ours = found.value(system, phase, |found| share(found, place, decile));
            (decile as f64 + 1.0, ours)
        });
        let line = series::measured(system, points, 100.0);
        plot.series.push(line.named(name).coloured(place, false));
    }
    plot
}

fn table(all: &Profile<'_>) -> Table {
    let loads: Vec<String> = all.loads.iter().map(f64::to_string).collect();
    let mut columns = vec!["system"];
    columns.extend(loads.iter().map(String::as_str));
    columns.push("saturated");
    let random = random();
    let caption = format!(
        "Table 4: service inversion over load. A random order of these sizes has {random:.3} (of sizes \
         that all differ, 2/3)."
    );
    let mut table = Table::new(caption, &columns);
    for system in all.systems {
        let phases = all.loads.iter().map(|load| own(*load)).chain([Phase::SATURATED]);
        let figures =
            phases.map(|phase| (all.found().value(system, phase, inversion), Unit::Count));
        table.row(label(system), &figures.collect::<Vec<_>>());
    }
    table
}

/// Service inversion of a random order of these sizes.
pub(super) fn random() -> f64 {
    of_random_order(&FileSet::of_bytes(1).shares())
}

fn rows(all: &Profile<'_>, section: &mut Section) {
    let found = all.found();
    // That two figures are near says nothing where a random order is as near.
    let beside = |row: Row| row.note(format!("a random order has {:.3}", random()));
    for (system, paper) in [(APACHE, APACHES), (NGINX, FLASHS)] {
        for (load, paper) in LOADS.into_iter().zip(paper).filter(|(l, _)| all.loads.contains(l)) {
            let what = format!("{}, service inversion at {load}", label(system));
            let ours = found.value(system, own(load), inversion);
            let words =
                if system == NGINX { format!("{paper} (Flash)") } else { paper.to_string() };
            section.row(beside(Row::new(what, words, ours, Unit::Count)));
        }
    }
    let what = format!("{}, service inversion at {HIGH}", label(WEIR));
    let ours = found.value(WEIR, own(HIGH), inversion);
    section.row(beside(Row::new(what, "0.35 (New-Flash)", ours, Unit::Count)));
    // Its 0.35 and 0.58 are 0.603, so its words are a little stronger than its figures.
    for (system, old, words, paper) in [
        (WEIR, NGINX, "reduced by over 40 %: 0.35 ÷ 0.58", 0.603),
        (WEIR, BLOCKS, "reduced by over 40 %: 0.35 ÷ 0.58", 0.603),
        (FLASHPACHE, APACHE, "almost halved", 0.5),
    ] {
        let ours = found.ratio(system, old, own(HIGH), inversion);
        let what = format!("{} ÷ {}, service inversion at {HIGH}", label(system), label(old));
        section.row(Row::new(what, words, ours, Unit::Times).paper_is(paper));
    }
    for system in [NGINX, APACHE] {
        let what = format!(
            "{}, smallest sizes in the slower half ÷ their share of the requests, at {HIGH}",
            label(system)
        );
        let ours = found.value(system, own(HIGH), |phase| {
            (5..10).map(|decile| share(phase, 0, decile)).sum::<f64>() / 5.0 / RUAN_SHARES[0]
        });
        let row = Row::new(what, "spread fairly evenly", ours, Unit::Times);
        section.row(row.paper_is(1.0).note("so they are in a random order"));
    }
    let two = |series: usize, from: usize| {
        move |phase: &PhaseOutcome| {
            (share(phase, series, from) + share(phase, series, from + 1)) / 2.0
        }
    };
    for (what, series, from) in
        [("smallest sizes in the first two", 0, 0), ("largest sizes in the last two", 3, 8)]
    {
        let what = format!("weir, share of the {what} deciles at {HIGH}");
        let ours = found.value(WEIR, own(HIGH), two(series, from));
        let row = Row::new(what, "dominate", ours, Unit::Percent);
        section.row(row.paper_says(Bar::Above(0.5)).note("more than half is taken for dominating"));
    }
}

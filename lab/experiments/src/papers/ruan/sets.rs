//! Ruan & Pai, section 3.5 and Figures 8, 15 and 20: response times over the size of the set, from half of
//! the memory to four times the memory.

use super::conditions::{
    self, AIO, APACHE, BLOCKS, EVENT, HIGH, LIGHTTPD, NGINX, WEIR, WORKER, case, files, own,
    own_loads,
};
use super::deciles::{by_decile, random};
use super::found::{Figure, Found, busy, incomplete, inversion, mean, median, reads};
use super::{generations, load};
use crate::cell::Files;
use crate::choice::{Choice, Scale};
use crate::experiment::case::Case;
use crate::experiment::{Evidence, Experiment, Group};
use crate::findings::{Axis, Bar, Plot, Row, Section, Table, Unit, label, series};

pub(in crate::papers) const EXPERIMENT: Experiment = Experiment {
    name: "ruan-sets",
    paper: "Ruan 2006",
    repeats: "Figures 8, 15 and 20",
    title: "Sets larger than memory",
    groups,
    report,
};

const OWN: [&str; 8] = [WEIR, NGINX, BLOCKS, APACHE, AIO, LIGHTTPD, WORKER, EVENT];
/// Sizes of the set in quarters of the memory.
const QUARTERS: [u64; 5] = [IN_MEMORY, 4, 8, MAIN, 16];
/// Half of the memory, so that all is in memory, and the set of the other experiments.
const IN_MEMORY: u64 = 2;
const MAIN: u64 = 12;
/// A median that grows by less than this does not grow.
const NO_GROWTH: f64 = 1.25;

/// Sets of a run, in quarters of the memory, smallest first.
fn sets(scale: Scale) -> Vec<u64> {
    match scale {
        Scale::Quick => vec![QUARTERS[0], MAIN],
        Scale::Full | Scale::Paper => QUARTERS.to_vec(),
    }
}

/// Two sets are also those of other experiments, whose runs have all that is needed here.
fn of(scale: Scale, quarters: u64) -> Case {
    match quarters {
        IN_MEMORY => generations::in_memory(scale),
        MAIN => load::of(scale),
        _ => {
            let files = files(scale, own_loads(&[HIGH]));
            case(Files { set: files.memory / 4 * quarters, ..files })
        }
    }
}

fn groups(choice: &Choice) -> Vec<Group> {
    let systems = conditions::systems(choice, &OWN);
    let points = |quarters| of(choice.scale, quarters).points(&systems).collect::<Vec<_>>();
    sets(choice.scale).into_iter().flat_map(points).collect()
}

fn report(evidence: &Evidence<'_>, section: &mut Section) {
    section.text(
        "At 0.95 of each server's own capacity with that set, on the same disk and with the same \
         memory, 1 GB: other rates for other sets. Where a row says that the clients were late, the server \
         was not at its limit, so two sets may be at different loads. The paper's Figure 20 is at 0.95 of \
         capacity; of Figures 8 and 15 it does not say. Only the smallest set is in memory: a server \
         needs some of its memory for itself. Nothing is locked there, and the table says how often the \
         disk was read.",
    );
    section.text(
        "weir stands where the paper has New-Flash, nginx and weir with `blocks` (which opens and reads \
         files in its loop) where it has Flash; Flashpache was not run with other sets. What \"keeps up\" \
         means, and which phases have no figures, `ruan-load` says.",
    );
    let systems = conditions::systems(evidence.choice, &OWN);
    let plots: [(&str, Figure); 2] = [
        ("Figures 8 and 15: mean response time over the set", mean),
        ("Figures 8 and 15: median response time over the set", median),
    ];
    for (title, figure) in plots {
        section.plot(over_sets(evidence, title, &systems, figure));
    }
    let smallest = of(evidence.choice.scale, QUARTERS[0]);
    for system in &systems {
        let number = if system == WEIR { "Figure 20: " } else { "" };
        let title =
            format!("{number}sizes by decile of response time, in memory, {}", label(system));
        section.plot(by_decile(Found::of(evidence, &smallest), system, own(HIGH), &title));
    }
    section.table(table(evidence, &systems));
    rows(evidence, section);
}

fn over_sets(evidence: &Evidence<'_>, title: &str, systems: &[String], figure: Figure) -> Plot {
    let (x, y) = (Axis::linear("set ÷ memory"), Axis::log("response time, ms"));
    let mut plot = Plot::new(title, x, y);
    for system in systems {
        let points = sets(evidence.choice.scale).into_iter().map(|quarters| {
            let case = of(evidence.choice.scale, quarters);
            let ours = Found::of(evidence, &case).value(system, own(HIGH), figure);
            (quarters as f64 / 4.0, ours)
        });
        plot.series.push(series::measured(system, points, 1.0));
    }
    plot
}

fn table(evidence: &Evidence<'_>, systems: &[String]) -> Table {
    let columns = [
        "set ÷ memory, system",
        "keeps up with, requests/s",
        "rate at 0.95, % of saturation",
        "disk busy, %",
        "median",
        "mean",
        "inversion",
        "disk operations per 1000 requests",
        "incomplete %",
    ];
    let caption = "At 0.95 of the capacity with that set. The server did not keep up with a higher rate, or \
                   the row says what else ended the search. Response times in ms.";
    let mut table = Table::new(caption, &columns);
    for quarters in sets(evidence.choice.scale) {
        let case = of(evidence.choice.scale, quarters);
        let found = Found::of(evidence, &case);
        for system in systems {
            let value = |figure: Figure| found.value(system, own(HIGH), figure);
            let figures = [
                (found.capacity(system), Unit::Count),
                (found.of_saturation(system, own(HIGH)), Unit::Percent),
                (value(busy), Unit::Percent),
                (value(median), Unit::Ms),
                (value(mean), Unit::Ms),
                (value(inversion), Unit::Count),
                (value(reads), Unit::Count),
                (value(incomplete), Unit::Percent),
            ];
            let name = format!("{}, {}", quarters as f64 / 4.0, found.searched(system));
            table.row(name, &figures);
        }
    }
    table
}

fn rows(evidence: &Evidence<'_>, section: &mut Section) {
    let scale = evidence.choice.scale;
    let all = sets(scale);
    let (smallest, largest) = (of(scale, all[0]), of(scale, all[all.len() - 1]));
    let [smallest, largest] = [&smallest, &largest].map(|case| Found::of(evidence, case));
    let over =
        |system: &str, figure: Figure| largest.over_other(system, smallest, own(HIGH), figure);
    for (system, paper) in [
        (WEIR, "still increases (New-Flash)"),
        (NGINX, "grows beyond memory (Flash)"),
        (BLOCKS, "grows beyond memory (Flash)"),
        (APACHE, "grows beyond memory"),
    ] {
        let what = format!("{}, mean with the largest set ÷ in memory", label(system));
        let row = Row::new(what, paper, over(system, mean), Unit::Times);
        section.row(row.paper_says(Bar::Above(1.0)));
    }
    for (system, paper, limit) in [
        (NGINX, "increases (Flash)", Bar::Above(NO_GROWTH)),
        (BLOCKS, "increases (Flash)", Bar::Above(NO_GROWTH)),
        (APACHE, "increases", Bar::Above(NO_GROWTH)),
        (WEIR, "no longer grows (New-Flash)", Bar::AtMost(NO_GROWTH)),
    ] {
        let what = format!("{}, median with the largest set ÷ in memory", label(system));
        let row = Row::new(what, paper, over(system, median), Unit::Times);
        section.row(row.paper_says(limit).note("up to a quarter more is taken for no growth"));
    }
    let row = Row::new(
        "weir, service inversion in memory",
        "0.33 (New-Flash)",
        smallest.value(WEIR, own(HIGH), inversion),
        Unit::Count,
    );
    section.row(row.note(format!("a random order has {:.3}", random())));
    let main = of(scale, MAIN);
    let main = Found::of(evidence, &main);
    let ours =
        main.paired(WEIR, (smallest, WEIR), own(HIGH), inversion, |main, memory| main - memory);
    let what = "weir, service inversion with the set of 3 × memory less that in memory";
    let row = Row::new(what, "0.02 (0.35 against 0.33)", ours, Unit::Count);
    section.row(row.note("each at 0.95 of its own capacity; ruan-hot has both at the same rate"));
}

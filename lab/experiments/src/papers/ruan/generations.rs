//! Ruan & Pai, section 5.4: whether response times follow the processor or the disk. The paper has three
//! processors and one disk; here one processor has three disks, so that the ratio of their speeds is
//! what changes.

use super::conditions::{
    self, APACHE, DISK, FLASHPACHE, HIGH, NGINX, WEIR, case, files, own, own_loads,
};
use super::found::{Found, busy, incomplete, longest, mean, median, megabits, reads};
use super::load;
use crate::cell::{Files, Phase};
use crate::choice::{Choice, Scale};
use crate::experiment::case::Case;
use crate::experiment::{Evidence, Experiment, Group};
use crate::findings::{Axis, Bar, Plot, Row, Section, Table, Unit, label, series};

pub(in crate::papers) const EXPERIMENT: Experiment = Experiment {
    name: "ruan-generations",
    paper: "Ruan 2006",
    repeats: "Figures 22 to 24, Table 6",
    title: "Faster disks, the same processor",
    groups,
    report,
};

const OWN: [&str; 4] = [WEIR, NGINX, APACHE, FLASHPACHE];
/// How many times as fast the disk is, slowest first.
const DISKS: [f64; 3] = [0.25, 1.0, 4.0];
const LOADS: [f64; 3] = [0.2, 0.6, HIGH];
/// How many times as fast the fastest disk is as the slowest: a server whose times follow the disk has such a
/// ratio, and gains nothing by a faster processor; one whose times follow the processor has 1.
const FASTER: f64 = 16.0;
/// Of that, what is taken for minor improvement with processor speed.
const MINOR: f64 = 8.0;
/// A median that grows by less than this is not bound to the disk.
const NOT_BOUND: f64 = 1.25;

fn disks(scale: Scale) -> Vec<f64> {
    match scale {
        Scale::Quick => vec![DISKS[0], DISKS[2]],
        Scale::Full | Scale::Paper => DISKS.to_vec(),
    }
}

fn loads(scale: Scale) -> Vec<f64> {
    match scale {
        Scale::Quick => vec![HIGH],
        Scale::Full | Scale::Paper => LOADS.to_vec(),
    }
}

/// The whole set on a disk; on the usual one it is the same run as that of the experiment on load.
fn on_disk(scale: Scale, times: f64) -> Case {
    if times == 1.0 {
        return load::of(scale);
    }
    let files = files(scale, own_loads(&loads(scale)));
    case(Files { disk: DISK.times(times), ..files })
}

/// A set of half of the memory: the disk does not matter.
pub(super) fn in_memory(scale: Scale) -> Case {
    let files = files(scale, own_loads(&loads(scale)));
    case(Files { set: files.memory / 2, ..files })
}

fn cases(scale: Scale) -> Vec<(String, Case)> {
    let on =
        disks(scale).into_iter().map(|times| (format!("disk × {times}"), on_disk(scale, times)));
    on.chain([("in memory".to_owned(), in_memory(scale))]).collect()
}

fn groups(choice: &Choice) -> Vec<Group> {
    let systems = conditions::systems(choice, &OWN);
    let points = |(_, case): &(String, Case)| case.points(&systems).collect::<Vec<_>>();
    cases(choice.scale).iter().flat_map(points).collect()
}

fn report(evidence: &Evidence<'_>, section: &mut Section) {
    section.text(
        "The paper has three processors with one disk (300, 933 and 3000 MHz). Here one processor has three \
         disks, a quarter as fast as that of the other experiments, as fast, and four times as fast (8, \
         2 and 0.5 ms; 15, 60 and 240 MB/s). What a slower disk is to this processor, the paper's disk \
         is to a faster one, so the slowest disk stands for the Pentium 4 and the fastest for the Pentium \
         II. If a server's times follow the disk, they are 16 times as long on the slowest as on the \
         fastest, and a faster processor gains nothing; if they follow the processor, they are as long. \
         As in the paper each server is at shares of its own capacity, so its rates differ from disk to \
         disk. Memory and network do not change with the disk, as they did with the paper's machines; and \
         that capacity in memory scales with the processor cannot be shown with one processor.",
    );
    section.text(
        "weir stands where the paper has New-Flash, nginx where it has Flash, Apache prefork with \
         `weir-lab opener` always asked where it has Flashpache. What \"keeps up\" means, and which phases \
         have no figures, `ruan-load` says. In memory the set is half of the memory; nothing is locked \
         there, and the table says how often the disk was read.",
    );
    let systems = conditions::systems(evidence.choice, &OWN);
    for (name, case) in cases(evidence.choice.scale) {
        let number = if name == "in memory" { "Figure 22" } else { "Figures 23 and 24" };
        let found = Found::of(evidence, &case);
        let mut plot = Plot::new(
            format!("{number}: mean response time over load, {name}"),
            Axis::linear("load"),
            Axis::log("response time, ms"),
        );
        for system in &systems {
            let points = loads(evidence.choice.scale)
                .into_iter()
                .map(|load| (load, found.value(system, own(load), mean)));
            plot.series.push(series::measured(system, points, 1.0));
        }
        section.plot(plot);
    }
    section.table(table(evidence, &systems));
    rows(evidence, section);
}

fn table(evidence: &Evidence<'_>, systems: &[String]) -> Table {
    let columns = [
        "disk, system",
        "keeps up with, requests/s",
        "Mbit/s saturated",
        "rate at 0.95, % of saturation",
        "disk busy at 0.95, %",
        "disk operations per 1000 requests",
        "median at 0.95",
        "mean at 0.95",
        "longest at 0.95",
        "incomplete at 0.95, %",
    ];
    let caption = "Table 6: throughput in saturation, and the highest rate at which each keeps up in an open \
                   loop: the server did not keep up with a higher one, or the row says what else \
                   ended the search. Response times in ms at 0.95 of that. In saturation a server that \
                   does not block answers what is in memory until all 1024 requests wait for the disk, so \
                   on the slowest disk it does more in 20 s than it would do for longer.";
    let mut table = Table::new(caption, &columns);
    for (name, case) in cases(evidence.choice.scale) {
        let found = Found::of(evidence, &case);
        for system in systems {
            let figures = [
                (found.capacity(system), Unit::Count),
                (found.value(system, Phase::SATURATED, megabits), Unit::Count),
                (found.of_saturation(system, own(HIGH)), Unit::Percent),
                (found.value(system, own(HIGH), busy), Unit::Percent),
                (found.value(system, own(HIGH), reads), Unit::Count),
                (found.value(system, own(HIGH), median), Unit::Ms),
                (found.value(system, own(HIGH), mean), Unit::Ms),
                (found.value(system, own(HIGH), longest), Unit::Ms),
                (found.value(system, own(HIGH), incomplete), Unit::Percent),
            ];
            table.row(format!("{name}, {}", found.searched(system)), &figures);
        }
    }
    table
}

/// What the rows compare.
struct Conditions<'a> {
    slow: Found<'a>,
    fast: Found<'a>,
    memory: Found<'a>,
}

fn rows(evidence: &Evidence<'_>, section: &mut Section) {
    let scale = evidence.choice.scale;
    let all = disks(scale);
    let (slow, fast) = (on_disk(scale, all[0]), on_disk(scale, all[all.len() - 1]));
    let memory = in_memory(scale);
    let [slow, fast, memory] = [&slow, &fast, &memory].map(|case| Found::of(evidence, case));
    let found = Conditions { slow, fast, memory };
    for load in loads(scale) {
        means(&found, load, section);
    }
    medians(&found, section);
    in_memory_and_not(&found, section);
    throughput(&found, section);
}

/// Whether means follow the disk or the processor.
fn means(found: &Conditions<'_>, load: f64, section: &mut Section) {
    let (old, new) =
        ("only minor improvement with processor speed", "processor speed now reduces latency");
    for (system, paper, limit) in [
        (NGINX, old, Bar::AtLeast(MINOR)),
        (APACHE, old, Bar::AtLeast(MINOR)),
        (WEIR, new, Bar::Below(FASTER)),
        (FLASHPACHE, new, Bar::Below(FASTER)),
    ] {
        let ours = found.slow.over_other(system, found.fast, own(load), mean);
        let what = format!("{}, mean at {load}, slowest disk ÷ fastest", label(system));
        let row = Row::new(what, paper, ours, Unit::Times).paper_says(limit);
        section.row(row.note(match limit {
            Bar::AtLeast(_) => "the disk is 16 times as fast; 8 is taken for minor improvement",
            _ => "the disk is 16 times as fast; 16 gains nothing by the processor",
        }));
    }
    for [old, new] in [[NGINX, WEIR], [APACHE, FLASHPACHE]] {
        let ours = found.slow.changes_more(found.fast, [old, new], own(load), mean);
        let what =
            format!("{} ÷ {}, mean at {load}, slowest disk ÷ fastest", label(old), label(new));
        let row = Row::new(what, "new servers gain more by the processor", ours, Unit::Times);
        section.row(row.paper_says(Bar::Above(1.0)));
    }
}

/// Whether cached requests follow the disk.
fn medians(found: &Conditions<'_>, section: &mut Section) {
    let new = "cached requests are no longer bound by the disk";
    for (system, paper, limit) in [
        (NGINX, "", None),
        (APACHE, "", None),
        (WEIR, new, Some(Bar::AtMost(NOT_BOUND))),
        (FLASHPACHE, new, Some(Bar::AtMost(NOT_BOUND))),
    ] {
        let ours = found.slow.over_other(system, found.fast, own(HIGH), median);
        let what = format!("{}, median at {HIGH}, slowest disk ÷ fastest", label(system));
        let row = Row::new(what, paper, ours, Unit::Times);
        section.row(match limit {
            Some(limit) => {
                row.paper_says(limit).note("up to a quarter more is taken for not bound")
            }
            None => row,
        });
    }
}

/// Response times in memory and beyond it, and of the two old servers beside each other.
fn in_memory_and_not(found: &Conditions<'_>, section: &mut Section) {
    for system in [NGINX, APACHE] {
        let ours = found.slow.over_other(system, found.memory, own(HIGH), mean);
        let what = format!("{}, mean at {HIGH}, slowest disk ÷ in memory", label(system));
        let row = Row::new(what, "much lower in memory", ours, Unit::Times);
        section.row(row.paper_says(Bar::Above(1.0)));
    }
    for (name, place) in [("slowest disk", found.slow), ("in memory", found.memory)] {
        let ours = place.ratio(NGINX, APACHE, own(HIGH), mean);
        let what = format!("nginx ÷ Apache prefork, mean at {HIGH}, {name}");
        section.row(Row::new(what, "similar (Flash)", ours, Unit::Times).paper_is(1.0));
    }
}

/// Table 6.
fn throughput(found: &Conditions<'_>, section: &mut Section) {
    let beyond = |paper: &str| format!("performance degrades beyond memory: {paper}");
    for (system, of_slow, of_fast) in [
        (NGINX, Some("2.34 (Flash, Pentium 4)"), Some("1.57 (Flash, Pentium II)")),
        (APACHE, Some("1.82 (Pentium 4)"), Some("1.09 (Pentium II)")),
        (WEIR, None, None),
        (FLASHPACHE, None, None),
    ] {
        for (name, disk, paper) in
            [("slowest", found.slow, of_slow), ("fastest", found.fast, of_fast)]
        {
            let ours = found.memory.over_other(system, disk, Phase::SATURATED, megabits);
            let what = format!("{}, Mbit/s in memory ÷ with the {name} disk", label(system));
            let row = Row::new(what, paper.map(beyond).unwrap_or_default(), ours, Unit::Times);
            section.row(match paper {
                Some(_) => row.paper_says(Bar::Above(1.0)),
                None => row,
            });
        }
    }
}

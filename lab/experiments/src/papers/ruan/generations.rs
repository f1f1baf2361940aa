//! Ruan & Pai, section 5.4: whether response times follow the processor or the disk. The paper has three
//! processors and one disk; here one processor has three disks, so that the ratio of their speeds is
//! what changes.

use super::conditions::{
    self, APACHE, DISK, FLASHPACHE, HIGH, NGINX, WEIR, case, files, own, own_loads,
};
use super::found::{Figure, Found, incomplete, mean, median, megabits};
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
/// The disk is 16 times as fast. A time that falls by more than the middle of that and nothing follows it.
const FOLLOWS: f64 = 4.0;

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
        "The paper has three processors of one disk (300, 933 and 3000 MHz: steps of about 3). Here one \
         processor has three disks, a quarter, once and four times as fast (8, 2 and 0.5 ms; 15, 60 and \
         240 MB/s): a slower disk with the same processor stands for a faster processor with the same \
         disk. A server whose response times follow the disk gains nothing by a faster processor. In \
         memory the set is half of the memory.",
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
        "0.95 of that rate ÷ saturation, %",
        "median at 0.95",
        "mean at 0.95",
        "incomplete at 0.95, %",
    ];
    let caption = "Table 6: capacity in saturation, and the highest rate at which each keeps up in an open \
                   loop: the server did not keep up with a higher one, or the row says what else \
                   ended the search. Response times in ms at 0.95 of that.";
    let mut table = Table::new(caption, &columns);
    for (name, case) in cases(evidence.choice.scale) {
        let found = Found::of(evidence, &case);
        for system in systems {
            let figures = [
                (found.capacity(system), Unit::Count),
                (found.value(system, Phase::SATURATED, megabits), Unit::Count),
                (found.of_saturation(system, own(HIGH)), Unit::Percent),
                (found.value(system, own(HIGH), median), Unit::Ms),
                (found.value(system, own(HIGH), mean), Unit::Ms),
                (found.value(system, own(HIGH), incomplete), Unit::Percent),
            ];
            table.row(format!("{name}, {}", found.searched(system)), &figures);
        }
    }
    table
}

fn rows(evidence: &Evidence<'_>, section: &mut Section) {
    let scale = evidence.choice.scale;
    let all = disks(scale);
    let (slow, fast) = (on_disk(scale, all[0]), on_disk(scale, all[all.len() - 1]));
    let memory = in_memory(scale);
    let [slow, fast, memory] = [&slow, &fast, &memory].map(|case| Found::of(evidence, case));
    let over = |system: &str, figure: Figure| slow.over_other(system, fast, own(HIGH), figure);
    for (system, paper, limit) in [
        (NGINX, "only minor improvement with processor speed", Bar::AtLeast(FOLLOWS)),
        (APACHE, "only minor improvement with processor speed", Bar::AtLeast(FOLLOWS)),
        (WEIR, "processor speed now reduces latency", Bar::Below(FOLLOWS)),
        (FLASHPACHE, "processor speed now reduces latency", Bar::Below(FOLLOWS)),
    ] {
        let what = format!("{}, mean at {HIGH}, slowest disk ÷ fastest", label(system));
        let row = Row::new(what, paper, over(system, mean), Unit::Times).paper_says(limit);
        section.row(
            row.note("the disk is 16 times as fast; what falls to a quarter or less follows it"),
        );
    }
    for system in OWN {
        let what = format!("{}, median at {HIGH}, slowest disk ÷ fastest", label(system));
        section.row(Row::new(what, "", over(system, median), Unit::Times));
    }
    for (system, paper, limit) in [
        (NGINX, "performance degrades beyond memory", Some(Bar::Above(1.0))),
        (APACHE, "performance degrades beyond memory", Some(Bar::Above(1.0))),
        (WEIR, "", None),
        (FLASHPACHE, "", None),
    ] {
        let ours = memory.over_other(system, slow, Phase::SATURATED, megabits);
        let what = format!("{}, capacity in memory ÷ with the slowest disk", label(system));
        let row = Row::new(what, paper, ours, Unit::Times);
        section.row(match limit {
            Some(limit) => row.paper_says(limit),
            None => row,
        });
    }
}

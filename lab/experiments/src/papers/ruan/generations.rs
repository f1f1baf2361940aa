//! Ruan & Pai, section 5.4: whether response times follow the processor or the disk. The paper has three
//! processors and one disk; here one processor has three disks, so that the ratio of their speeds is
//! what changes.

use super::conditions::{self, AIO, APACHE, EVENT, FLASHPACHE, LIGHTTPD, NGINX, WEIR, WORKER, own};
use super::found::{
    Figure, Found, busy, hot_p99, incomplete, longest, mean, median, megabits, offered, reads,
};
use crate::cell::Phase;
use crate::choice::Choice;
use crate::experiment::case::Case;
use crate::experiment::{Evidence, Experiment, Group};
use crate::findings::{Axis, Plot, Section, Table, Unit, label, series};

mod cases;
mod rows;

pub(super) use cases::in_memory;
use cases::{cases, loads};

pub(in crate::papers) const EXPERIMENT: Experiment = Experiment {
    name: "ruan-generations",
    paper: "Ruan 2006",
    repeats: "Figures 22 to 24, Table 6",
    title: "Faster disks, the same processor",
    groups,
    report,
};

const OWN: [&str; 8] = [WEIR, NGINX, APACHE, FLASHPACHE, AIO, LIGHTTPD, WORKER, EVENT];

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
         fastest, and a faster processor gains nothing; if they follow the processor, they are equally long on both. \
         As in the paper each server is at shares of its own capacity, so its rates differ from disk to \
         disk. Memory and network do not change with the disk, as they did with the paper's machines; and \
         that capacity in memory scales with the processor cannot be shown with one processor.",
    );
    section.text(
        "weir stands where the paper has New-Flash, nginx where it has Flash, Apache prefork with \
         `weir-lab opener` always asked where it has Flashpache. What \"keeps up\" means, and which phases \
         have no figures, `ruan-load` says. Where a row says that the clients were late, the server may bear \
         more, so two may be at different loads. In memory the set is half of the memory; nothing is locked \
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
    section.table(throughputs(evidence, &systems));
    section.table(times(evidence, &systems));
    rows::report(evidence, section);
}

fn throughputs(evidence: &Evidence<'_>, systems: &[String]) -> Table {
    let columns = ["disk, system", "keeps up with, requests/s", "Mbit/s saturated"];
    let caption = "Table 6: throughput in saturation, and the highest rate at which each keeps up in an open \
                   loop: the server did not keep up with a higher one, or the row says what else \
                   ended the search. In saturation a server that does not block answers what is in \
                   memory until most of the 1024 requests wait for the disk, so on the slowest disk it does more \
                   in 20 s than it would do for longer.";
    let mut table = Table::new(caption, &columns);
    for (name, case) in cases(evidence.choice.scale) {
        let found = Found::of(evidence, &case);
        for system in systems {
            let figures = [
                (found.capacity(system), Unit::Count),
                (found.value(system, Phase::SATURATED, megabits), Unit::Count),
            ];
            table.row(format!("{name}, {}", found.searched(system)), &figures);
        }
    }
    table
}

fn times(evidence: &Evidence<'_>, systems: &[String]) -> Table {
    let columns = [
        "load, disk, system",
        "asked for, requests/s",
        "of saturation, %",
        "disk busy, %",
        "disk operations per 1000 requests",
        "median",
        "mean",
        "hot p99",
        "longest",
        "incomplete, %",
    ];
    let caption = "Response times in ms. At loads that are not here a server or its disk fell behind, or \
                   the clients were late.";
    let mut table = Table::new(caption, &columns);
    for load in loads(evidence.choice.scale) {
        for (name, case) in cases(evidence.choice.scale) {
            let found = Found::of(evidence, &case);
            for system in systems {
                let value = |figure: Figure| found.value(system, own(load), figure);
                let figures = [
                    (value(offered), Unit::Count),
                    (found.of_saturation(system, own(load)), Unit::Percent),
                    (value(busy), Unit::Percent),
                    (value(reads), Unit::Count),
                    (value(median), Unit::Ms),
                    (value(mean), Unit::Ms),
                    (value(hot_p99), Unit::Ms),
                    (value(longest), Unit::Ms),
                    (value(incomplete), Unit::Percent),
                ];
                table.row(format!("{load}, {name}, {}", label(system)), &figures);
            }
        }
    }
    table
}

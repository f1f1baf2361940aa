//! What the paper says of its three processors, beside ours: whether means follow the disk or the
//! processor, whether cached requests do, and Table 6. The end of the report of `generations`.

use super::super::conditions::{APACHE, FLASHPACHE, NGINX, WEIR, own};
use super::super::found::{Found, mean, median, megabits};
use super::cases::{disks, in_memory, loads, on_disk};
use crate::cell::Phase;
use crate::experiment::Evidence;
use crate::findings::{Bar, Row, Section, Unit, label};

/// How many times as fast the fastest disk is as the slowest: a server whose times follow the disk has such a
/// ratio, and gains nothing by a faster processor; one whose times follow the processor has 1.
const FASTER: f64 = 16.0;
/// A ratio of at least this is taken for minor improvement with processor speed; far above the ratio of the disks
/// a faster processor would make a server slower.
const MINOR: f64 = 8.0;
/// How many times the time in memory is taken for much more.
const MUCH: f64 = 2.0;
/// A median that grows by less than this is not bound to the disk.
const NOT_BOUND: f64 = 1.25;

/// What the rows compare.
struct Conditions<'a> {
    slow: Found<'a>,
    fast: Found<'a>,
    memory: Found<'a>,
}

pub(super) fn report(evidence: &Evidence<'_>, section: &mut Section) {
    let scale = evidence.choice.scale;
    let all = disks(scale);
    let (slow, fast) = (on_disk(scale, all[0]), on_disk(scale, all[all.len() - 1]));
    let memory = in_memory(scale);
    let [slow, fast, memory] = [&slow, &fast, &memory].map(|case| Found::of(evidence, case));
    let found = Conditions { slow, fast, memory };
    for load in loads(scale) {
        means(&found, load, section);
        medians(&found, load, section);
        in_memory_and_not(&found, load, section);
    }
    throughput(&found, section);
}

/// Whether means follow the disk or the processor.
fn means(found: &Conditions<'_>, load: f64, section: &mut Section) {
    let (old, new) =
        ("only minor improvement with processor speed", "processor speed now reduces latency");
    for (system, paper, limit) in [
        (NGINX, old, Bar::Between(MINOR, 1.25 * FASTER)),
        (APACHE, old, Bar::Between(MINOR, 1.25 * FASTER)),
        (WEIR, new, Bar::Below(FASTER)),
        (FLASHPACHE, new, Bar::Below(FASTER)),
    ] {
        let ours = found.slow.over_other(system, found.fast, own(load), mean);
        let what = format!("{}, mean at {load}, slowest disk ÷ fastest", label(system));
        let row = Row::new(what, paper, ours, Unit::Times).paper_says(limit);
        section.row(row.note(match limit {
            Bar::Between(..) => {
                "the disk is 16 times as fast; 8 to 20 is taken for minor improvement"
            }
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

/// Whether cached requests follow the disk: the paper's words are of its sections 3.5 and 1, its figures have means.
fn medians(found: &Conditions<'_>, load: f64, section: &mut Section) {
    let old = "tied to the disk, even for cached requests";
    let new = "cached requests are no longer bound by the disk";
    for (system, paper, limit) in [
        (NGINX, old, Bar::Above(NOT_BOUND)),
        (APACHE, old, Bar::Above(NOT_BOUND)),
        (WEIR, new, Bar::AtMost(NOT_BOUND)),
        (FLASHPACHE, new, Bar::AtMost(NOT_BOUND)),
    ] {
        let ours = found.slow.over_other(system, found.fast, own(load), median);
        let what = format!("{}, median at {load}, slowest disk ÷ fastest", label(system));
        let row = Row::new(what, paper, ours, Unit::Times).paper_says(limit);
        section.row(row.note("up to a quarter more is taken for not bound"));
    }
}

/// Response times in memory and beyond it, and of the two old servers beside each other.
fn in_memory_and_not(found: &Conditions<'_>, load: f64, section: &mut Section) {
    for system in [NGINX, APACHE] {
        let ours = found.slow.over_other(system, found.memory, own(load), mean);
        let what = format!("{}, mean at {load}, slowest disk ÷ in memory", label(system));
        let row = Row::new(what, "much lower in memory", ours, Unit::Times);
        section.row(row.paper_says(Bar::AtLeast(MUCH)).note("twice is taken for much"));
    }
    for (name, place) in [("slowest disk", found.slow), ("in memory", found.memory)] {
        let ours = place.ratio(NGINX, APACHE, own(load), mean);
        let what = format!("nginx ÷ Apache prefork, mean at {load}, {name}");
        let row = Row::new(what, "similar (Flash)", ours, Unit::Times).paper_is(1.0);
        section.row(row.note("the two may be at different shares of their saturation"));
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
                None if system == WEIR && name == "slowest" => {
                    row.note("for longer than 20 s it would be more")
                }
                None => row,
            });
        }
    }
}

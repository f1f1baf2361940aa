//! What weir is to reach while the disk is slow: requests that are certainly in memory are answered as
//! if there were no disk, and those that wait for it wait no longer than they must.

use super::conditions::{self, AIO, HIGH, LIGHTTPD, NGINX, WEIR, case, files, in_memory, own};
use super::found::{
    Figure, Found, busy, hot_p99, incomplete, inversion, longest, mean, median, of_phase, p99,
    per_second, reads,
};
use crate::cell::{Load, Phase, What};
use crate::choice::{Choice, Scale};
use crate::experiment::case::Case;
use crate::experiment::{Evidence, Experiment, Group};
use crate::findings::{Axis, Bar, Plot, Row, Section, Table, Unit, label, series};
use crate::outcome::{Outcome, PhaseOutcome};

pub(in crate::papers) const EXPERIMENT: Experiment = Experiment {
    name: "ruan-hot",
    paper: "Ruan 2006",
    repeats: "Sections 5.2 and 5.3: what is to be reached",
    title: "Requests in memory beside a slow disk",
    groups,
    report,
};

const OWN: [&str; 4] = [WEIR, NGINX, AIO, LIGHTTPD];
/// The same rate for all: a share of what nginx keeps up with.
const COMMON: Phase = Phase { load: Load::Nginx(0.8), what: What::Set };
const SCANNED: Phase = Phase { what: What::Scanned, ..COMMON };

/// How often the phases are run whose hot requests are compared, in turn: a 99th percentile of 20 s depends
/// on what else the machine does for 0.2 s of them.
fn rounds(scale: Scale) -> usize {
    match scale {
        Scale::Quick => 1,
        Scale::Full | Scale::Paper => 3,
    }
}

fn of(scale: Scale) -> Case {
    let (high, rounds) = (own(HIGH), rounds(scale));
    let mut phases = vec![Phase::SATURATED, high];
    phases.extend([COMMON, SCANNED].repeat(rounds));
    phases.push(in_memory(high));
    phases.extend([in_memory(COMMON)].repeat(rounds));
    case(files(scale, phases))
}

fn groups(choice: &Choice) -> Vec<Group> {
    of(choice.scale).groups(&conditions::systems(choice, &OWN)).collect()
}

fn report(evidence: &Evidence<'_>, section: &mut Section) {
    section.text(
        "All systems at 0.8 of what nginx keeps up with, and each at 0.95 of its own; then the same \
         rates again for files that are all in memory (as many directories as half of the memory \
         holds, which `vmtouch` locks there), with the same server. *Hot* are files up to 9 KB that are asked for at least once a \
         second; hot requests are compared with hot ones. While the whole tree is read, four requests \
         of another client are under way, for every file in turn; the phase lasts until each has been \
         asked for once, at least the usual time and at most twelve times that, and the table says \
         how much of the tree was read. In a full run the phases at nginx's rate run three times, in \
         turn, and each figure is the median of these rounds; a quick run has one round.",
    );
    section.text(
        "The longest response in saturation is compared with the time that one operation takes for each \
         disk job that waits: the most jobs that were queued or under way at once (by weir's metrics, \
         once a second; requests for the same piece of a file are one job) ÷ operations per second of \
         the disk. Those that wait longest are for large files, whose operations take longer than the \
         mean one.",
    );
    let case = of(evidence.choice.scale);
    let systems = conditions::systems(evidence.choice, &OWN);
    let found = Found::of(evidence, &case);
    section.plot(distributions(found, &systems));
    section.table(capacities(found, &systems));
    for (caption, phase) in [
        ("At 0.8 of what nginx keeps up with.", COMMON),
        ("The same rate while another client reads the whole tree.", SCANNED),
        ("The same rate, all in memory.", in_memory(COMMON)),
        ("At 0.95 of its own capacity.", own(HIGH)),
        ("The same rate, all in memory.", in_memory(own(HIGH))),
        ("In saturation.", Phase::SATURATED),
    ] {
        section.table(table(found, &systems, caption, phase));
    }
    bars(found, section);
    others(found, section);
}

fn distributions(found: Found<'_>, systems: &[String]) -> Plot {
    let mut plot = Plot::new(
        "Hot requests at 0.8 of what nginx keeps up with",
        Axis::log("response time, ms"),
        Axis::linear("share of responses"),
    );
    for system in systems {
        let points = (0..=100).filter_map(|percent| {
            let at = found.value(system, COMMON, |phase| phase.hot.at(percent));
            Some((at.middle()?, percent as f64 / 100.0))
        });
        plot.series.push(series::line(system, points.collect()));
    }
    plot
}

fn capacities(found: Found<'_>, systems: &[String]) -> Table {
    let caption = "The highest rate at which each keeps up in an open loop: the server did not keep up \
                   with a higher one, or the row says what else ended the search.";
    let mut table = Table::new(caption, &["system", "requests/s"]);
    for system in systems {
        table.row(found.searched(system), &[(found.capacity(system), Unit::Count)]);
    }
    table
}

fn table(found: Found<'_>, systems: &[String], caption: &str, phase: Phase) -> Table {
    let columns = [
        "system",
        "requests/s",
        "median",
        "mean",
        "p99",
        "longest",
        "hot p99",
        "inversion",
        "disk reads per 1000",
        "disk busy %",
        "tree read, %",
        "incomplete %",
    ];
    let mut table = Table::new(format!("{caption} Response times in ms."), &columns);
    for system in systems {
        let value = |figure: Figure| found.value(system, phase, figure);
        let figures = [
            (value(per_second), Unit::Count),
            (value(median), Unit::Ms),
            (value(mean), Unit::Ms),
            (value(p99), Unit::Ms),
            (value(longest), Unit::Ms),
            (value(hot_p99), Unit::Ms),
            (value(inversion), Unit::Count),
            (value(reads), Unit::Count),
            (value(busy), Unit::Percent),
            (value(|phase| phase.scanned.unwrap_or(f64::NAN)), Unit::Percent),
            (value(incomplete), Unit::Percent),
        ];
        table.row(label(system), &figures);
    }
    table
}

fn bars(found: Found<'_>, section: &mut Section) {
    let mut bar =
        |what: &str, ours, unit, bar| section.row(Row::new(what, "", ours, unit).bar(bar).whole());
    let beside = |phase: Phase| found.over(WEIR, phase, in_memory(phase), hot_p99);
    bar(
        "weir, p99 of hot requests ÷ in memory, at 0.8 of nginx's capacity",
        beside(COMMON),
        Unit::Times,
        Bar::AtMost(1.5),
    );
    bar(
        "weir, p99 of hot requests ÷ in memory, at 0.95 of own capacity",
        beside(own(HIGH)),
        Unit::Times,
        Bar::AtMost(4.0),
    );
    for (system, least) in [(NGINX, 1.9), (AIO, 1.3)] {
        let saturated = found.ratio(WEIR, system, Phase::SATURATED, per_second);
        let what = format!("weir ÷ {}, saturated", label(system));
        bar(&what, saturated, Unit::Times, Bar::AtLeast(least));
        let what = format!("weir ÷ {}, highest rate that it keeps up with", label(system));
        bar(&what, found.capacities(WEIR, system), Unit::Times, Bar::AtLeast(least));
    }
    let apart = |outcome: &Outcome| {
        let of = |phase| of_phase(outcome, phase, inversion);
        (of(own(HIGH)) - of(in_memory(own(HIGH)))).abs()
    };
    bar(
        "weir, service inversion at 0.95 of own capacity, distance from that in memory",
        found.of_phases(WEIR, &[own(HIGH), in_memory(own(HIGH))], apart),
        Unit::Count,
        Bar::AtMost(0.02),
    );
    bar(
        "weir, longest response in saturation ÷ all disk jobs that wait in turn",
        found.of_phases(WEIR, &[Phase::SATURATED], in_turns),
        Unit::Times,
        Bar::AtMost(3.0),
    );
    bar(
        "weir ÷ nginx, longest response at 0.8 of nginx's capacity",
        found.ratio(WEIR, NGINX, COMMON, longest),
        Unit::Times,
        Bar::AtMost(1.0),
    );
    bar(
        "weir, disk busy in saturation",
        found.value(WEIR, Phase::SATURATED, busy),
        Unit::Percent,
        Bar::AtLeast(0.95),
    );
    bar(
        "weir ÷ nginx, disk reads per request, at 0.8 of nginx's capacity",
        found.ratio(WEIR, NGINX, COMMON, reads),
        Unit::Times,
        Bar::AtMost(1.0),
    );
    bar(
        "weir, p99 of hot requests while the whole tree is read ÷ without, at 0.8 of nginx's capacity",
        found.of_phases(WEIR, &[SCANNED, COMMON], scanned_over_not),
        Unit::Times,
        Bar::AtMost(1.5),
    );
}

/// The 99th percentile of hot requests during a scan over that without; none unless the whole tree was
/// read.
fn scanned_over_not(outcome: &Outcome) -> f64 {
    let of = |phase| of_phase(outcome, phase, hot_p99);
    let read = of_phase(outcome, SCANNED, |phase| phase.scanned.unwrap_or(0.0));
    if read < 1.0 { f64::NAN } else { of(SCANNED) / of(COMMON) }
}

/// The longest response in saturation over the time that the disk needs for an operation of every job
/// that waits.
fn in_turns(outcome: &Outcome) -> f64 {
    of_phase(outcome, Phase::SATURATED, |phase| {
        longest(phase) / 1e3 * phase.reads_per_second / waiting(phase)
    })
}

/// The most disk jobs that waited at once.
fn waiting(phase: &PhaseOutcome) -> f64 {
    phase.waiting.map_or(f64::NAN, |jobs| jobs as f64)
}

fn others(found: Found<'_>, section: &mut Section) {
    for system in [NGINX, AIO, LIGHTTPD] {
        let ours = found.ratio(system, WEIR, COMMON, hot_p99);
        let what = format!("{} ÷ weir, p99 of hot requests, same rate", label(system));
        section.row(Row::new(what, "", ours, Unit::Times));
        let ours = found.over(system, COMMON, in_memory(COMMON), hot_p99);
        let what = format!("{}, p99 of hot requests ÷ in memory, same rate", label(system));
        section.row(Row::new(what, "", ours, Unit::Times));
    }
    let most = found.value(WEIR, Phase::SATURATED, waiting);
    section.row(Row::new(
        "weir, most disk jobs that wait at once in saturation",
        "",
        most,
        Unit::Count,
    ));
    let over = |phase: Phase| found.over(WEIR, phase, in_memory(phase), p99);
    let what = "weir, p99 of all requests ÷ in memory, at 0.8 of nginx's capacity";
    section.row(Row::new(what, "", over(COMMON), Unit::Times));
}

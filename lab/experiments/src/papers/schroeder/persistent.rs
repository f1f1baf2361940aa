//! Schroeder 2003, section 4.1 (A), persistent overload: a load of 1.2 that does not end.

use super::conditions::{self, AS_THE_PAPER, BOTH, Conditions};
use super::gains::{self, Figure, is, says, words};
use crate::choice::{Choice, Scale};
use crate::experiment::case::Case;
use crate::experiment::systems::{APACHE, FAIR, NGINX, PROTECTIVE, SRPT};
use crate::experiment::{
    Evidence, Experiment, Group, Measure, link_use, listen_drops, mean, most_connections, pieces,
};
use crate::findings::{Bar, Row, Section, Table, Unit, label};
use crate::outcome::{Outcome, Sample};

pub(in crate::papers) const EXPERIMENT: Experiment = Experiment {
    name: "schroeder-persistent",
    paper: "Schroeder 2003",
    repeats: "Figure 5; section 4.1 (A), persistent overload",
    title: "Persistent overload: a load of 1.2",
    groups,
    report,
};

const OWN: [&str; 5] = [SRPT, PROTECTIVE, FAIR, NGINX, APACHE];
/// Apache's processes, the paper's limit of connections.
const PROCESSES: f64 = 350.0;
/// What is asked for after the end waits behind what is left over.
const LOAD: f64 = 1.2;

fn case(scale: Scale) -> Case {
    let seconds = match scale {
        Scale::Quick => 90.0,
        Scale::Full => 300.0,
        Scale::Paper => 1800.0,
    };
    Case::open(vec![(seconds, LOAD)], seconds)
}

fn groups(choice: &Choice) -> Vec<Group> {
    let of = |conditions: Conditions| {
        let case = conditions.of(case(choice.scale));
        conditions::groups([&case], &conditions.systems(choice, &OWN))
    };
    BOTH.into_iter().flat_map(of).collect()
}

/// Growth of the mean response time, in seconds per second: from the seconds 20 to 40 to the last 20
/// seconds of the load.
fn growth(outcome: &Outcome) -> f64 {
    let seconds = outcome.series.len();
    let mean_of = |from: usize, to: usize| {
        let values: Vec<f64> =
            outcome.series.get(from..to).unwrap_or_default().iter().copied().flatten().collect();
        values.iter().sum::<f64>() / values.len() as f64
    };
    let between = seconds.saturating_sub(20) as f64 - 20.0;
    (mean_of(seconds.saturating_sub(20), seconds) - mean_of(20, 40)) / 1e3 / between
}

/// The p95 of requests under 10 KB in the last whole minute over that in the second.
fn decay(outcome: &Outcome) -> f64 {
    let minutes = outcome.small_p95.len().min(whole_minutes(outcome));
    let at = |minute: usize| outcome.small_p95.get(minute).copied().flatten();
    match (minutes.checked_sub(1).filter(|&last| last > 1).and_then(at), at(1)) {
        (Some(last), Some(second)) => last / second,
        _ => f64::NAN,
    }
}

fn whole_minutes(outcome: &Outcome) -> usize {
    (outcome.series.len() as f64 / 60.0).round() as usize
}

/// Mean response time around a second, in milliseconds.
fn around(outcome: &Outcome, second: usize) -> f64 {
    let near = outcome.series.get(second.saturating_sub(2)..second + 3).unwrap_or_default();
    let values: Vec<f64> = near.iter().copied().flatten().collect();
    values.iter().sum::<f64>() / values.len() as f64
}

/// When the server first had as many connections as Apache has processes, in seconds.
fn all_processes(outcome: &Outcome) -> f64 {
    let busy = |sample: &&Sample| f64::from(sample.established + sample.closing) >= PROCESSES;
    outcome.samples.iter().find(busy).map_or(f64::NAN, |sample| sample.at)
}

/// When a connection was first refused, in seconds.
fn first_drop(outcome: &Outcome) -> f64 {
    let first = outcome.samples.iter().find(|sample| sample.listen_drops > 0);
    first.map_or(f64::NAN, |sample| sample.at)
}

fn report(evidence: &Evidence<'_>, section: &mut Section) {
    section.text(
        "A fixed load of 1.2 for the whole run. The paper counts only responses that end before the \
         last request; here what is still open at the end may finish, so late response times are \
         those of a load that then stops. Figure 5 ends at 70 s.",
    );
    section.text(AS_THE_PAPER);
    for conditions in BOTH {
        let case = conditions.of(case(evidence.choice.scale));
        let systems = conditions.systems(evidence.choice, &OWN);
        let title = conditions.named("Figure 5 (left): connections at the server");
        section.plot(pieces::connections(evidence, &title, &case, &systems));
        let title = conditions.named("Figure 5 (right): response times");
        section.plot(pieces::over_time(evidence, &title, &case, &systems));
        let caption = conditions.named("Persistent overload");
        section.table(table(evidence, caption, &case, &systems));
        match conditions {
            Conditions::Paper => paper_rows(evidence, section, &case),
            Conditions::Today => today_rows(evidence, section, &case),
        }
    }
}

/// Section 4.1 (A), persistent overload.
fn paper_rows(evidence: &Evidence<'_>, section: &mut Section, case: &Case) {
    const FIGURES: [Figure; 6] = [
        Figure::of("time until it has 350 connections", Unit::Seconds, all_processes)
            .fair(says("40 to 50 s", Bar::Between(40.0, 50.0))),
        Figure::of("most connections", Unit::Count, most_connections)
            .srpt(says("350 after more than 300 s", Bar::Below(PROCESSES))),
        Figure::of("time until a connection is refused", Unit::Seconds, first_drop)
            .fair(words("from 350 connections on")),
        Figure::of("refused connections", Unit::Count, listen_drops)
            .srpt(says("none in 300 s", Bar::AtMost(0.0))),
        Figure::of("mean response time at 10 s", Unit::Ms, |outcome| around(outcome, 10))
            .fair(is("5 s", 5000.0)),
        Figure::of("mean response time at 70 s", Unit::Ms, |outcome| around(outcome, 70))
            .srpt(says("less than 5 s", Bar::Below(5000.0))),
    ];
    for figure in &FIGURES {
        gains::each(evidence, section, case, figure);
    }
    let said = ("link use", is("the same byte throughput", 1.0));
    gains::price(evidence, section, case, said, link_use);
}

fn today_rows(evidence: &Evidence<'_>, section: &mut Section, case: &Case) {
    let mut row = |row: Row| Conditions::Today.row(section, row);
    let value = |system: &str, figure: Measure| evidence.runs.value(&case.cell(system), figure);
    let what = "p95 of requests under 10 KB, last minute ÷ second minute";
    let short = match evidence.choice.scale {
        Scale::Quick => "a quick run has no third minute",
        _ => "",
    };
    let ours = value(SRPT, decay);
    row(Row::new(format!("weir srpt, {what}"), "", ours, Unit::Times)
        .bar(Bar::AtMost(1.2))
        .note(short));
    let ours = value(PROTECTIVE, decay);
    row(Row::new(format!("weir protective, {what}"), "", ours, Unit::Times)
        .note("under lasting overload the promise of no later than fair costs something"));
    for system in [APACHE, NGINX] {
        let what = format!("{}, mean response time at 10 s", label(system));
        let ours = value(system, |outcome| around(outcome, 10));
        row(Row::new(what, "5 s", ours, Unit::Ms).paper_is(5000.0));
    }
    let (what, paper) = ("weir srpt, mean response time at 70 s", "less than 5 s");
    let ours = value(SRPT, |outcome| around(outcome, 70));
    row(Row::new(what, paper, ours, Unit::Ms).bar(Bar::AtMost(5000.0)));
    let (what, paper) = ("weir srpt, refused connections", "none in 300 s");
    let ours = value(SRPT, listen_drops);
    row(Row::new(what, paper, ours, Unit::Count).bar(Bar::AtMost(0.0)));
    let same = evidence.runs.ratio(&case.cell(SRPT), &case.cell(NGINX), link_use);
    let what = "weir srpt ÷ nginx, link use";
    row(Row::new(what, "the same byte throughput", same, Unit::Times)
        .paper_is(1.0)
        .note("weir leaves 1.5 % of the rate free, so that the queue is its own"));
}

fn table(evidence: &Evidence<'_>, caption: String, case: &Case, systems: &[String]) -> Table {
    let columns = [
        "system",
        "mean, ms",
        "growth, s per s",
        "most connections",
        "refused",
        "link use %",
        "incomplete %",
        "small p95, last ÷ second minute",
    ];
    let mut table = Table::new(caption + ".", &columns);
    for system in systems {
        let value = |figure: Measure| evidence.runs.value(&case.cell(system), figure);
        let figures = [
            (value(mean), Unit::Ms),
            (value(growth), Unit::Times),
            (value(most_connections), Unit::Count),
            (value(listen_drops), Unit::Count),
            (value(link_use), Unit::Percent),
            (value(|o| o.incomplete), Unit::Percent),
            (value(decay), Unit::Times),
        ];
        table.row(label(system), &figures);
    }
    table
}

//! Schroeder 2003, section 4.1 (A), persistent overload: a load of 1.2 that does not end.

use crate::choice::{Choice, Scale};
use crate::experiment::case::Case;
use crate::experiment::systems::{APACHE, FAIR, NGINX, PROTECTIVE, SRPT};
use crate::experiment::{
    Evidence, Experiment, Group, Measure, link_use, listen_drops, mean, most_connections, pieces,
};
use crate::findings::{Bar, Row, Section, Table, Unit, label};
use crate::outcome::Outcome;

pub(in crate::papers) const EXPERIMENT: Experiment = Experiment {
    name: "schroeder-persistent",
    paper: "Schroeder 2003",
    repeats: "Figure 5; section 4.1 (A), persistent overload",
    title: "Persistent overload: a load of 1.2",
    groups,
    report,
};

const OWN: [&str; 5] = [SRPT, PROTECTIVE, FAIR, NGINX, APACHE];
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
    case(choice.scale).groups(&choice.systems(&OWN)).collect()
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

/// Seconds until a connection was first refused; infinite if none was.
fn first_drop(outcome: &Outcome) -> f64 {
    let first = outcome.samples.iter().find(|sample| sample.listen_drops > 0);
    first.map_or(f64::NAN, |sample| sample.at * 1e3)
}

fn report(evidence: &Evidence<'_>, section: &mut Section) {
    let case = case(evidence.choice.scale);
    let systems = evidence.choice.systems(&OWN);
    section.text(
        "A fixed load of 1.2 for the whole run. The paper counts only responses that end before the \
         last request; here what is still open at the end may finish, so late response times are \
         those of a load that then stops. Figure 5 ends at 70 s.",
    );
    section.plot(pieces::connections(
        evidence,
        "Figure 5 (left): connections at the server",
        &case,
        &systems,
    ));
    section.plot(pieces::over_time(evidence, "Figure 5 (right): response times", &case, &systems));
    section.table(table(evidence, &case, &systems));
    let value = |system: &str, figure: Measure| evidence.runs.value(&case.cell(system), figure);
    let what = "p95 of requests under 10 KB, last minute ÷ second minute";
    let short = match evidence.choice.scale {
        Scale::Quick => "a quick run has no third minute",
        _ => "",
    };
    section.row(
        Row::new(format!("weir srpt, {what}"), "", value(SRPT, decay), Unit::Times)
            .bar(Bar::AtMost(1.2))
            .note(short),
    );
    let promise = "under lasting overload the promise of no later than fair costs something";
    section.row(
        Row::new(format!("weir protective, {what}"), "", value(PROTECTIVE, decay), Unit::Times)
            .note(promise),
    );
    let at_10 = |outcome: &Outcome| around(outcome, 10);
    let at_70 = |outcome: &Outcome| around(outcome, 70);
    for system in [APACHE, NGINX] {
        let what = format!("{}, mean response time at 10 s", label(system));
        section.row(Row::new(what, "5 s", value(system, at_10), Unit::Ms).paper_is(5000.0));
    }
    section.row(
        Row::new(
            "weir srpt, mean response time at 70 s",
            "less than 5 s",
            value(SRPT, at_70),
            Unit::Ms,
        )
        .bar(Bar::AtMost(5000.0)),
    );
    section.row(
        Row::new(
            "Apache prefork, first refused connection",
            "40 to 50 s",
            value(APACHE, first_drop),
            Unit::Ms,
        )
        .note("350 processes and two queues of 512, as the paper's; none refused gives no figure"),
    );
    section.row(
        Row::new(
            "weir srpt, refused connections",
            "none in 300 s",
            value(SRPT, listen_drops),
            Unit::Count,
        )
        .bar(Bar::AtMost(0.0)),
    );
    let same = evidence.runs.ratio(&case.cell(SRPT), &case.cell(NGINX), link_use);
    section.row(
        Row::new("weir srpt ÷ nginx, link use", "the same byte throughput", same, Unit::Times)
            .paper_is(1.0)
            .note("weir leaves 1.5 % of the rate free, so that the queue is its own"),
    );
}

fn table(evidence: &Evidence<'_>, case: &Case, systems: &[String]) -> Table {
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
    let mut table = Table::new("Persistent overload, queue of 1000 packets.", &columns);
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

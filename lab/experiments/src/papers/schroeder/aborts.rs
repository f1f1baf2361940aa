//! Schroeder 2003, section 4.1 (H): users who give up and press reload.

use crate::choice::{Choice, Scale};
use crate::experiment::case::Case;
use crate::experiment::systems::{NGINX, RIVALS, SRPT};
use crate::experiment::{Evidence, Experiment, Group, Measure, mean};
use crate::findings::{Axis, Plot, Row, Section, Table, Unit, label, series};
use crate::outcome::Outcome;

pub(in crate::papers) const EXPERIMENT: Experiment = Experiment {
    name: "schroeder-aborts",
    paper: "Schroeder 2003",
    repeats: "Figure 6 (H); Table 2, row H",
    title: "Users who abort and retry",
    groups,
    report,
};

/// Seconds after which users abort.
const PATIENCE: [f64; 3] = [3.0, 10.0, 15.0];
/// How often they try again.
const RETRIES: [u32; 2] = [2, 6];

fn cases(scale: Scale) -> Vec<(f64, u32, Case)> {
    let of =
        |retries| PATIENCE.map(|after| (after, retries, Case::w1(scale).abort(after, retries)));
    RETRIES.into_iter().flat_map(of).collect()
}

fn groups(choice: &Choice) -> Vec<Group> {
    let systems = choice.systems(&RIVALS);
    let mut groups: Vec<Group> = Vec::new();
    for (_, _, case) in cases(choice.scale) {
        groups.extend(case.groups(&systems));
    }
    groups.extend(Case::w1(choice.scale).groups(&systems));
    groups
}

fn incomplete(outcome: &Outcome) -> f64 {
    outcome.incomplete
}

fn report(evidence: &Evidence<'_>, section: &mut Section) {
    let systems = evidence.choice.systems(&RIVALS);
    let cases = cases(evidence.choice.scale);
    section.text(
        "A user who has no complete response after some seconds closes the connection and asks again \
         at once, a number of times. Response times count from the first attempt; requests that were \
         given up for good have none and are counted as incomplete.",
    );
    let figures: [(&str, &str, Measure, f64); 2] = [
        ("Figure 6 (H): mean response time", "mean response time, s", mean, 1e-3),
        ("Requests that never complete", "incomplete, %", incomplete, 100.0),
    ];
    for (title, axis, figure, scale) in figures {
        let x = Axis::linear("users abort after, s");
        let mut plot = Plot::new(title, x, Axis::linear(axis));
        for system in &systems {
            for retries in RETRIES {
                let points = cases
                    .iter()
                    .filter(|(_, r, _)| *r == retries)
                    .map(|(at, _, case)| (*at, evidence.runs.value(&case.cell(system), figure)));
                let series = series::measured(system, points, scale);
                let name = format!("{}, {retries} retries", label(system));
                let colour = series.colour;
                plot.series.push(series.named(name).coloured(colour, retries == 2));
            }
        }
        section.plot(plot);
    }
    section.table(table(evidence, &cases, &systems));
    rows(evidence, section);
}

fn table(evidence: &Evidence<'_>, cases: &[(f64, u32, Case)], systems: &[String]) -> Table {
    let mut columns = vec!["abort after, retries".to_owned()];
    columns.extend(systems.iter().map(|s| format!("{}, mean ms", label(s))));
    columns.extend(systems.iter().map(|s| format!("{}, incomplete %", label(s))));
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    let mut table = Table::new("Users who abort, queue of 1000 packets.", &columns);
    for (after, retries, case) in cases {
        let means = systems.iter().map(|s| (evidence.runs.value(&case.cell(s), mean), Unit::Ms));
        let lost =
            systems.iter().map(|s| (evidence.runs.value(&case.cell(s), incomplete), Unit::Percent));
        table.row(format!("{after} s, {retries}"), &means.chain(lost).collect::<Vec<_>>());
    }
    table
}

fn rows(evidence: &Evidence<'_>, section: &mut Section) {
    let scale = evidence.choice.scale;
    let patient = Case::w1(scale);
    for (after, retries) in [(3.0, 2), (10.0, 6), (15.0, 6)] {
        let case = Case::w1(scale).abort(after, retries);
        let ours = evidence.runs.ratio(&case.cell(NGINX), &case.cell(SRPT), mean);
        let what = format!("nginx ÷ weir srpt, abort after {after} s, {retries} retries");
        section.row(Row::new(what, "at least 8", ours, Unit::Times).paper_is(8.0));
    }
    let long = Case::w1(scale).abort(15.0, 6);
    let ours = evidence.runs.ratio(&long.cell(NGINX), &patient.cell(NGINX), mean);
    let what = "nginx, abort after 15 s with 6 retries ÷ nobody aborts";
    section.row(Row::new(what, "almost 2", ours, Unit::Times).paper_is(2.0));
    let hasty = Case::w1(scale).abort(3.0, 2);
    for (system, paper) in [(NGINX, "more than 5 %"), (SRPT, "less than FAIR, by up to 7 times")] {
        let what = format!("{}, never complete, abort after 3 s, 2 retries", label(system));
        section.row(Row::new(
            what,
            paper,
            evidence.runs.value(&hasty.cell(system), incomplete),
            Unit::Percent,
        ));
    }
    for (system, paper) in [(NGINX, "no fewer than SRPT"), (SRPT, "no more than FAIR")] {
        let what = format!("{}, never complete among the largest 1 %, the same", label(system));
        let ours = evidence.runs.value(&hasty.cell(system), |o| o.incomplete_largest);
        section.row(Row::new(what, paper, ours, Unit::Percent));
    }
}

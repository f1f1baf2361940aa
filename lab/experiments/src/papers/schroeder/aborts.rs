//! Schroeder 2003, section 4.1 (H): users who give up and press reload.

use super::conditions::{self, AS_THE_PAPER, BOTH, Conditions};
use super::gains::{self, Extreme, Figure, ORDERS, is, says};
use super::ranges;
use crate::choice::{Choice, Scale};
use crate::experiment::case::Case;
use crate::experiment::systems::{APACHE, NGINX, RIVALS, SRPT};
use crate::experiment::{Evidence, Experiment, Group, Measure, mean};
use crate::findings::{Axis, Bar, Plot, Row, Section, Table, Unit, label, series};
use crate::outcome::Outcome;

pub(in crate::papers) const EXPERIMENT: Experiment = Experiment {
    name: "schroeder-aborts",
    paper: "Schroeder 2003",
    repeats: "Figure 6 (H); Table 2, row H",
    title: "Users who abort and retry",
    groups,
    report,
};

/// Retries of today's curves, which are fewer.
const TODAY: [u32; 2] = [2, 6];

/// Today's systems; a quick run has fewer.
fn systems(conditions: Conditions, choice: &Choice) -> Vec<String> {
    let today: &[&str] = if choice.scale == Scale::Quick { &[SRPT, NGINX] } else { &RIVALS };
    conditions.systems(choice, today)
}

fn base(conditions: Conditions, scale: Scale) -> Case {
    conditions.of(Case::w1(scale))
}

/// The range of Table 2; today the ends of it.
fn cases(conditions: Conditions, scale: Scale) -> Vec<(f64, u32, Case)> {
    let mut cases = ranges::aborts(&base(conditions, scale));
    if conditions == Conditions::Today || scale == Scale::Quick {
        cases.retain(|(_, retries, _)| TODAY.contains(retries));
    }
    cases
}

fn groups(choice: &Choice) -> Vec<Group> {
    let of = |conditions: Conditions| {
        let cases = cases(conditions, choice.scale);
        let patient = base(conditions, choice.scale);
        let all = cases.iter().map(|(_, _, case)| case).chain([&patient]);
        conditions::groups(all, &systems(conditions, choice))
    };
    BOTH.into_iter().flat_map(of).collect()
}

fn incomplete(outcome: &Outcome) -> f64 {
    outcome.incomplete
}

fn report(evidence: &Evidence<'_>, section: &mut Section) {
    section.text(
        "A user who has no complete response after some seconds closes the connection and asks again \
         at once, a number of times. Response times count from the first attempt; requests that were \
         given up for good have none and are counted as incomplete. Table 2 gives row H's own case 10 s \
         and 3 retries, the text 10 s and 6.",
    );
    section.text(AS_THE_PAPER);
    for conditions in BOTH {
        let systems = systems(conditions, evidence.choice);
        let cases = cases(conditions, evidence.choice.scale);
        for (title, axis, figure, scale) in [
            ("Figure 6 (H): mean response time", "mean response time, s", mean as Measure, 1e-3),
            ("Requests that never complete", "incomplete, %", incomplete as Measure, 100.0),
        ] {
            let title = conditions.named(title);
            section.plot(plot(evidence, (title, axis), &cases, &systems, (figure, scale)));
        }
        let caption = conditions.named("Users who abort") + ".";
        section.table(table(evidence, caption, &cases, &systems));
        match conditions {
            Conditions::Paper => paper_rows(evidence, section, &cases),
            Conditions::Today => today_rows(evidence, section),
        }
    }
}

/// A figure over the users' patience, a line for each system and number of retries.
fn plot(
    evidence: &Evidence<'_>,
    (title, y): (String, &str),
    cases: &[(f64, u32, Case)],
    systems: &[String],
    (figure, scale): (Measure, f64),
) -> Plot {
    let mut plot = Plot::new(title, Axis::linear("users abort after, s"), Axis::linear(y));
    for system in systems {
        for retries in ranges::RETRIES {
            let points = cases
                .iter()
                .filter(|(_, r, _)| *r == retries)
                .map(|(at, _, case)| (*at, evidence.runs.value(&case.cell(system), figure)));
            let series = series::measured(system, points, scale);
            if series.points.is_empty() {
                continue;
            }
            let name = format!("{}, {retries} retries", label(system));
            let colour = series.colour;
            plot.series.push(series.named(name).coloured(colour, retries == 2));
        }
    }
    plot
}

fn table(
    evidence: &Evidence<'_>,
    caption: String,
    cases: &[(f64, u32, Case)],
    systems: &[String],
) -> Table {
    let mut columns = vec!["abort after, retries".to_owned()];
    columns.extend(systems.iter().map(|s| format!("{}, mean ms", label(s))));
    columns.extend(systems.iter().map(|s| format!("{}, incomplete %", label(s))));
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    let mut table = Table::new(caption, &columns);
    for (after, retries, case) in cases {
        let means = systems.iter().map(|s| (evidence.runs.value(&case.cell(s), mean), Unit::Ms));
        let lost =
            systems.iter().map(|s| (evidence.runs.value(&case.cell(s), incomplete), Unit::Percent));
        table.row(format!("{after} s, {retries}"), &means.chain(lost).collect::<Vec<_>>());
    }
    table
}

/// Section 4.1 (H), sentence by sentence.
fn paper_rows(evidence: &Evidence<'_>, section: &mut Section, cases: &[(f64, u32, Case)]) {
    let base = base(Conditions::Paper, evidence.choice.scale);
    let (hasty, own, long) =
        (base.clone().abort(3.0, 2), base.clone().abort(10.0, 3), base.clone().abort(15.0, 6));
    let named: Vec<(String, Case)> = cases
        .iter()
        .map(|(after, retries, case)| (format!("{after} s, {retries} retries"), case.clone()))
        .collect();
    let said = says("at least a factor of 8 for all", Bar::AtLeast(8.0));
    gains::least_gain(evidence, section, &named, ("least of the choices", said));
    gains::gain(evidence, section, &own, ("abort after 10 s, 3 retries", said));
    let said = says("can decrease by up to 10 %", Bar::Between(0.9, 1.0));
    let word = "abort after 3 s, 2 retries ÷ nobody aborts";
    gains::change(evidence, section, (APACHE, &hasty, &base), (word, said));
    let word = "abort after 15 s, 6 retries ÷ nobody aborts";
    let said = is("almost 2", 2.0);
    gains::change(evidence, section, (APACHE, &long, &base), (word, said));
    let share = |word, fair| Figure::of(word, Unit::Percent, incomplete).fair(fair);
    let said = says("more than 5 %", Bar::Above(0.05));
    let figure = share("never complete, abort after 3 s, 2 retries", said);
    gains::each(evidence, section, &hasty, &figure);
    let said = says("under 0.02 %", Bar::Below(0.0002));
    let figure = share("never complete, abort after 15 s, 6 retries", said);
    gains::each(evidence, section, &long, &figure);
    let said = says("always smaller", Bar::Below(0.0));
    for order in ORDERS {
        let less = |figure: Measure| {
            move |case: &Case| {
                let less = |srpt: &Outcome, fair: &Outcome| figure(srpt) - figure(fair);
                evidence.runs.paired(&case.cell(order), &case.cell(APACHE), less)
            }
        };
        let what = format!(
            "{}, share that never completes less Apache prefork's, most of the choices",
            label(order)
        );
        Extreme::Most.say(section, (what, said, Unit::Percent), &named, less(incomplete));
        let said = says("no more incompletes for the longest", Bar::AtMost(0.0));
        let what = format!("{}, the same among the largest 1 %, most of the choices", label(order));
        let largest: Measure = |outcome| outcome.incomplete_largest;
        Extreme::Most.say(section, (what, said, Unit::Percent), &named, less(largest));
        let said = says("smaller by as much as a factor of 7", Bar::Between(0.142, 1.0));
        let ours = evidence.runs.ratio(&hasty.cell(order), &hasty.cell(APACHE), incomplete);
        let what = format!(
            "{} ÷ Apache prefork, share that never completes, abort after 3 s, 2 retries",
            label(order)
        );
        gains::say(section, what, said, ours, Unit::Times);
    }
}

fn today_rows(evidence: &Evidence<'_>, section: &mut Section) {
    let base = base(Conditions::Today, evidence.choice.scale);
    for (after, retries) in [(3.0, 2), (10.0, 6), (15.0, 6)] {
        let case = base.clone().abort(after, retries);
        let ours = evidence.runs.ratio(&case.cell(NGINX), &case.cell(SRPT), mean);
        let what = format!("nginx ÷ weir srpt, abort after {after} s, {retries} retries");
        let row = Row::new(what, "at least a factor of 8 for all", ours, Unit::Times);
        Conditions::Today.row(section, row.paper_says(Bar::AtLeast(8.0)));
    }
    let hasty = base.abort(3.0, 2);
    for (system, paper) in [(NGINX, "more than 5 %"), (SRPT, "")] {
        let what = format!("{}, never complete, abort after 3 s, 2 retries", label(system));
        let ours = evidence.runs.value(&hasty.cell(system), incomplete);
        let row = Row::new(what, paper, ours, Unit::Percent);
        Conditions::Today.row(
            section,
            match system {
                NGINX => row.paper_says(Bar::Above(0.05)),
                _ => row,
            },
        );
    }
}

//! Schroeder 2003, section 4.2: the nine workloads of Table 1 on the baseline.

use super::w1::worst_by_size;
use crate::choice::{Choice, Scale};
use crate::experiment::case::Case;
use crate::experiment::systems::{APACHE, FAIR, NGINX, PROTECTIVE, SRPT, SYSTEMS};
use crate::experiment::workload::{WORKLOADS, Workload};
use crate::experiment::{
    Evidence, Experiment, Group, Measure, Runs, largest, listen_drops, mean, pieces,
};
use crate::findings::{Axis, Bar, Ours, Plot, Row, Section, Table, Unit, label, series};
use crate::outcome::Outcome;

pub(in crate::papers) const EXPERIMENT: Experiment = Experiment {
    name: "schroeder-workloads",
    paper: "Schroeder 2003",
    repeats: "Figure 9, Table 1; section 4.2",
    title: "Transient overload: workloads W1 to W9",
    groups,
    report,
};

/// A quick run has fewer, so that all its cells fit side by side.
const QUICK: [&str; 3] = [SRPT, PROTECTIVE, NGINX];

fn systems(choice: &Choice) -> Vec<String> {
    match choice.scale {
        Scale::Quick => choice.systems(&QUICK),
        _ => choice.systems(&SYSTEMS),
    }
}

fn groups(choice: &Choice) -> Vec<Group> {
    let systems = systems(choice);
    let of = |workload| Case::of(workload, choice.scale).groups(&systems).collect::<Vec<_>>();
    WORKLOADS.iter().flat_map(of).collect()
}

fn report(evidence: &Evidence<'_>, section: &mut Section) {
    let systems = systems(evidence.choice);
    section.text(
        "W1 to W5 alternate between overload and low load, W6 to W9 have spikes of twice the rate. \
         Queue of 1000 packets.",
    );
    let figures: [(&str, &str, Measure); 2] = [
        ("Figure 9 (left): mean response time", "mean response time, ms", mean),
        ("Figure 9 (right): largest 1 %", "mean response time of the largest 1 %, ms", largest),
    ];
    for (title, label, figure) in figures {
        section.plot(by_workload(evidence, title, label, &systems, figure));
    }
    section.table(overview(evidence, &systems));
    for workload in &WORKLOADS {
        let case = Case::of(workload, evidence.choice.scale);
        let caption = format!("{}.", workload.name);
        section.table(pieces::table(evidence, caption, &case, &systems));
    }
    rows(evidence, section);
}

fn by_workload(
    evidence: &Evidence<'_>,
    title: &str,
    label: &str,
    systems: &[String],
    figure: Measure,
) -> Plot {
    let names = WORKLOADS.iter().map(|workload| workload.name.to_owned());
    let mut plot = Plot::new(title, Axis::names("workload", names), Axis::log(label));
    for system in systems {
        let points = WORKLOADS.iter().enumerate().map(|(index, workload)| {
            let cell = Case::of(workload, evidence.choice.scale).cell(system);
            (index as f64, evidence.runs.value(&cell, figure))
        });
        plot.series.push(series::measured(system, points, 1.0));
    }
    plot
}

fn overview(evidence: &Evidence<'_>, systems: &[String]) -> Table {
    let mut columns = vec!["system".to_owned()];
    columns.extend(WORKLOADS.iter().map(|workload| workload.name.to_owned()));
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    let caption = "Mean response time ÷ weir srpt's, by workload.";
    let mut table = Table::new(caption, &columns);
    for system in systems {
        let ratios = WORKLOADS.iter().map(|workload| {
            let case = Case::of(workload, evidence.choice.scale);
            (evidence.runs.ratio(&case.cell(system), &case.cell(SRPT), mean), Unit::Times)
        });
        table.row(label(system), &ratios.collect::<Vec<_>>());
    }
    table
}

/// The row of a figure that all workloads have: the workload counts on which it is least, or most.
fn over_all(
    evidence: &Evidence<'_>,
    (what, paper): (&str, &str),
    extreme: Extreme,
    figure: impl Fn(&Runs, &Case) -> Ours,
) -> Row {
    let case = |workload| Case::of(workload, evidence.choice.scale);
    let each: Vec<(Ours, &Workload)> = WORKLOADS
        .iter()
        .map(|workload| (figure(evidence.runs, &case(workload)), workload))
        .collect();
    let left_out = each.iter().map(|(ours, _)| ours.left_out).sum();
    let known = each.iter().filter_map(|(ours, workload)| Some((ours.middle()?, ours, workload)));
    let count = known.clone().count();
    let found = match extreme {
        Extreme::Least => known.min_by(|one, other| one.0.total_cmp(&other.0)),
        Extreme::Most => known.max_by(|one, other| one.0.total_cmp(&other.0)),
    };
    let Some((_, ours, workload)) = found else {
        return Row::new(what, paper, Ours { left_out, ..Ours::none() }, Unit::Times);
    };
    let missing: Vec<&str> = each
        .iter()
        .filter(|(ours, _)| ours.middle().is_none())
        .map(|(_, workload)| workload.name)
        .collect();
    if !missing.is_empty() {
        return Row::new(what, paper, Ours { left_out, ..Ours::none() }, Unit::Times)
            .note(format!("no run that counts on {}", missing.join(", ")));
    }
    let word = if extreme == Extreme::Least { "least" } else { "most" };
    Row::new(what, paper, Ours { left_out, ..ours.clone() }, Unit::Times)
        .note(format!("{word} of {count} workloads, on {}", workload.name))
}

/// Which workload counts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Extreme {
    Least,
    Most,
}

fn rows(evidence: &Evidence<'_>, section: &mut Section) {
    let paper = "4 to 8 across the workloads";
    for (name, limit) in [("W4", 9.5), ("W8", 6.5)] {
        let workload = WORKLOADS.iter().find(|workload| workload.name == name);
        let ours = workload.map_or(Ours::none(), |workload| {
            let case = Case::of(workload, evidence.choice.scale);
            evidence.runs.ratio(&case.cell(NGINX), &case.cell(SRPT), mean)
        });
        let what = format!("nginx ÷ weir srpt, means, {name}");
        section.row(Row::new(what, paper, ours, Unit::Times).bar(Bar::AtLeast(limit)));
    }
    for rival in [NGINX, APACHE] {
        let figures: [(&str, Measure); 2] =
            [("means", mean), ("medians", |outcome| outcome.measured.median)];
        for (word, figure) in figures {
            let what = format!("{} ÷ weir srpt, {word}", label(rival));
            let paper = if word == "means" { paper } else { "" };
            let row = over_all(evidence, (&what, paper), Extreme::Least, |runs, case| {
                runs.ratio(&case.cell(rival), &case.cell(SRPT), figure)
            });
            section.row(row.bar(Bar::Above(1.0)));
        }
    }
    let largest_ones = ("weir srpt ÷ nginx, largest 1 %", "at most 1.10 on any workload");
    let row = over_all(evidence, largest_ones, Extreme::Most, |runs, case| {
        runs.ratio(&case.cell(SRPT), &case.cell(NGINX), largest)
    });
    section.row(row.bar(Bar::AtMost(1.0)));
    let row = over_all(evidence, ("protective ÷ srpt, means", ""), Extreme::Most, |runs, case| {
        runs.ratio(&case.cell(PROTECTIVE), &case.cell(SRPT), mean)
    });
    section.row(row.bar(Bar::AtMost(1.12)));
    let what = "protective ÷ fair, worst of the size deciles and the largest 1 %";
    let row = over_all(evidence, (what, ""), Extreme::Most, |runs, case| {
        runs.paired(&case.cell(PROTECTIVE), &case.cell(FAIR), worst_by_size)
    });
    section.row(row.bar(Bar::AtMost(1.03)));
    shares(evidence, section);
}

/// What is lost, late or refused, on the workload where that is most.
fn shares(evidence: &Evidence<'_>, section: &mut Section) {
    let most = |what: &str, paper: &str, system: &str, unit, figure: Measure| {
        let row = over_all(evidence, (what, paper), Extreme::Most, |runs, case| {
            runs.value(&case.cell(system), figure)
        });
        Row { unit, ..row }
    };
    let incomplete = |outcome: &Outcome| outcome.incomplete;
    for system in [SRPT, PROTECTIVE] {
        let what = format!("{}, incomplete responses, most over the seeds", label(system));
        let row = over_all(evidence, (&what, "none"), Extreme::Most, |runs, case| {
            runs.value(&case.cell(system), incomplete).worst()
        });
        section.row(Row { unit: Unit::Percent, ..row }.bar(Bar::AtMost(0.0)));
    }
    for system in [PROTECTIVE, SRPT] {
        let what = format!("{}, later than exact sharing by more than 50 ms", label(system));
        section.row(most(&what, "", system, Unit::Percent, pieces::late));
        let what = format!("{}, worst lateness against exact sharing", label(system));
        section.row(most(&what, "", system, Unit::Ms, pieces::worst));
    }
    let paper = "1 to 3 % of SYNs on W3 and W4";
    let what = "Apache prefork, refused connections";
    section.row(most(what, paper, APACHE, Unit::Count, listen_drops));
}

//! Schroeder 2003, section 4.2: the nine workloads of Table 1 on the baseline.

use super::conditions::{self, AS_THE_PAPER, Conditions};
use super::gains::Extreme;
use super::w1::worst_by_size;
use super::workloads_paper;
use crate::choice::{Choice, Scale};
use crate::experiment::case::Case;
use crate::experiment::systems::{APACHE, FAIR, NGINX, PROTECTIVE, SRPT, SYSTEMS};
use crate::experiment::workload::{WORKLOADS, Workload};
use crate::experiment::{
    Evidence, Experiment, Group, Measure, Runs, largest, listen_drops, mean, pieces,
};
use crate::findings::{Bar, Ours, Row, Section, Table, Unit, label};
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
const QUICK: [&str; 2] = [SRPT, NGINX];

fn today(choice: &Choice) -> Vec<String> {
    Conditions::Today.systems(choice, if choice.scale == Scale::Quick { &QUICK } else { &SYSTEMS })
}

fn groups(choice: &Choice) -> Vec<Group> {
    let cases = WORKLOADS.each_ref().map(|workload| Case::of(workload, choice.scale));
    let paper = workloads_paper::cases(choice.scale);
    let paper = paper.iter().map(|(_, case)| case);
    let mut groups = conditions::groups(paper, &Conditions::Paper.systems(choice, &SYSTEMS));
    groups.extend(conditions::groups(&cases, &today(choice)));
    groups
}

fn report(evidence: &Evidence<'_>, section: &mut Section) {
    section.text(
        "W1 to W5 alternate between overload and low load, W6 to W9 have spikes of twice the rate. \
         Today's conditions: load in wire bytes, a queue of 1000 packets.",
    );
    section.text(AS_THE_PAPER);
    workloads_paper::report(evidence, section);
    let systems = today(evidence.choice);
    let figures: [(&str, &str, Measure); 2] = [
        ("Mean response time, today", "mean response time, ms", mean),
        ("Largest 1 %, today", "mean response time of the largest 1 %, ms", largest),
    ];
    let cases =
        WORKLOADS.each_ref().map(|it| (it.name.to_owned(), Case::of(it, evidence.choice.scale)));
    for (title, label, figure) in figures {
        section.plot(pieces::by_name(evidence, (title, label), &cases, &systems, figure));
    }
    section.table(overview(evidence, &systems));
    for (name, case) in &cases {
        section.table(pieces::table(evidence, format!("{name}, today."), case, &systems));
    }
    rows(evidence, section);
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
    let of = |workload: &Workload| {
        let case = Case::of(workload, evidence.choice.scale);
        (workload.name.to_owned(), figure(evidence.runs, &case))
    };
    let (ours, note) = extreme.of(WORKLOADS.iter().map(of).collect());
    Row::new(what, paper, ours, Unit::Times).note(note)
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
        let row = Row::new(what, paper, ours, Unit::Times).bar(Bar::AtLeast(limit));
        Conditions::Today.row(section, row.paper_says(Bar::Between(4.0, 8.0)));
    }
    for rival in [NGINX, APACHE] {
        let figures: [(&str, Measure); 2] =
            [("means", mean), ("medians", |outcome| outcome.measured.median)];
        for (word, figure) in figures {
            let what = format!("{} ÷ weir srpt, {word}", label(rival));
            let row = over_all(
                evidence,
                (&what, if word == "means" { paper } else { "" }),
                Extreme::Least,
                |runs, case| runs.ratio(&case.cell(rival), &case.cell(SRPT), figure),
            );
            Conditions::Today.row(section, row.bar(Bar::Above(1.0)));
        }
    }
    let largest_ones = ("weir srpt ÷ nginx, largest 1 %", "never more than 10 % higher");
    let row = over_all(evidence, largest_ones, Extreme::Most, |runs, case| {
        runs.ratio(&case.cell(SRPT), &case.cell(NGINX), largest)
    });
    Conditions::Today.row(section, row.bar(Bar::AtMost(1.0)).paper_says(Bar::AtMost(1.10)));
    let row = over_all(evidence, ("protective ÷ srpt, means", ""), Extreme::Most, |runs, case| {
        runs.ratio(&case.cell(PROTECTIVE), &case.cell(SRPT), mean)
    });
    Conditions::Today.row(section, row.bar(Bar::AtMost(1.12)));
    let what = "protective ÷ fair, worst of the size deciles and the largest 1 %";
    let row = over_all(evidence, (what, ""), Extreme::Most, |runs, case| {
        runs.paired(&case.cell(PROTECTIVE), &case.cell(FAIR), worst_by_size)
    });
    Conditions::Today.row(section, row.bar(Bar::AtMost(1.03)));
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
        let row = over_all(evidence, (&what, ""), Extreme::Most, |runs, case| {
            runs.value(&case.cell(system), incomplete).worst()
        });
        Conditions::Today.row(section, Row { unit: Unit::Percent, ..row }.bar(Bar::AtMost(0.0)));
    }
    for system in [PROTECTIVE, SRPT] {
        let what = format!("{}, later than exact sharing by more than 50 ms", label(system));
        Conditions::Today.row(section, most(&what, "", system, Unit::Percent, pieces::late));
        let what = format!("{}, worst lateness against exact sharing", label(system));
        Conditions::Today.row(section, most(&what, "", system, Unit::Ms, pieces::worst));
    }
    let what = "Apache prefork, refused connections";
    Conditions::Today.row(section, most(what, "", APACHE, Unit::Count, listen_drops));
}

//! Schroeder 2003, sections 4.1 (J) and 4.2, the realistic case as the paper ran it, under all workloads.

use super::conditions::Conditions;
use super::gains::{self, Extreme, Figure, ORDERS, is, says};
use super::ranges::realistic;
use super::workloads_paper::{largest_ones, means, refused};
use crate::choice::Scale;
use crate::experiment::case::Case;
use crate::experiment::systems::{APACHE, BANDS, SRPT};
use crate::experiment::workload::{W1, WORKLOADS, Workload};
use crate::experiment::{Evidence, Measure, largest, listen_drops, mean, pieces};
use crate::findings::{Bar, Row, Section, Unit, label};
use crate::outcome::Outcome;

/// Row J of Table 2 under Table 1; a quick run has W1.
pub(super) fn cases(scale: Scale) -> Vec<(String, Case)> {
    let workloads = if scale == Scale::Quick { &WORKLOADS[..1] } else { &WORKLOADS[..] };
    let of = |workload: &Workload| {
        let case = realistic(Conditions::Paper.of(Case::of(workload, scale)));
        (workload.name.to_owned(), case)
    };
    workloads.iter().map(of).collect()
}

/// What section 4.2 says of incomplete requests under a workload: its words, and the range.
pub(super) fn incomplete(workload: &Workload) -> (&'static str, f64, f64) {
    match workload.name {
        "W4" | "W5" | "W8" | "W9" => ("10 to 15 % when load is 0.9", 0.10, 0.15),
        // Within a quarter of its figure.
        _ => ("only 0.2 % when load is 0.7", 0.0016, 0.0025),
    }
}

pub(super) fn report(evidence: &Evidence<'_>, section: &mut Section) {
    let scale = evidence.choice.scale;
    let cases = cases(scale);
    let systems = Conditions::Paper.systems(evidence.choice, &[SRPT, APACHE]);
    let w1 = realistic(Conditions::Paper.of(Case::of(&W1, scale)));
    section.plot(pieces::over_time(evidence, "Figure 8: realistic, W1, over time", &w1, &systems));
    section.plot(pieces::by_size(evidence, "Realistic, W1, by size", &w1, &systems));
    let caption = "Realistic, W1, as the paper ran it.";
    section.table(pieces::table(evidence, caption, &w1, &systems));
    let caption = "Realistic, W1 to W9, as the paper ran them.";
    section.table(pieces::range_table(evidence, caption, "workload", &cases, &systems));
    let said = is("a factor of 2 (1.48 s ÷ 764 ms)", 1.94);
    gains::gain(evidence, section, &w1, ("means, W1", said));
    for figure in &FIGURES {
        gains::each(evidence, section, &w1, figure);
    }
    if scale != Scale::Quick {
        over_workloads(evidence, section, &cases);
    }
}

/// What the paper gives under W1.
const FIGURES: [Figure; 4] = [
    Figure::of("mean, W1", Unit::Ms, mean).fair(is("1.48 s", 1480.0)).srpt(is("764 ms", 764.0)),
    Figure::of("mean of the largest 1 %, W1", Unit::Ms, largest)
        .fair(is("2.23 s", 2230.0))
        .srpt(is("2.28 s", 2280.0)),
    Figure::of("the very largest, W1", Unit::Ms, |outcome| outcome.measured.very_largest)
        .fair(is("13.2 s", 13_200.0))
        .srpt(is("12.8 s", 12_800.0)),
    Figure::of("refused connections, W1", Unit::Count, listen_drops)
        .fair(says("no SYN drops", Bar::AtMost(0.0)))
        .srpt(says("no SYN drops", Bar::AtMost(0.0))),
];

/// Section 4.2.
fn over_workloads(evidence: &Evidence<'_>, section: &mut Section, cases: &[(String, Case)]) {
    let said = says("1.5 to 4 across the workloads", Bar::Between(1.5, 4.0));
    for (name, case) in cases {
        gains::gain(evidence, section, case, (&format!("means, {name}"), said));
    }
    let limits = [
        says("900 ms to 3 s", Bar::Between(900.0, 3000.0)),
        says("600 to 900 ms", Bar::Between(600.0, 900.0)),
    ];
    means(evidence, section, cases, limits);
    let said = says("never more than 2 % higher", Bar::AtMost(1.02));
    largest_ones(evidence, section, cases, said);
    refused(evidence, section, cases, says("20 to 23 % of the SYNs", Bar::Between(0.20, 0.23)));
    for (workload, (_, case)) in WORKLOADS.iter().zip(cases) {
        let (paper, low, high) = incomplete(workload);
        for system in [APACHE, BANDS, SRPT] {
            let ours = evidence.runs.value(&case.cell(system), |outcome| outcome.incomplete);
            let what = format!("{}, incomplete, {}", label(system), workload.name);
            let row = Row::new(what, paper, ours, Unit::Percent);
            Conditions::Paper.row(section, row.paper_says(Bar::Between(low, high)));
        }
    }
    let of_largest: Measure = |outcome| outcome.incomplete_largest;
    for (system, said) in [
        (APACHE, says("3 to 26 %", Bar::Between(0.03, 0.26))),
        (BANDS, says("3 to 14 %", Bar::Between(0.03, 0.14))),
        (SRPT, says("3 to 14 %", Bar::Between(0.03, 0.14))),
    ] {
        for (extreme, word) in [(Extreme::Least, "least"), (Extreme::Most, "most")] {
            let of = |case: &Case| evidence.runs.value(&case.cell(system), of_largest);
            let what = format!(
                "{}, incomplete among the largest 1 %, {word} of the workloads",
                label(system)
            );
            extreme.say(section, (what, said, Unit::Percent), cases, of);
        }
    }
    for order in ORDERS {
        let more = |srpt: &Outcome, fair: &Outcome| of_largest(srpt) - of_largest(fair);
        let of = |case: &Case| evidence.runs.paired(&case.cell(order), &case.cell(APACHE), more);
        let what = format!(
            "{}, incomplete among the largest 1 % less Apache prefork's, most of the workloads",
            label(order)
        );
        let said = says("always smaller", Bar::Below(0.0));
        Extreme::Most.say(section, (what, said, Unit::Percent), cases, of);
    }
}

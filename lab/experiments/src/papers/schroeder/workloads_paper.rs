//! Schroeder 2003, section 4.2, the baseline as the paper ran it: the nine workloads, what it says of all
//! of them together and of single ones.

use super::conditions::Conditions;
use super::gains::{self, Extreme, ORDERS, Said, is, say, says};
use crate::choice::Scale;
use crate::experiment::case::Case;
use crate::experiment::systems::{APACHE, SYSTEMS};
use crate::experiment::workload::WORKLOADS;
use crate::experiment::{Evidence, Measure, largest, listen_drops, mean, pieces};
use crate::findings::{Bar, Section, Unit, label};

/// Table 1 on the baseline of Table 2.
pub(super) fn cases(scale: Scale) -> Vec<(String, Case)> {
    let of = |name: &str, case| (name.to_owned(), Conditions::Paper.of(case));
    WORKLOADS.iter().map(|workload| of(workload.name, Case::of(workload, scale))).collect()
}

pub(super) fn report(evidence: &Evidence<'_>, section: &mut Section) {
    let cases = cases(evidence.choice.scale);
    let systems = Conditions::Paper.systems(evidence.choice, &SYSTEMS);
    let figures: [(&str, &str, Measure); 2] = [
        ("Figure 9 (left): mean response time", "mean response time, ms", mean),
        ("Figure 9 (right): largest 1 %", "mean response time of the largest 1 %, ms", largest),
    ];
    for (title, y, figure) in figures {
        section.plot(pieces::by_name(evidence, (title, y), &cases, &systems, figure));
    }
    let caption = "W1 to W9, as the paper ran them.";
    section.table(pieces::range_table(evidence, caption, "workload", &cases, &systems));
    let said = says("4 to 8 across the workloads", Bar::Between(4.0, 8.0));
    for (name, case) in &cases {
        gains::gain(evidence, section, case, (&format!("means, {name}"), said));
    }
    let limits = [
        says("300 ms to 2.5 s", Bar::Between(300.0, 2500.0)),
        says("50 to 400 ms", Bar::Between(50.0, 400.0)),
    ];
    means(evidence, section, &cases, limits);
    let said = says("never more than 10 % higher", Bar::AtMost(1.10));
    largest_ones(evidence, section, &cases, said);
    longer_periods(evidence, section, &cases);
    let said = says("1 to 3 % of the SYNs", Bar::Between(0.01, 0.03));
    refused(evidence, section, &cases, said);
}

/// The least and the most mean over the workloads, of FAIR and of the systems that go by size.
pub(super) fn means(
    evidence: &Evidence<'_>,
    section: &mut Section,
    cases: &[(String, Case)],
    [fair, srpt]: [Said; 2],
) {
    let orders = ORDERS.map(|order| (order, srpt));
    for (system, said) in [(APACHE, fair)].into_iter().chain(orders) {
        for (extreme, word) in [(Extreme::Least, "least"), (Extreme::Most, "most")] {
            let what = format!("{}, {word} mean of the workloads", label(system));
            let of = |case: &Case| evidence.runs.value(&case.cell(system), mean);
            extreme.say(section, (what, said, Unit::Ms), cases, of);
        }
    }
}

/// The largest 1 % under the systems that go by size over those under Apache, where that is most.
pub(super) fn largest_ones(
    evidence: &Evidence<'_>,
    section: &mut Section,
    cases: &[(String, Case)],
    said: Said,
) {
    for order in ORDERS {
        let what = format!("{} ÷ Apache prefork, largest 1 %, most of the workloads", label(order));
        let of = |case: &Case| evidence.runs.ratio(&case.cell(order), &case.cell(APACHE), largest);
        Extreme::Most.say(section, (what, said, Unit::Times), cases, of);
    }
}

/// W3 against W2: the same loads in periods five times as long.
fn longer_periods(evidence: &Evidence<'_>, section: &mut Section, cases: &[(String, Case)]) {
    let [_, (_, w2), (_, w3), ..] = cases else { return };
    let said = is("a 10 times lower mean on W2", 10.0);
    for system in [APACHE].into_iter().chain(ORDERS) {
        gains::change(evidence, section, (system, w3, w2), ("W3 ÷ W2", said));
    }
}

/// Connections refused ÷ requests: on the two workloads where the paper has SYN drops, and on the
/// others, where it has none.
pub(super) fn refused(
    evidence: &Evidence<'_>,
    section: &mut Section,
    cases: &[(String, Case)],
    said: Said,
) {
    let share: Measure = |outcome| listen_drops(outcome) / outcome.requests as f64;
    let (long, others): (Vec<_>, Vec<_>) =
        cases.iter().cloned().partition(|(name, _)| name == "W3" || name == "W4");
    let of =
        |system: &'static str| move |case: &Case| evidence.runs.value(&case.cell(system), share);
    for (name, case) in &long {
        let what = format!("Apache prefork, refused connections ÷ requests, {name}");
        say(section, what, said, of(APACHE)(case), Unit::Percent);
    }
    let none = says("most have zero SYN drops", Bar::AtMost(0.0));
    let what = "Apache prefork, refused connections ÷ requests, most of the others".to_owned();
    Extreme::Most.say(section, (what, none, Unit::Percent), &others, of(APACHE));
    let none = says("SYN drops do not occur", Bar::AtMost(0.0));
    for order in ORDERS {
        let what =
            format!("{}, refused connections ÷ requests, most of the workloads", label(order));
        Extreme::Most.say(section, (what, none, Unit::Percent), cases, of(order));
    }
}

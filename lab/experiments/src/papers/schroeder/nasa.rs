//! Schroeder 2003, appendix B: the experiments again with the NASA trace.

use super::conditions::{self, AS_THE_PAPER, BOTH, Conditions};
use super::gains::{self, Extreme, is, says};
use super::ranges::{self as table_2, DELAY, Range, realistic};
use crate::choice::{Choice, Scale};
use crate::experiment::case::Case;
use crate::experiment::systems::{APACHE, FEW, NGINX, SRPT};
use crate::experiment::workload::{WORKLOADS, Workload};
use crate::experiment::{Evidence, Experiment, Group, Measure, largest, mean, pieces};
use crate::findings::{Bar, Row, Section, Unit};

pub(in crate::papers) const EXPERIMENT: Experiment = Experiment {
    name: "schroeder-nasa",
    paper: "Schroeder 2003",
    repeats: "Figures 11, 12 and 13; appendix B",
    title: "The NASA trace",
    groups,
    report,
};

/// The day of the NASA log that there is.
pub(super) const NASA: &str = "nasa-19950801.tsv.gz";

/// Of the ranges, what the paper compares; row A and J have its bands too.
const PAIR: [&str; 2] = [SRPT, APACHE];

fn base(conditions: Conditions, scale: Scale) -> Case {
    conditions.of(Case::w1(scale)).traced(NASA)
}

/// Figure 11, right: the ranges of Table 2; a quick run has column 3.
fn ranges(scale: Scale) -> Vec<(String, Case)> {
    let base = base(Conditions::Paper, scale);
    if scale == Scale::Quick {
        return vec![
            ("B: 100 ms".to_owned(), base.clone().wan(DELAY, 0.0)),
            ("E: 5 requests per connection".to_owned(), base.requests_per_connection(5)),
        ];
    }
    let of = |row: &'static str, range: Range, unit: &'static str| {
        range.into_iter().map(move |(at, case)| (format!("{row}: {at} {unit}"), case))
    };
    let aborts = table_2::aborts(&base).into_iter();
    let plane = table_2::plane(&base).into_iter();
    of("B", table_2::delays(&base), "ms")
        .chain(of("C", table_2::losses(&base), "% loss"))
        .chain(plane.map(|(name, case)| (format!("D: {name}"), case)))
        .chain(of("E", table_2::requests(&base), "requests per connection"))
        .chain(of("F", table_2::timeouts(&base), "ms RTO"))
        .chain(aborts.map(|(after, retries, case)| {
            (format!("H: abort after {after} s, {retries} retries"), case)
        }))
        .chain(of("I", table_2::lengths(&base), "bytes"))
        .collect()
}

/// Figure 13: the workloads of Table 1 on the baseline.
fn workloads(scale: Scale) -> Vec<(String, Case)> {
    let of = |workload: &Workload| {
        let case = Conditions::Paper.of(Case::of(workload, scale)).traced(NASA);
        (workload.name.to_owned(), case)
    };
    WORKLOADS.iter().map(of).collect()
}

fn groups(choice: &Choice) -> Vec<Group> {
    let scale = choice.scale;
    let pair = choice.systems(&PAIR);
    let mut groups: Vec<Group> = Vec::new();
    for (_, case) in ranges(scale).into_iter().chain(workloads(scale)) {
        groups.extend(case.groups(&pair));
    }
    for conditions in BOTH {
        let systems = conditions.systems(choice, if scale == Scale::Quick { &PAIR } else { &FEW });
        let base = base(conditions, scale);
        groups.extend(conditions::groups([&base, &realistic(base.clone())], &systems));
    }
    // Row A on the law of the World Cup, which the NASA trace is compared with.
    groups.extend(Conditions::Paper.of(Case::w1(scale)).groups(&pair));
    groups
}

fn report(evidence: &Evidence<'_>, section: &mut Section) {
    section.text(
        "One day of the log of NASA's Kennedy Space Center, 1 August 1995: 30,969 requests, mean 15.6 \
         KB, the largest 3 % half of the bytes. The paper used several hours of a day of 100,000 with a \
         mean of 19 KB, the largest 2.5 % half of the bytes. The trace keeps its own interarrivals, \
         scaled so that each period has its load. G, SYN cookies, is left out: see \
         schroeder-syn-cookies.",
    );
    section.text(AS_THE_PAPER);
    paper(evidence, section);
    let systems = Conditions::Today.systems(evidence.choice, &FEW);
    let base = base(Conditions::Today, evidence.choice.scale);
    for (name, case) in [("baseline", base.clone()), ("realistic", realistic(base))] {
        let caption = format!("NASA, W1, {name}, today.");
        section.table(pieces::table(evidence, caption, &case, &systems));
        let ours = evidence.runs.ratio(&case.cell(NGINX), &case.cell(SRPT), mean);
        let what = format!("nginx ÷ weir srpt, means, W1, {name}");
        Conditions::Today.row(section, Row::new(what, "", ours, Unit::Times));
    }
}

fn paper(evidence: &Evidence<'_>, section: &mut Section) {
    let scale = evidence.choice.scale;
    let systems = Conditions::Paper.systems(evidence.choice, &FEW);
    let pair = evidence.choice.systems(&PAIR);
    let (base, workloads) = (base(Conditions::Paper, scale), workloads(scale));
    let real = realistic(base.clone());
    let title = "Figure 11 (A): baseline, over time";
    section.plot(pieces::over_time(evidence, title, &base, &systems));
    section.plot(pieces::over_time(evidence, "Figure 12: realistic, over time", &real, &systems));
    section.plot(pieces::by_size(evidence, "Baseline, by size", &base, &systems));
    let figures: [(&str, &str, Measure); 2] = [
        ("Figure 13 (left): workloads", "mean response time, ms", mean),
        ("Figure 13 (right): largest 1 %", "mean response time of the largest 1 %, ms", largest),
    ];
    for (title, y, figure) in figures {
        section.plot(pieces::by_name(evidence, (title, y), &workloads, &pair, figure));
    }
    let caption = "Figure 11: ranges of Table 2, as the paper ran them.";
    section.table(pieces::range_table(evidence, caption, "row", &ranges(scale), &pair));
    let caption = "Figure 13: workloads of Table 1, as the paper ran them.";
    section.table(pieces::range_table(evidence, caption, "workload", &workloads, &pair));
    for (name, case) in [("baseline", &base), ("realistic", &real)] {
        let caption = format!("NASA, W1, {name}, as the paper ran it.");
        section.table(pieces::table(evidence, caption, case, &systems));
    }
    for (name, case, said) in [
        ("W1, baseline", &base, is("gains similar to the World Cup's (8.0)", 7.97)),
        ("W1, realistic", &real, is("gains similar to the World Cup's (1.9)", 1.94)),
    ] {
        gains::gain(evidence, section, case, (name, said));
    }
    let cup = Conditions::Paper.of(Case::w1(scale));
    let higher = says("higher for both", Bar::Above(1.0));
    for system in [APACHE, SRPT] {
        gains::change(evidence, section, (system, &base, &cup), ("NASA ÷ World Cup", higher));
    }
    let ratio = |case: &Case| evidence.runs.ratio(&case.cell(SRPT), &case.cell(APACHE), largest);
    let what = "weir srpt ÷ Apache prefork, largest 1 %, most of the workloads".to_owned();
    let said = says("similar to the World Cup's: never more than 10 % higher", Bar::AtMost(1.10));
    Extreme::Most.say(section, (what, said, Unit::Times), &workloads, ratio);
    let ratio = |case: &Case| evidence.runs.ratio(&case.cell(APACHE), &case.cell(SRPT), mean);
    for (extreme, word) in [(Extreme::Least, "least"), (Extreme::Most, "most")] {
        let what = format!("Apache prefork ÷ weir srpt, means, {word} of the workloads");
        let said = says("similar to the World Cup's: 4 to 8", Bar::Between(4.0, 8.0));
        extreme.say(section, (what, said, Unit::Times), &workloads, ratio);
    }
}

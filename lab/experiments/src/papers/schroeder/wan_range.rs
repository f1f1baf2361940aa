//! Schroeder 2003, section 4.1 (B) and (C): ranges of round-trip times and of losses. Both together are in
//! schroeder-wan.

use super::conditions::{self, AS_THE_PAPER, BOTH, Conditions};
use super::gains::{self, Figure, Said, is, says};
use super::ranges::{self, DELAY, LOSS, Range};
use crate::choice::{Choice, Scale};
use crate::experiment::case::Case;
use crate::experiment::systems::{APACHE, BANDS, FEW, NGINX, SRPT};
use crate::experiment::{Evidence, Experiment, Group, mean, pieces};
use crate::findings::{Axis, Bar, Row, Section, Unit};

pub(in crate::papers) const EXPERIMENT: Experiment = Experiment {
    name: "schroeder-wan-range",
    paper: "Schroeder 2003",
    repeats: "Figure 6 (B) and (C); Table 2, rows B and C",
    title: "Round-trip times, and losses",
    groups,
    report,
};

/// A row of Table 2 on a base: its range.
type Of = fn(&Case) -> Range;

/// Rows B and C: title, axis and range.
const ROWS: [(&str, &str, Of); 2] = [
    ("Figure 6 (B): round-trip time", "round-trip time, ms", ranges::delays),
    ("Figure 6 (C): loss", "loss, %", ranges::losses),
];

/// The range of a row; a quick run and today's have what Table 2, column 3, has, and nothing of it.
fn range(conditions: Conditions, scale: Scale, of: Of) -> Range {
    let mut range = of(&conditions.of(Case::w1(scale)));
    if conditions == Conditions::Today || scale == Scale::Quick {
        range.retain(|(at, _)| [0.0, DELAY, LOSS * 100.0].contains(at));
    }
    range
}

fn groups(choice: &Choice) -> Vec<Group> {
    let of = |conditions: Conditions| {
        let systems = conditions.systems(choice, &FEW);
        let ranges = ROWS.map(|(_, _, of)| range(conditions, choice.scale, of));
        conditions::groups(ranges.iter().flatten().map(|(_, case)| case), &systems)
    };
    BOTH.into_iter().flat_map(of).collect()
}

fn report(evidence: &Evidence<'_>, section: &mut Section) {
    section.text("Delay and loss as in schroeder-wan.");
    section.text(AS_THE_PAPER);
    for conditions in BOTH {
        let systems = conditions.systems(evidence.choice, &FEW);
        for (title, x, of) in ROWS {
            let range = range(conditions, evidence.choice.scale, of);
            let axes = (Axis::linear(x), Axis::linear("mean response time, s"));
            let title = conditions.named(title);
            section.plot(pieces::curve(evidence, &title, axes, &range, &systems, (mean, 1e-3)));
            let named = named(&range);
            section.table(pieces::range_table(evidence, &(title + "."), x, &named, &systems));
        }
    }
    delays(evidence, section);
    losses(evidence, section);
    today(evidence, section);
}

fn named(range: &Range) -> Vec<(String, Case)> {
    range.iter().map(|(at, case)| (at.to_string(), case.clone())).collect()
}

/// Section 4.1 (B).
fn delays(evidence: &Evidence<'_>, section: &mut Section) {
    let range = range(Conditions::Paper, evidence.choice.scale, ranges::delays);
    let said = says("at least a factor of 2.5 for all", Bar::AtLeast(2.5));
    gains::least_gain(evidence, section, &named(&range), ("least over the round trips, ms", said));
    let of = |ms: f64| range.iter().find(|(at, _)| *at == ms).map(|(_, case)| case);
    let (Some(far), Some(near)) = (of(DELAY), of(0.0)) else { return };
    let doubles = says("more than doubles", Bar::Above(2.0));
    for (system, said) in [(APACHE, is("hardly affected", 1.0)), (BANDS, doubles), (SRPT, doubles)]
    {
        gains::change(evidence, section, (system, far, near), ("100 ms ÷ none", said));
    }
}

/// Section 4.1 (C).
fn losses(evidence: &Evidence<'_>, section: &mut Section) {
    let range = range(Conditions::Paper, evidence.choice.scale, ranges::losses);
    let of = |loss: f64| range.iter().find(|(at, _)| *at == loss).map(|(_, case)| case);
    if let (Some(some), Some(none)) = (of(5.0), of(0.0)) {
        let said = is("almost a factor of 2 (1.9 s ÷ 1.1 s)", 1.73);
        gains::change(evidence, section, (APACHE, some, none), ("5 % loss ÷ none", said));
        gains::each(
            evidence,
            section,
            some,
            &mean_at("mean, 5 % loss", [is("1.9 s", 1900.0), is("around 930 ms", 930.0)]),
        );
        let said = is("2.0 (1.9 s ÷ 0.93 s)", 2.04);
        gains::gain(evidence, section, some, ("5 % loss", said));
    }
    if let Some(most) = of(15.0) {
        gains::each(
            evidence,
            section,
            most,
            &mean_at(
                "mean, 15 % loss",
                [
                    says("more than 6 s", Bar::Above(6000.0)),
                    says("more than 4 s", Bar::Above(4000.0)),
                ],
            ),
        );
        let said = is("about a factor of 1.5", 1.5);
        gains::gain(evidence, section, most, ("15 % loss", said));
    }
}

fn mean_at(word: &'static str, [fair, srpt]: [Said; 2]) -> Figure {
    Figure::of(word, Unit::Ms, mean).fair(fair).srpt(srpt)
}

fn today(evidence: &Evidence<'_>, section: &mut Section) {
    for (word, said, case) in [
        ("100 ms", says("at least a factor of 2.5 for all", Bar::AtLeast(2.5)), (DELAY, 0.0)),
        ("5 % loss", is("2.0 (1.9 s ÷ 0.93 s)", 2.04), (0.0, LOSS)),
    ] {
        let case = Case::w1(evidence.choice.scale).wan(case.0, case.1);
        let ours = evidence.runs.ratio(&case.cell(NGINX), &case.cell(SRPT), mean);
        let what = format!("nginx ÷ weir srpt, {word}");
        let row = Row { claim: said.claim, ..Row::new(what, said.words, ours, Unit::Times) };
        Conditions::Today.row(section, row);
    }
}

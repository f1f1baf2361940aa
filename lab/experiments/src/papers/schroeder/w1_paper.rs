//! Schroeder 2003, section 4.1 (A), transient overload, as the paper ran it: what it says of the baseline
//! under W1, sentence by sentence.

use super::conditions::Conditions;
use super::gains::{self, Figure, is, says, words};
use crate::choice::Scale;
use crate::experiment::case::Case;
use crate::experiment::systems::SYSTEMS;
use crate::experiment::{Evidence, largest, listen_drops, mean, most_connections, pieces};
use crate::findings::{Bar, Section, Unit};
use crate::outcome::Outcome;

/// The baseline of Table 2 under W1.
pub(super) fn case(scale: Scale) -> Case {
    Conditions::Paper.of(Case::w1(scale))
}

pub(super) fn report(evidence: &Evidence<'_>, section: &mut Section) {
    let case = &case(evidence.choice.scale);
    let systems = Conditions::Paper.systems(evidence.choice, &SYSTEMS);
    let title = "Figure 6 (A): response times over time";
    section.plot(pieces::over_time(evidence, title, case, &systems));
    let title = "Figure 7 (left): distribution of response times";
    section.plot(pieces::distribution(evidence, title, case, &systems));
    let title = "Figure 7 (right): response time by size";
    section.plot(pieces::by_size(evidence, title, case, &systems));
    let title = "Connections at the server, as the paper ran it";
    section.plot(pieces::connections(evidence, title, case, &systems));
    section.table(pieces::table(evidence, "W1, as the paper ran it.", case, &systems));
    gains::gain(evidence, section, case, ("means", is("8.0 (1.1 s ÷ 138 ms)", 7.97)));
    let said = is("0.97 (2.8 s ÷ 2.9 s)", 0.97);
    gains::price(evidence, section, case, ("largest 1 %", said), largest);
    let said = is("1.09 (19.4 s ÷ 17.8 s)", 1.09);
    gains::price(evidence, section, case, ("the very largest", said), very_largest);
    for figure in &FIGURES {
        gains::each(evidence, section, case, figure);
    }
}

/// What the paper gives for each system.
const FIGURES: [Figure; 8] = [
    Figure::of("mean", Unit::Ms, mean).fair(is("1.1 s", 1100.0)).srpt(is("138 ms", 138.0)),
    Figure::of("variance in s²", Unit::Count, |outcome| outcome.measured.variance)
        .fair(is("6.39", 6.39))
        .srpt(is("1.08", 1.08)),
    Figure::of("mean of the largest 1 %", Unit::Ms, largest)
        .fair(is("2.9 s", 2900.0))
        .srpt(is("2.8 s", 2800.0)),
    Figure::of("the very largest", Unit::Ms, very_largest)
        .fair(is("17.8 s", 17_800.0))
        .srpt(is("19.4 s", 19_400.0)),
    Figure::of("mean of the worst second", Unit::Ms, worst_second)
        .fair(says("up to more than 3 s", Bar::Above(3000.0))),
    Figure::of("seconds whose mean is above 0.5 s", Unit::Percent, above_half_a_second)
        .srpt(words("hardly ever")),
    Figure::of("most connections", Unit::Count, most_connections)
        .fair(says("frequently exceeds 200", Bar::Above(200.0)))
        .srpt(says("never exceeds 50", Bar::AtMost(50.0))),
    Figure::of("refused connections", Unit::Count, listen_drops)
        .fair(says("no SYNs are dropped", Bar::AtMost(0.0)))
        .srpt(says("no SYNs are dropped", Bar::AtMost(0.0))),
];

fn very_largest(outcome: &Outcome) -> f64 {
    outcome.measured.very_largest
}

/// The mean response time of the worst second, in ms.
fn worst_second(outcome: &Outcome) -> f64 {
    outcome.series.iter().copied().flatten().fold(f64::NAN, f64::max)
}

/// The share of seconds whose mean response time is above 0.5 s.
fn above_half_a_second(outcome: &Outcome) -> f64 {
    let seconds = || outcome.series.iter().copied().flatten();
    seconds().filter(|&ms| ms > 500.0).count() as f64 / seconds().count() as f64
}

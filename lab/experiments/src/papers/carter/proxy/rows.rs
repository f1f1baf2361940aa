//! What weir is to reach, and the others beside the paper's figures and earlier measurements.

use super::conditions::{Conditions, OVERLOADS, PATIENCE, loads, pace, retries};
use super::figures::{Comparison, recovery, requests, work};
use super::systems::{CHECKING, DIRECT, SHORTEST, WEIR, main};
use super::tables::retries_in_words;
use crate::experiment::Evidence;
use crate::findings::{Bar, Row, Section, Unit, label};

/// Useful work of weir with its defaults, at least.
const WORK: f64 = 0.98;
/// Useful requests and work by expected service time at 300 %, at least.
const SHORTEST_REQUESTS: f64 = 2.0;
const SHORTEST_WORK: f64 = 0.97;
/// Milliseconds until service is full again, at most; and of the mean response time at 300 %.
const RECOVERY: f64 = 1000.0;
const MEAN: f64 = 300.0;
/// Below capacity, response times over those of the application alone, at most.
const STEADY: f64 = 1.05;

/// What is known of useful requests (work) at 150 and at 300 % without retries: the paper's figures 2
/// and 3, or measurements of real servers before there was this experiment, with HTTP clients and an
/// application of their own.
const KNOWN: [(&str, [&str; 2]); 7] = [
    (DIRECT, ["0 % (livelock, Figure 2)", "0 % (livelock, Figure 2)"]),
    (CHECKING, ["91 (49) % before", "about 85 % (Figure 3); 89 (71) % before"]),
    ("nginx", ["0 to 1 % before", "0 % before"]),
    ("nginx-expert", ["97 to 102 % before", "94 to 106 (98 to 101) % before"]),
    ("haproxy", ["0 to 1 % before", "0 % before"]),
    ("haproxy-expert", ["97 to 102 % before", "94 to 106 (98 to 101) % before"]),
    ("caddy", ["0 to 1 % before", "0 % before"]),
];

pub(super) fn report(evidence: &Evidence<'_>, section: &mut Section) {
    weir(evidence, section);
    shortest(evidence, section);
    steady(evidence, section);
    others(evidence, section);
}

/// Overloads that this scale has.
fn overloads(evidence: &Evidence<'_>) -> Vec<f64> {
    let loads = loads(evidence.choice.scale);
    OVERLOADS.into_iter().filter(|load| loads.contains(load)).collect()
}

fn weir(evidence: &Evidence<'_>, section: &mut Section) {
    let pace = pace(evidence.choice.scale);
    for retries in retries(evidence.choice.scale) {
        for load in overloads(evidence) {
            let comparison = Comparison::of(evidence, Conditions::new(load, PATIENCE[0], retries));
            let named = |what: &str| {
                format!("weir, {:.0} %, {}: {what}", load * 100.0, retries_in_words(retries))
            };
            let ours = comparison.estimate(WEIR, work);
            let row = Row::new(named("useful work"), "", ours, Unit::Percent);
            section.row(row.bar(Bar::AtLeast(WORK)));
            let ours = comparison.estimate(WEIR, requests);
            section.row(Row::new(named("useful requests"), "", ours, Unit::Percent));
            let ours = comparison.value(WEIR, |comparison| Some(comparison.inequality));
            let what = named("success of a size class beyond its interval");
            section.row(Row::new(what, "", ours, Unit::Percent).bar(Bar::AtMost(0.0)));
            let ours = comparison.value(WEIR, recovery(pace));
            let row = Row::new(named("until service is full again"), "", ours, Unit::Ms);
            section.row(row.bar(Bar::AtMost(RECOVERY)));
        }
        let comparison = Comparison::of(evidence, Conditions::new(3.0, PATIENCE[0], retries));
        let ours = comparison.value(WEIR, |comparison| Some(comparison.attempt_ms? * pace));
        let what =
            format!("weir, 300 %, {}: mean response time, last attempt", retries_in_words(retries));
        section.row(Row::new(what, "", ours, Unit::Ms).bar(Bar::AtMost(MEAN)));
    }
}

fn shortest(evidence: &Evidence<'_>, section: &mut Section) {
    let comparison = Comparison::of(evidence, Conditions::new(3.0, PATIENCE[0], 0));
    let what = |what: &str| format!("weir by expected service time, 300 %, no retry: {what}");
    let ours = comparison.estimate(SHORTEST, requests);
    let row = Row::new(what("useful requests"), "272 % at best (model)", ours, Unit::Percent);
    section.row(row.bar(Bar::AtLeast(SHORTEST_REQUESTS)));
    let ours = comparison.estimate(SHORTEST, work);
    let row = Row::new(what("useful work"), "98 to 99 % at best (model)", ours, Unit::Percent);
    section.row(row.bar(Bar::AtLeast(SHORTEST_WORK)));
}

fn steady(evidence: &Evidence<'_>, section: &mut Section) {
    let comparison = Comparison::of(evidence, Conditions::steady());
    let ours = comparison.value(WEIR, |comparison| Some(comparison.refused)).worst();
    let row = Row::new("weir, 90 %: refused, the worst seed", "", ours, Unit::Percent);
    section.row(row.bar(Bar::AtMost(0.0)));
    let ours = comparison.ratio(WEIR, DIRECT, |comparison| comparison.mean_ms);
    let row = Row::new("weir ÷ direct, 90 %, means", "", ours, Unit::Times);
    section.row(row.bar(Bar::AtMost(STEADY)));
    let ours = comparison.ratio(WEIR, DIRECT, |comparison| comparison.p99_ms);
    let row = Row::new("weir ÷ direct, 90 %, 99th percentiles", "", ours, Unit::Times);
    section.row(row.bar(Bar::AtMost(STEADY)));
    let left = |system: &str| comparison.value(system, |comparison| Some(comparison.given_up));
    section.row(Row::new("weir, 90 %: clients who left", "", left(WEIR), Unit::Percent));
    section.row(Row::new("direct, 90 %: clients who left", "", left(DIRECT), Unit::Percent));
}

fn others(evidence: &Evidence<'_>, section: &mut Section) {
    let systems = main(evidence.choice);
    for (system, known) in KNOWN.iter().filter(|(known, _)| systems.iter().any(|s| s == known)) {
        for (load, known) in [1.5, 3.0].iter().zip(known) {
            let comparison = Comparison::of(evidence, Conditions::new(*load, PATIENCE[0], 0));
            let name = label(system);
            let named = |what: &str| format!("{name}, {:.0} %, no retry: {what}", load * 100.0);
            let ours = comparison.estimate(system, requests);
            section.row(Row::new(named("useful requests"), *known, ours, Unit::Percent));
            let ours = comparison.estimate(system, work);
            section.row(Row::new(named("useful work"), "", ours, Unit::Percent));
        }
    }
}

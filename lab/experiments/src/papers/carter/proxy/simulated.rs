//! The same loads simulated, beside what was measured: they should be within three points. The model is
//! weir-sim's.

use weir_sched::BackendOrder;
use weir_sim::backend;
use weir_sim::dtoc::{Model, Results, Strategy};
use weir_sim::replications;
use weir_workload::Invalid;
use weir_workload::shape::Shape;

use super::conditions::{Conditions, OVERLOADS, PATIENCE, WARM_UP, WINDOW, loads, retries};
use super::figures::{Comparison, requests, work};
use super::systems::{CHECKING, DIRECT, SHORTEST, WEIR};
use super::tables::retries_in_words;
use crate::choice::Scale;
use crate::experiment::Evidence;
use crate::findings::{Bar, Interval, Ours, Row, Section, Unit, label};

/// Most that measured and simulated may differ, as a share of the capacity.
const POINTS: f64 = 0.03;

/// What the simulator finds for a system under some conditions.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Point {
    /// The system that was measured with the same order, such as `weir:proxy --backend-order fifo`.
    pub(super) system: String,
    pub(super) conditions: Conditions,
    /// Useful requests as a share of the capacity.
    pub(super) requests: f64,
    /// Useful work as a share of the capacity.
    pub(super) work: f64,
}

/// Runs of the simulator whose mean is compared: as long as the measured ones, so that a queue that
/// only grows has grown as long, and so many that their mean is good to a point or so: useful requests
/// of one differ by 5 points.
const RUNS: usize = 20;
/// Room for all who come: the application queues without a bound.
const QUEUE: usize = 100_000;

/// What is simulated for a run of this scale, at the paper's pace: the application alone, which checks
/// or does not, and behind the gate that weir has.
///
/// # Errors
///
/// A model that is invalid.
pub(super) fn points(scale: Scale) -> Result<Vec<Point>, Invalid> {
    let overloads: Vec<f64> =
        loads(scale).into_iter().filter(|load| OVERLOADS.contains(load)).collect();
    let mut points = Vec::new();
    for retries in retries(scale) {
        for &load in &overloads {
            let conditions = Conditions::new(load, PATIENCE[0], retries);
            points.push(alone(DIRECT, Strategy::Regular, conditions)?);
            points.push(alone(CHECKING, Strategy::Check, conditions)?);
            points.push(behind(WEIR, BackendOrder::Adaptive, conditions)?);
            points.push(behind(SHORTEST, BackendOrder::ShortestExpected, conditions)?);
        }
    }
    Ok(points.into_iter().flatten().collect())
}

/// The application alone.
fn alone(
    system: &str,
    strategy: Strategy,
    conditions: Conditions,
) -> Result<Option<Point>, Invalid> {
    let Conditions { load, patience, retries, .. } = conditions;
    let shape = Shape::parse(&format!("constant:load={load}"))?;
    let model = Model {
        retries,
        queue: QUEUE,
        // It looks at every request, and that costs nothing.
        check_cost: 0.0,
        check_above: 0.0,
        warm_up: WARM_UP * patience,
        duration: WINDOW,
        ..Model::new(shape, patience, strategy)
    };
    let ready = model.prepare()?;
    let tallies = replications::each(RUNS, |run| ready.run(1 + run as u64));
    let comparison = Results::new(ready.model(), &tallies);
    Ok(comparison.map(|comparison| Point {
        system: system.to_owned(),
        conditions,
        requests: comparison.useful_percent / 100.0,
        work: comparison.useful_work_percent / 100.0,
    }))
}

/// The application behind the server's own gate.
fn behind(
    system: &str,
    order: BackendOrder,
    conditions: Conditions,
) -> Result<Option<Point>, Invalid> {
    let Conditions { load, patience, retries, .. } = conditions;
    let shape = Shape::parse(&format!("constant:load={load}"))?;
    let mut model = backend::Model::new(shape, patience);
    (model.retries, model.warm_up, model.duration) = (retries, WARM_UP * patience, WINDOW);
    model.gate.order = order;
    let comparison = model.prepare()?.repeat(RUNS, 1);
    Ok(comparison.map(|comparison| Point {
        system: system.to_owned(),
        conditions,
        requests: comparison.useful_percent / 100.0,
        work: comparison.useful_work_percent / 100.0,
    }))
}

/// A row for each point and figure: measured less simulated, in points of the capacity.
pub(super) fn report(evidence: &Evidence<'_>, section: &mut Section, points: &[Point]) {
    for Point { system, conditions, requests: simulated, work: simulated_work } in points {
        let comparison = Comparison::of(evidence, *conditions);
        let Conditions { load, patience, retries, .. } = conditions;
        let (name, load) = (label(system), load * 100.0);
        let figures = [
            ("useful requests", comparison.estimate(system, requests), *simulated),
            ("useful work", comparison.estimate(system, work), *simulated_work),
        ];
        for (what, measured, simulated) in figures {
            let again = retries_in_words(*retries);
            let what = format!(
                "{name}, {load:.0} %, {patience} s, {again}: {what}, measured − simulated, points"
            );
            let row = Row::new(what, "", less(measured, simulated), Unit::Percent);
            let note = format!("simulated {:.1} %", simulated * 100.0);
            section.row(row.bar(Bar::Between(-POINTS, POINTS)).note(note));
        }
    }
}

fn less(ours: Ours, simulated: f64) -> Ours {
    let shifted = ours.interval.map(|interval| Interval {
        middle: interval.middle - simulated,
        low: interval.low - simulated,
        high: interval.high - simulated,
        ..interval
    });
    Ours { interval: shifted, ..ours }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::choice::Choice;
    use crate::experiment::Runs;
    use crate::findings::Counts;
    use crate::findings::Verdict;

    #[test]
    fn the_application_alone_is_of_use_only_if_it_looks() {
        let points = points(Scale::Full).expect("models");
        assert_eq!(points.len(), 4 * 3 * 2);
        for point in points {
            // Without a bound of the queue even who looks serves those who are about to leave; a
            // retry makes them more.
            let least = if point.conditions.retries == 0 { 0.5 } else { 0.3 };
            match point.system.as_str() {
                DIRECT => assert!(point.requests < 0.02, "{point:?}"),
                WEIR | SHORTEST => assert!(point.work > 0.97, "{point:?}"),
                _ => assert!((least..1.0).contains(&point.requests), "{point:?}"),
            }
        }
    }

    #[test]
    fn a_point_that_was_not_measured_has_no_verdict_and_measured_ones_are_compared() {
        let (choice, runs) = (Choice::of(Scale::Full), Runs::default());
        let evidence = Evidence { choice: &choice, runs: &runs };
        let mut section = super::super::EXPERIMENT.empty_section(Scale::Full, Counts::default());
        let conditions = Conditions::new(3.0, 5.0, 1);
        let point = Point { system: "weir:proxy".into(), conditions, requests: 1.0, work: 0.99 };
        report(&evidence, &mut section, &[point]);
        assert_eq!(section.rows().len(), 2);
        assert!(section.rows().iter().all(|row| row.verdict() == Verdict::Nothing));
        assert!(section.rows()[1].what.contains("300 %, 5 s, one retry: useful work"));

        let interval = Interval { middle: 1.05, low: 1.0, high: 1.1, count: 5 };
        let measured = Ours { interval: Some(interval), ..Ours::none() };
        let row = Row::new("a", "", less(measured, 1.0), Unit::Percent);
        let row = row.bar(Bar::Between(-POINTS, POINTS));
        assert_eq!(row.verdict(), Verdict::Missed);
    }
}

//! Systems beside each other: useful requests and work over the load, and what became of work and
//! clients in the worst of it.

use super::conditions::{Conditions, PATIENCE, STEADY_LOAD, STEADY_SYSTEMS, loads, pace, retries};
use super::figures::{Comparison, Mean, recovery, requests, work};
use super::systems::{PATIENT, all, main};
use crate::choice::Scale;
use crate::experiment::Evidence;
use crate::findings::{Axis, Plot, Section, Table, Unit, label, series};
use crate::outcome::Figures;

/// What is useful, and how it is called.
const USEFUL: [(&str, Mean); 2] = [("useful requests", requests), ("useful work", work)];

pub(super) fn report(evidence: &Evidence<'_>, section: &mut Section) {
    for retries in retries(evidence.choice.scale) {
        for (name, figure) in USEFUL {
            let title = format!("{}: {name}", retries_in_words(retries));
            section.plot(over_load(evidence, &title, name, retries, figure));
        }
    }
    section.plot(over_time(evidence));
    for retries in retries(evidence.choice.scale) {
        for (name, figure) in USEFUL {
            section.table(by_load(evidence, name, retries, figure));
        }
    }
    for retries in retries(evidence.choice.scale) {
        for load in [1.5, 3.0] {
            section.table(closely(evidence, load, retries));
        }
    }
    if evidence.choice.scale != Scale::Quick {
        section.table(other_patience(evidence));
    }
    section.table(steady(evidence));
}

/// Retries in words.
pub(super) fn retries_in_words(retries: u32) -> &'static str {
    match retries {
        0 => "no retry",
        1 => "one retry",
        _ => "retries",
    }
}

fn over_load(evidence: &Evidence<'_>, title: &str, name: &str, retries: u32, figure: Mean) -> Plot {
    let y = Axis::linear(&format!("{name}, % of capacity"));
    let mut plot = Plot::new(title, Axis::linear("load, % of capacity"), y);
    for system in main(evidence.choice) {
        let at = |&load: &f64| {
            let comparison = Comparison::of(evidence, Conditions::new(load, PATIENCE[0], retries));
            (load * 100.0, comparison.estimate(&system, figure))
        };
        let points: Vec<_> = loads(evidence.choice.scale).iter().map(at).collect();
        plot.series.push(series::measured(&system, points, 100.0));
    }
    plot
}

/// The whole run at the highest load, of the first seed: livelock, and what follows when the load falls.
fn over_time(evidence: &Evidence<'_>) -> Plot {
    let title = "300 %, no retry: useful work over time";
    let y = Axis::linear("useful work, % of the time");
    let mut plot = Plot::new(title, Axis::linear("time, s"), y);
    let comparison = Comparison::of(evidence, Conditions::new(3.0, PATIENCE[0], 0));
    for system in main(evidence.choice) {
        let Some(figures) = comparison.first(&system) else { continue };
        let points = figures.series_work.iter().enumerate();
        let points = points.map(|(at, share)| ((at as f64 + 0.5) * figures.bin, share * 100.0));
        plot.series.push(series::line(&system, points.collect()));
    }
    plot
}

fn by_load(evidence: &Evidence<'_>, name: &str, retries: u32, figure: Mean) -> Table {
    let caption = format!(
        "Load of the columns in % of the capacity, patience of 5 s, {}: {name}, % of the capacity.",
        retries_in_words(retries)
    );
    let loads = loads(evidence.choice.scale);
    let heads = loads.iter().map(|load| format!("{:.0}", load * 100.0));
    let columns: Vec<String> = std::iter::once("system".to_owned()).chain(heads).collect();
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    let mut table = Table::new(caption, &columns);
    for system in main(evidence.choice) {
        let at = |&load: &f64| {
            let comparison = Comparison::of(evidence, Conditions::new(load, PATIENCE[0], retries));
            (comparison.estimate(&system, figure), Unit::Percent)
        };
        table.row(label(&system), &loads.iter().map(at).collect::<Vec<_>>());
    }
    table
}

/// All that is known of one load.
fn closely(evidence: &Evidence<'_>, load: f64, retries: u32) -> Table {
    let caption = format!(
        "Load of {:.0} %, patience of 5 s, {}. Useful, busy and wasted in % of the application's \
         time (requests: of its capacity); success in % of the clients, of all and by size; refused: \
         another status, mostly 503; response times of those who were answered, from their first \
         attempt on, in ms; recovery: ms after the fall of the load to 50 % from which on everybody is \
         answered, at most the time there was.",
        load * 100.0,
        retries_in_words(retries)
    );
    let columns = [
        "system",
        "useful requests",
        "useful work",
        "busy",
        "wasted",
        "success",
        "below 1 KB",
        "below 10 KB",
        "below 100 KB",
        "larger",
        "refused",
        "left",
        "failed",
        "mean",
        "p99",
        "recovery",
    ];
    let mut table = Table::new(caption, &columns);
    let comparison = Comparison::of(evidence, Conditions::new(load, PATIENCE[0], retries));
    let pace = pace(evidence.choice.scale);
    let systems = if retries == 0 { all(evidence.choice) } else { main(evidence.choice) };
    for system in systems {
        let percent = |figure: fn(&Figures) -> f64| {
            (comparison.value(&system, |comparison| Some(figure(comparison))), Unit::Percent)
        };
        let class = |class: usize| {
            (comparison.value(&system, |f| f.classes[class].success()), Unit::Percent)
        };
        let mut row = vec![
            (comparison.estimate(&system, requests), Unit::Percent),
            (comparison.estimate(&system, work), Unit::Percent),
            percent(|comparison| comparison.busy),
            percent(|comparison| comparison.wasted),
            percent(|comparison| comparison.success),
        ];
        row.extend([0, 1, 2, 3].map(class));
        row.extend([
            percent(|comparison| comparison.refused),
            percent(|comparison| comparison.given_up),
            percent(|comparison| comparison.failed),
            (comparison.value(&system, |comparison| comparison.mean_ms), Unit::Ms),
            (comparison.value(&system, |comparison| comparison.p99_ms), Unit::Ms),
            (comparison.value(&system, recovery(pace)), Unit::Ms),
        ]);
        table.row(label(&system), &row);
    }
    table
}

fn other_patience(evidence: &Evidence<'_>) -> Table {
    let caption = "Other patience, no retry: useful requests and useful work, % of the capacity.";
    let columns = ["load, patience, system", "useful requests", "useful work"];
    let mut table = Table::new(caption, &columns);
    for load in [1.5, 3.0] {
        for patience in &PATIENCE[1..] {
            let comparison = Comparison::of(evidence, Conditions::new(load, *patience, 0));
            for system in evidence.choice.systems(&PATIENT) {
                let row = [
                    (comparison.estimate(&system, requests), Unit::Percent),
                    (comparison.estimate(&system, work), Unit::Percent),
                ];
                let name = format!("{:.0} %, {patience} s, {}", load * 100.0, label(&system));
                table.row(name, &row);
            }
        }
    }
    table
}

fn steady(evidence: &Evidence<'_>) -> Table {
    let caption = format!(
        "The same 10,000 arrivals at {:.0} %, no overload: shares of the clients in %, response times \
         in ms.",
        STEADY_LOAD * 100.0
    );
    let columns = ["system", "success", "refused", "left", "failed", "mean", "p99"];
    let mut table = Table::new(caption, &columns);
    let comparison = Comparison::of(evidence, Conditions::steady());
    for system in evidence.choice.systems(&STEADY_SYSTEMS) {
        let row = [
            (comparison.value(&system, |comparison| Some(comparison.success)), Unit::Percent),
            (comparison.value(&system, |comparison| Some(comparison.refused)), Unit::Percent),
            (comparison.value(&system, |comparison| Some(comparison.given_up)), Unit::Percent),
            (comparison.value(&system, |comparison| Some(comparison.failed)), Unit::Percent),
            (comparison.value(&system, |comparison| comparison.mean_ms), Unit::Ms),
            (comparison.value(&system, |comparison| comparison.p99_ms), Unit::Ms),
        ];
        table.row(label(&system), &row);
    }
    table
}

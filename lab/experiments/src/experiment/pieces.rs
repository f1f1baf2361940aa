//! Tables and plots that several experiments show: systems side by side, response times over time and
//! by size, curves over a range of conditions.

use std::collections::BTreeMap;

use super::case::Case;
use super::definition::Evidence;
use super::measures::{Measure, largest, link_use, mean};
use crate::findings::{Axis, Plot, Range, Table, Unit, label, series};
use crate::outcome::{Outcome, SHARES};

/// Response times, large responses, link use and losses of each system.
pub(crate) fn table(
    evidence: &Evidence<'_>,
    caption: impl Into<String>,
    case: &Case,
    systems: &[String],
) -> Table {
    let caption = caption.into()
        + " Times in ms, variance in s²; median over the seeds, in brackets its interval.";
    let columns = [
        "system",
        "mean",
        "median",
        "p95",
        "p99",
        "variance",
        "largest 1 %",
        "very largest",
        "× exact SRPT",
        "at the full rate",
        "late %",
        "worst late",
        "link use %",
        "incomplete %",
    ];
    let mut table = Table::new(caption, &columns);
    for system in systems {
        let cell = case.cell(system);
        let value = |figure: Measure| evidence.runs.value(&cell, figure);
        let columns: [(_, Unit); 13] = [
            (value(mean), Unit::Ms),
            (value(|o| o.measured.median), Unit::Ms),
            (value(|o| o.measured.p95), Unit::Ms),
            (value(|o| o.measured.p99), Unit::Ms),
            (value(|o| o.measured.variance), Unit::Count),
            (value(largest), Unit::Ms),
            (value(|o| o.measured.very_largest), Unit::Ms),
            (value(over_exact), Unit::Times),
            (value(over_full_rate), Unit::Times),
            (value(late), Unit::Percent),
            (value(worst), Unit::Ms),
            (value(link_use), Unit::Percent),
            (value(|o| o.incomplete), Unit::Percent),
        ];
        table.row(label(system), &columns);
    }
    table
}

/// Mean over that of exact SRPT at the whole rate.
pub(crate) fn over_full_rate(outcome: &Outcome) -> f64 {
    outcome.srpt_at_full_rate.map_or(f64::NAN, |mean| outcome.measured.mean / mean)
}

/// Mean over that of exact SRPT at 0.99 × the rate, about what a paced server sends.
pub(crate) fn over_exact(outcome: &Outcome) -> f64 {
    outcome.ideal.as_ref().map_or(f64::NAN, |ideal| outcome.measured.mean / ideal.srpt.mean)
}

/// Share of the requests that end more than 50 ms after exact processor sharing, or never.
pub(crate) fn late(outcome: &Outcome) -> f64 {
    outcome.ideal.as_ref().map_or(f64::NAN, |ideal| ideal.late)
}

/// Worst lateness against exact processor sharing, in milliseconds.
pub(crate) fn worst(outcome: &Outcome) -> f64 {
    outcome.ideal.as_ref().map_or(f64::NAN, |ideal| ideal.worst)
}

/// Response times by the second of the request, of the first seed that counts.
pub(crate) fn over_time(
    evidence: &Evidence<'_>,
    title: &str,
    case: &Case,
    systems: &[String],
) -> Plot {
    let mut plot = timed(title, Axis::linear("mean response time, s"), case);
    for system in systems {
        let Some(outcome) = evidence.runs.first(&case.cell(system)) else { continue };
        let seconds = outcome.series.iter().enumerate().filter(|(at, _)| (*at as f64) < SHOWN);
        let points = seconds.map(|(at, mean)| (at as f64, mean.map_or(f64::NAN, |ms| ms / 1e3)));
        plot.series.push(series::line(system, points.collect()));
    }
    plot
}

/// Connections at the server, of the first seed that counts.
pub(crate) fn connections(
    evidence: &Evidence<'_>,
    title: &str,
    case: &Case,
    systems: &[String],
) -> Plot {
    let mut plot = timed(title, Axis::linear("connections"), case);
    for system in systems {
        let Some(outcome) = evidence.runs.first(&case.cell(system)) else { continue };
        let samples = outcome.samples.iter().filter(|sample| sample.at < SHOWN);
        let points = samples.map(|s| (s.at, f64::from(s.established + s.syn_received + s.closing)));
        plot.series.push(series::line(system, points.collect()));
    }
    plot
}

/// The paper shows 200 s of its half hours; so do plots over time.
const SHOWN: f64 = 300.0;

fn timed(title: &str, y: Axis, case: &Case) -> Plot {
    let mut plot = Plot::new(title, Axis::linear("time, s"), y);
    let periods = case.periods();
    let cycle: f64 = periods.iter().map(|period| period.0).sum();
    let end = case.duration().min(SHOWN);
    if periods.len() > 1 && cycle > 0.0 {
        let mut start = 0.0;
        while start < end {
            let mut at = start;
            for &(seconds, load) in periods {
                if load > 1.0 && at < end {
                    plot.shaded.push((at, (at + seconds).min(end)));
                }
                at += seconds;
            }
            start += cycle;
        }
    }
    plot
}

/// Share of the responses that are complete within a time: the median of each share over the seeds.
pub(crate) fn distribution(
    evidence: &Evidence<'_>,
    title: &str,
    case: &Case,
    systems: &[String],
) -> Plot {
    let mut plot =
        Plot::new(title, Axis::log("response time, ms"), Axis::linear("share of responses"));
    for system in systems {
        let cell = case.cell(system);
        let points = SHARES.iter().enumerate().filter_map(|(index, &share)| {
            let at = |o: &Outcome| o.distribution.get(index).copied().unwrap_or(f64::NAN);
            evidence.runs.value(&cell, at).middle().map(|time| (time, share))
        });
        plot.series.push(series::line(system, points.collect()));
    }
    plot
}

/// Mean response time over the size of the response.
pub(crate) fn by_size(
    evidence: &Evidence<'_>,
    title: &str,
    case: &Case,
    systems: &[String],
) -> Plot {
    let mut plot = Plot::new(title, Axis::log("size, bytes"), Axis::log("mean response time, ms"));
    for system in systems {
        let mut bins: BTreeMap<i64, Vec<(f64, f64)>> = BTreeMap::new();
        for (_, outcome) in evidence.runs.of(&case.cell(system)) {
            for &(size, time) in outcome.measured.by_size.iter().filter(|(size, _)| *size > 0.0) {
                bins.entry((size.log10() * 4.0).floor() as i64).or_default().push((size, time));
            }
        }
        let points = bins.into_values().map(|bin| {
            let count = bin.len() as f64;
            let sum = bin.iter().fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
            (sum.0 / count, sum.1 / count)
        });
        plot.series.push(series::line(system, points.collect()));
    }
    plot
}

/// A figure over conditions that have names instead of numbers.
pub(crate) fn by_name(
    evidence: &Evidence<'_>,
    (title, y): (&str, &str),
    cases: &[(String, Case)],
    systems: &[String],
    figure: Measure,
) -> Plot {
    let names = cases.iter().map(|(name, _)| name.clone());
    let mut plot = Plot::new(title, Axis::names("workload", names), Axis::log(y));
    for system in systems {
        let points = cases.iter().enumerate().map(|(index, (_, case))| {
            (index as f64, evidence.runs.value(&case.cell(system), figure))
        });
        plot.series.push(series::measured(system, points, 1.0));
    }
    plot
}

/// A figure over a range of conditions, in the figure's unit times `scale`.
pub(crate) fn curve(
    evidence: &Evidence<'_>,
    title: &str,
    (x, y): (Axis, Axis),
    cases: &[(f64, Case)],
    systems: &[String],
    (figure, scale): (Measure, f64),
) -> Plot {
    let log = x.range == Range::Log;
    let mut plot = Plot::new(title, x, y);
    for system in systems {
        let points = cases
            .iter()
            .filter(|(at, _)| !log || *at > 0.0)
            .map(|(at, case)| (*at, evidence.runs.value(&case.cell(system), figure)));
        plot.series.push(series::measured(system, points, scale));
    }
    plot
}

/// Mean response times over a range of conditions, as a table: a row for each condition, a column for
/// each system and the ratio of the second to the last over the first.
pub(crate) fn range_table(
    evidence: &Evidence<'_>,
    caption: &str,
    first: &str,
    cases: &[(String, Case)],
    systems: &[String],
) -> Table {
    let mut columns = vec![first.to_owned()];
    columns.extend(systems.iter().map(|system| label(system)));
    if let Some((least, others)) = systems.split_first() {
        columns.extend(others.iter().map(|o| format!("{} ÷ {}", label(o), label(least))));
    }
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    let mut table = Table::new(format!("{caption} Mean response times in ms."), &columns);
    for (name, case) in cases {
        let means = systems.iter().map(|s| (evidence.runs.value(&case.cell(s), mean), Unit::Ms));
        let mut figures: Vec<_> = means.collect();
        if let Some((least, others)) = systems.split_first() {
            let below = case.cell(least);
            let ratio =
                |s: &String| (evidence.runs.ratio(&case.cell(s), &below, mean), Unit::Times);
            figures.extend(others.iter().map(ratio));
        }
        table.row(name, &figures);
    }
    table
}

//! The results of `weir-lab sim dtoc` as JSON, as a list of one case and as a table of several.

use serde::Serialize;
use weir_sim::dtoc::{Model, Results};

use crate::failure::Failure;
use crate::print::{self, optional, with_interval};

/// One case: its parameters, then what came out (see [`Results`] for what each is a share of).
#[derive(Serialize)]
pub(super) struct Row {
    strategy: String,
    /// Mean over the shape if there is one.
    load_percent: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    shape: Option<String>,
    timeout_seconds: f64,
    retries: u32,
    law: String,
    service_rate_per_second: f64,
    queue: usize,
    check_cost_percent: f64,
    check_above_percent: f64,
    warm_up_seconds: f64,
    duration_seconds: f64,
    replications: usize,
    #[serde(flatten)]
    results: Results,
    #[serde(skip_serializing_if = "Option::is_none")]
    interval_seconds: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    events_per_second: Option<f64>,
}

impl Row {
    pub(super) fn new(
        model: &Model,
        load_percent: f64,
        replications: usize,
        results: Results,
        events_per_second: Option<f64>,
    ) -> Row {
        Row {
            strategy: model.strategy.to_string(),
            load_percent,
            shape: model.interval.map(|_| model.shape.to_string()),
            timeout_seconds: model.timeout,
            retries: model.retries,
            law: model.law.to_string(),
            service_rate_per_second: model.service_rate,
            queue: model.queue,
            check_cost_percent: 100.0 * model.check_cost,
            check_above_percent: 100.0 * model.check_above,
            warm_up_seconds: model.warm_up,
            duration_seconds: model.duration,
            replications,
            results,
            interval_seconds: model.interval,
            events_per_second,
        }
    }
}

/// Writes all rows.
pub(super) fn write(seed: u64, json: bool, rows: &[Row]) -> Result<(), Failure> {
    if json {
        return print::json_rows(seed, rows);
    }
    rows.iter().try_for_each(print::check)?;
    let text = match rows {
        [row] => list(row, seed),
        rows => table(rows, seed),
    };
    print::print(&text)
}

fn how(row: &Row, seed: u64) -> String {
    format!(
        "{} × {} s after {} s of warm-up, seed {seed}",
        row.replications, row.duration_seconds, row.warm_up_seconds
    )
}

fn list(row: &Row, seed: u64) -> String {
    let r = &row.results;
    let clients = " % of clients";
    let mut lines = vec![
        ("strategy", row.strategy.clone()),
        ("load", format!("{:.2} %{}", row.load_percent, of_shape(row))),
        ("timeout, retries", format!("{} s, {}", row.timeout_seconds, row.retries)),
        ("watched", how(row, seed)),
        (
            "useful throughput",
            format!("{} % of capacity", with_interval(r.useful_percent, r.useful_percent_ci95)),
        ),
        (
            "useful work",
            format!(
                "{} % of the time",
                with_interval(r.useful_work_percent, r.useful_work_percent_ci95)
            ),
        ),
        ("answered in time", optional(r.success_percent, clients)),
        ("timed out", optional(r.timed_out_percent, clients)),
        ("queue full", optional(r.dropped_percent, clients)),
        (
            "left in service",
            optional(
                r.in_service_timeout_percent,
                " % of requests begun while their client waited",
            ),
        ),
        (
            "left before answer",
            optional(r.accepted_timed_out_percent, " % of requests that the queue took"),
        ),
        ("mean useful size", optional(r.mean_successful_size_bytes, " B")),
        ("mean response", optional(r.mean_response_seconds, " s, of those answered in time")),
        ("utilisation", format!("{:.2} %", r.utilisation_percent)),
        ("check on", format!("{:.2} % of the time", r.check_on_percent)),
        ("longest queue", r.longest_queue.to_string()),
    ];
    let shares = r.success_by_class.map(|share| format!("{:.2}", 100.0 * share)).join(" / ");
    let text = format!("{shares} % of clients below 1000 / 10 000 / 100 000 B / above");
    lines.insert(7, ("by class", text));
    if let Some(speed) = row.events_per_second {
        lines.push(("speed", format!("{speed:.0} events/s")));
    }
    let mut text: String =
        lines.iter().map(|(name, value)| format!("{name:<20}{value}\n")).collect();
    if let (Some(intervals), Some(length)) = (&r.intervals, row.interval_seconds) {
        text += "\nfrom (s)   useful throughput (%)\n";
        for (place, percent) in intervals.iter().enumerate() {
            text += &format!("{:>8.0}   {percent:>8.1}\n", place as f64 * length);
        }
    }
    text
}

fn of_shape(row: &Row) -> String {
    row.shape.as_ref().map_or_else(String::new, |shape| format!(" on average, {shape}"))
}

fn table(rows: &[Row], seed: u64) -> String {
    let mut text = format!(
        "{:<11}{:>8}{:>9}{:>16}{:>16}{:>10}{:>10}{:>10}{:>11}\n{:<11}{:>8}{:>9}{:>16}{:>16}{:>10}{:>10}{:>10}{:>11}\n",
        "strategy",
        "load",
        "timeout",
        "useful",
        "useful work",
        "answered",
        "timed out",
        "refused",
        "in service",
        "",
        "%",
        "s",
        "% of capacity",
        "% of time",
        "% clients",
        "% clients",
        "% clients",
        "% begun",
    );
    for row in rows {
        let r = &row.results;
        text += &format!(
            "{:<11}{:>8.1}{:>9}{:>16}{:>16}{:>10}{:>10}{:>10}{:>11}\n",
            row.strategy,
            row.load_percent,
            row.timeout_seconds,
            with_interval(r.useful_percent, r.useful_percent_ci95),
            with_interval(r.useful_work_percent, r.useful_work_percent_ci95),
            optional(r.success_percent, ""),
            optional(r.timed_out_percent, ""),
            optional(r.dropped_percent, ""),
            optional(r.in_service_timeout_percent, ""),
        );
    }
    if let Some(row) = rows.last() {
        text += &format!("\nretries {}; each {}\n", row.retries, how(row, seed));
    }
    text
}

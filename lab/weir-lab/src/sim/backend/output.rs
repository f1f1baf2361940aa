//! The results of `weir-lab sim backend` as JSON, as a list of one case and as a table of several. It
//! computes none.

use serde::Serialize;
use weir_sim::backend::{Model, Results};
use weir_sim::dtoc;

use crate::failure::Failure;
use crate::print::{self, optional, with_interval};

/// One case: its parameters, then what came out (see [`Results`] and [`dtoc::Results`]).
#[derive(Serialize)]
pub(super) struct Row {
    /// `weir`, or `carter` for the paper's server.
    system: &'static str,
    /// The gate's order, or the strategy of the paper's server.
    pub(super) order: String,
    /// The gate's limit as it was set.
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<String>,
    /// Mean over the shape if there is one.
    pub(super) load_percent: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    shape: Option<String>,
    /// Missing if nobody leaves.
    #[serde(skip_serializing_if = "Option::is_none")]
    patience_seconds: Option<f64>,
    retries: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    application: Option<Application>,
    law: String,
    service_rate_per_second: f64,
    warm_up_seconds: f64,
    duration_seconds: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    interval_seconds: Option<f64>,
    replications: usize,
    #[serde(flatten)]
    results: Outcome,
}

/// What stands behind the gate.
#[derive(Serialize)]
struct Application {
    workers: u32,
    gap_seconds: f64,
    refused_ask_again: bool,
    one_address: bool,
    known_kinds: bool,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Outcome {
    Gate(Box<Results>),
    Carter(Box<dtoc::Results>),
}

impl Row {
    pub(super) fn gate(model: &Model, load: f64, replications: usize, results: Results) -> Row {
        Row {
            system: "weir",
            order: model.gate.order.to_string(),
            limit: Some(model.gate.limit.to_string()),
            load_percent: load,
            shape: model.interval.map(|_| model.shape.to_string()),
            patience_seconds: model.patience.is_finite().then_some(model.patience),
            retries: model.retries,
            application: Some(Application {
                workers: model.workers,
                gap_seconds: model.gap,
                refused_ask_again: model.retry_refused,
                one_address: model.one_address,
                known_kinds: model.known,
            }),
            law: model.law.to_string(),
            service_rate_per_second: model.service_rate,
            warm_up_seconds: model.warm_up,
            duration_seconds: model.duration,
            interval_seconds: model.interval,
            replications,
            results: Outcome::Gate(Box::new(results)),
        }
    }

    pub(super) fn carter(
        model: &dtoc::Model,
        load: f64,
        replications: usize,
        results: dtoc::Results,
    ) -> Row {
        Row {
            system: "carter",
            order: model.strategy.to_string(),
            limit: None,
            load_percent: load,
            shape: model.interval.map(|_| model.shape.to_string()),
            patience_seconds: Some(model.timeout),
            retries: model.retries,
            application: None,
            law: model.law.to_string(),
            service_rate_per_second: model.service_rate,
            warm_up_seconds: model.warm_up,
            duration_seconds: model.duration,
            interval_seconds: model.interval,
            replications,
            results: Outcome::Carter(Box::new(results)),
        }
    }

    /// Its place in a grid of applications, line and column, and the useful work.
    pub(super) fn of_grid(&self) -> Option<(String, String, String)> {
        let (Outcome::Gate(results), Some(application)) = (&self.results, &self.application) else {
            return None;
        };
        let mean = rounded(1e3 / self.service_rate_per_second);
        let name = format!("{}, {} × {mean} ms", self.law, application.workers);
        let gap = format!("{} ms", rounded(1e3 * application.gap_seconds));
        Some((name, gap, format!("{:.1}", results.useful_work_percent)))
    }

    fn figures(&self) -> Figures {
        match &self.results {
            Outcome::Gate(r) => Figures {
                useful: with_interval(r.useful_percent, r.useful_percent_ci95),
                work: with_interval(r.useful_work_percent, r.useful_work_percent_ci95),
                answered: r.success_percent,
                timed_out: r.timed_out_percent,
                refused: r.refused_percent,
                wasted: Some(r.wasted_work_percent),
                response: r.mean_response_seconds,
                p99: r.p99_answer_seconds,
                limit: Some(r.limit_mean),
                recovery: r.recovery.as_ref().and_then(|found| found.recovery_seconds),
            },
            Outcome::Carter(r) => Figures {
                useful: with_interval(r.useful_percent, r.useful_percent_ci95),
                work: with_interval(r.useful_work_percent, r.useful_work_percent_ci95),
                answered: r.success_percent,
                timed_out: r.timed_out_percent,
                refused: r.dropped_percent,
                response: r.mean_response_seconds,
                ..Figures::default()
            },
        }
    }
}

/// Without what is left over by rounding.
fn rounded(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}

/// What a line of the table says.
#[derive(Default)]
struct Figures {
    useful: String,
    work: String,
    answered: Option<f64>,
    timed_out: Option<f64>,
    refused: Option<f64>,
    wasted: Option<f64>,
    response: Option<f64>,
    p99: Option<f64>,
    limit: Option<f64>,
    recovery: Option<f64>,
}

/// Writes all rows.
pub(super) fn write(seed: u64, json: bool, grid: bool, rows: &[Row]) -> Result<(), Failure> {
    if json {
        return print::json_rows(seed, rows);
    }
    rows.iter().try_for_each(print::check)?;
    let text = match rows {
        [Row { results: Outcome::Gate(results), .. }] => list(&rows[0], results, seed),
        rows if grid => super::grid::grid(rows),
        rows => table(rows, seed),
    };
    print::print(&text)
}

fn milliseconds(value: Option<f64>) -> String {
    value.map_or_else(|| "-".into(), |value| format!("{:.1}", 1000.0 * value))
}

fn how(row: &Row, seed: u64) -> String {
    format!(
        "{} × {} s after {} s of warm-up, seed {seed}",
        row.replications, row.duration_seconds, row.warm_up_seconds
    )
}

fn waits(row: &Row) -> String {
    row.patience_seconds.map_or_else(|| "for ever".into(), |seconds| format!("{seconds} s"))
}

fn list(row: &Row, r: &Results, seed: u64) -> String {
    let clients = " % of clients";
    let shape = row.shape.as_ref().map_or_else(String::new, |shape| format!(", {shape}"));
    let limit = row.limit.as_deref().unwrap_or("-");
    let [least, most] = r.limit_at_end;
    let shares = r.success_by_class.map(|share| format!("{:.2}", 100.0 * share)).join(" / ");
    let response = with_interval(
        1000.0 * r.mean_response_seconds.unwrap_or_default(),
        r.mean_response_seconds_ci95.map(|half| 1000.0 * half),
    );
    let lines = [
        ("order, limit", format!("{}, {limit}", row.order)),
        ("load", format!("{:.2} %{shape}", row.load_percent)),
        ("patience, retries", format!("{}, {}", waits(row), row.retries)),
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
        ("by class", format!("{shares} % of clients below 1000 / 10 000 / 100 000 B / above")),
        ("timed out", optional(r.timed_out_percent, clients)),
        ("refused", optional(r.refused_percent, clients)),
        ("wasted work", format!("{:.2} % of the time", r.wasted_work_percent)),
        ("utilisation", format!("{:.2} %", r.utilisation_percent)),
        ("mean response", format!("{response} ms, of those answered in time, retries included")),
        (
            "answers",
            format!(
                "{} ms on average, 99 % within {} ms, from the request that was answered",
                milliseconds(r.mean_answer_seconds),
                milliseconds(r.p99_answer_seconds)
            ),
        ),
        ("limit", format!("{:.2} on average, {least} to {most} at the end", r.limit_mean)),
        ("learned patience", optional(r.learned_patience_seconds, " s")),
        ("most waiting", r.most_waiting.to_string()),
    ];
    let mut text: String =
        lines.iter().map(|(name, value)| format!("{name:<20}{value}\n")).collect();
    if let Some(found) = &r.recovery {
        let after = found.recovery_seconds.map_or_else(
            || "not while newcomers were watched".into(),
            |seconds| format!("{seconds:.1} s after the drop"),
        );
        let lines = [
            ("recovered", format!("{after} to {} %", found.load_after_percent)),
            (
                "the first second",
                format!(
                    "{:.1} ms on average (usual there {:.1} ms), {:.2} % without an answer",
                    1000.0 * found.first_second_response_seconds,
                    1000.0 * found.usual_response_seconds,
                    found.first_second_lost_percent,
                ),
            ),
            ("all answered after", format!("{:.1} s", found.all_answered_after_seconds)),
        ];
        text.extend(lines.iter().map(|(name, value)| format!("{name:<20}{value}\n")));
    }
    if let (Some(intervals), Some(length)) = (&r.intervals, row.interval_seconds) {
        text += "\nfrom (s)   useful throughput (%)\n";
        for (place, percent) in intervals.iter().enumerate() {
            text += &format!("{:>8.0}   {percent:>8.1}\n", place as f64 * length);
        }
    }
    text
}

fn table(rows: &[Row], seed: u64) -> String {
    let recovery = rows.iter().any(|row| row.figures().recovery.is_some());
    let mut text = String::new();
    let mut line = |cells: [&str; 12]| {
        let [
            name,
            load,
            useful,
            work,
            answered,
            timed_out,
            refused,
            wasted,
            mean,
            p99,
            limit,
            again,
        ] = cells;
        text += &format!(
            "{name:<24}{load:>7}{useful:>16}{work:>16}{answered:>10}{timed_out:>10}{refused:>10}\
             {wasted:>10}{mean:>10}{p99:>10}{limit:>7}"
        );
        text += &if recovery { format!("{again:>10}\n") } else { "\n".into() };
    };
    line([
        "",
        "load",
        "useful",
        "useful work",
        "answered",
        "timed out",
        "refused",
        "wasted",
        "mean",
        "p99",
        "limit",
        "recovery",
    ]);
    line([
        "",
        "%",
        "% of capacity",
        "% of time",
        "% clients",
        "% clients",
        "% clients",
        "% of time",
        "ms",
        "ms",
        "",
        "s",
    ]);
    for row in rows {
        let found = row.figures();
        line([
            &format!("{} {}", row.system, row.order),
            &format!("{:.1}", row.load_percent),
            &found.useful,
            &found.work,
            &optional(found.answered, ""),
            &optional(found.timed_out, ""),
            &optional(found.refused, ""),
            &optional(found.wasted, ""),
            &milliseconds(found.response),
            &milliseconds(found.p99),
            &optional(found.limit, ""),
            &optional(found.recovery, ""),
        ]);
    }
    if let Some(row) = rows.last() {
        text += &format!(
            "\npatience {}, retries {}; each {}\n",
            waits(row),
            row.retries,
            how(row, seed)
        );
    }
    text
}

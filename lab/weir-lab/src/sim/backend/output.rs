//! The results of `weir-lab sim backend` as JSON, as a list of one case and as a table of several.
//! Called by the command with all its rows.

use weir_sim::backend::Results;

use super::grid::grid;
use super::row::{Outcome, Row};

use crate::failure::Failure;
use crate::print::{self, optional, with_interval};

/// Writes all rows.
pub(super) fn write(seed: u64, json: bool, as_grid: bool, rows: &[Row]) -> Result<(), Failure> {
    if json {
        return print::json_rows(seed, rows);
    }
    rows.iter().try_for_each(print::check)?;
    let text = match rows {
        [Row { results: Outcome::Gate(results), .. }] => list(&rows[0], results, seed),
        rows if as_grid => grid(rows),
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

//! The plan before a run and the summary after it, as text. Used by the command and by
//! [`output`](super::output).

use std::fmt::Write as _;

use weir_stats::Outcome;

use super::figures::{Figures, TlsFigures};
use crate::words::{bits, bytes, count, maybe_time, percent, size_range, time};

/// The plan, a line each.
pub(crate) fn plan(lines: &[(String, String)]) -> String {
    let width = lines.iter().map(|(word, _)| word.chars().count()).max().unwrap_or(0);
    let mut text = String::new();
    for (word, what) in lines {
        let _ = writeln!(text, "{word:<width$}  {what}");
    }
    text
}

/// The figures.
pub(crate) fn summary(figures: &Figures) -> String {
    let mut text = String::new();
    requests(&mut text, figures);
    responses(&mut text, figures);
    sizes(&mut text, figures);
    classes(&mut text, figures);
    generator(&mut text, figures);
    if let Some(tls) = &figures.tls {
        handshakes(&mut text, tls);
    }
    for reason in &figures.invalid {
        let _ = writeln!(text, "INVALID  {reason}");
    }
    text
}

fn requests(text: &mut String, figures: &Figures) {
    let early = if figures.ended_early { ", ended early" } else { "" };
    let _ = writeln!(
        text,
        "requests     {} in {}{early}",
        count(figures.requests),
        time(figures.duration_s * 1e3)
    );
    let all = figures.requests.max(1) as f64;
    for (outcome, number) in figures.outcomes_that_happened() {
        let share = percent(number as f64 / all);
        let _ = writeln!(text, "  {outcome:<11}{:>12}  {share:>8}", count(number));
        if outcome == Outcome::Status.name() {
            for (status, number) in &figures.statuses {
                let _ = writeln!(text, "    {status:<9}{:>12}", count(*number));
            }
        }
    }
    if figures.retries > 0 {
        let _ = writeln!(text, "  retries    {:>12}", count(figures.retries));
    }
    if figures.trace_lines_skipped > 0 {
        let skipped = count(figures.trace_lines_skipped);
        let _ = writeln!(text, "  {skipped} lines of the trace could not be read and were skipped");
    }
    let _ = writeln!(
        text,
        "goodput      {}, {:.1} responses/s; received {}",
        bits(figures.goodput_bytes_per_s * 8.0),
        figures.responses_per_s,
        bytes((figures.received_body_bytes + figures.received_head_bytes) as f64),
    );
}

fn responses(text: &mut String, figures: &Figures) {
    text.push_str("response time\n");
    for (word, name, response) in figures.ranks() {
        let mark = if response.is_some() && !figures.is_valid(name) { "  INVALID" } else { "" };
        let _ = writeln!(text, "  {word:<11}{:>12}{mark}", maybe_time(response));
    }
    if let Some(largest) = figures.response_ms_largest_1_percent_mean {
        let valid = figures.is_valid("response_ms_largest_1_percent_mean");
        let mark = if valid { "" } else { "  INVALID" };
        let _ = writeln!(
            text,
            "  largest 1 %{:>12}  mean of the largest responses{mark}",
            time(largest)
        );
    }
    if let (Some(mean), Some(median), Some(p99)) =
        (figures.slowdown_mean, figures.slowdown_p50, figures.slowdown_p99)
    {
        let _ = writeln!(text, "slowdown     mean {mean:.2}, median {median:.2}, p99 {p99:.2}");
    }
}

fn sizes(text: &mut String, figures: &Figures) {
    if figures.by_size.len() < 2 {
        return;
    }
    let _ = writeln!(
        text,
        "{:<22}{:>12}{:>10}{:>10}{:>10}{:>10}",
        "by size", "requests", "failed", "mean", "median", "p99"
    );
    for class in &figures.by_size {
        let mark = if class.valid { "" } else { "  INVALID" };
        let _ = writeln!(
            text,
            "  {:<20}{:>12}{:>10}{:>10}{:>10}{:>10}{mark}",
            size_range(class.from_bytes, class.below_bytes),
            count(class.requests),
            count(class.failed),
            maybe_time(class.response_ms_mean),
            maybe_time(class.response_ms_p50),
            maybe_time(class.response_ms_p99),
        );
    }
}

fn classes(text: &mut String, figures: &Figures) {
    if figures.by_class.len() < 2 {
        return;
    }
    text.push_str("by client class\n");
    for class in &figures.by_class {
        let mark = if class.valid { "" } else { "  INVALID" };
        let _ = writeln!(
            text,
            "  {:<20}{:>12}{:>10}{:>10}{:>10}{:>10}{mark}",
            class.name,
            count(class.requests),
            count(class.failed),
            maybe_time(class.response_ms_mean),
            maybe_time(class.response_ms_p50),
            maybe_time(class.response_ms_p99),
        );
    }
}

fn generator(text: &mut String, figures: &Figures) {
    let lag = |us: Option<f64>| maybe_time(us.map(|us| us / 1e3));
    let _ = writeln!(
        text,
        "start lag    p50 {}, p99 {}, p99.9 {}, max {}",
        lag(figures.start_lag_us_p50),
        lag(figures.start_lag_us_p99),
        lag(figures.start_lag_us_p999),
        lag(figures.start_lag_us_max),
    );
    let _ = writeln!(
        text,
        "read lag     p50 {}, p99 {}, p99.9 {}, max {}",
        lag(figures.read_lag_us_p50),
        lag(figures.read_lag_us_p99),
        lag(figures.read_lag_us_p999),
        lag(figures.read_lag_us_max),
    );
    let _ = writeln!(
        text,
        "machine      steal {}, idle {}; generator used {:.2} s of a processor",
        percent(figures.steal_share),
        percent(figures.idle_share),
        figures.generator_processor_s,
    );
    let _ = writeln!(
        text,
        "connections  {}, at most {} at once",
        count(figures.connections),
        count(figures.connections_most_open)
    );
}

fn handshakes(text: &mut String, tls: &TlsFigures) {
    for (kind, of_kind) in [("full", &tls.full), ("resumed", &tls.resumed)] {
        if of_kind.count > 0 {
            let _ = writeln!(
                text,
                "handshakes   {} {kind}: p50 {}, p99 {}, max {}",
                count(of_kind.count),
                maybe_time(of_kind.ms_p50),
                maybe_time(of_kind.ms_p99),
                maybe_time(of_kind.ms_max),
            );
        }
    }
    if let Some(why) = &tls.failure {
        let _ = writeln!(text, "handshakes   {} failed: {why}", count(tls.failed));
    }
    let _ = writeln!(text, "TLS          received {} in all", bytes(tls.received_bytes as f64));
}

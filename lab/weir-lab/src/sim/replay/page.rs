//! The replay as one HTML file: the verdict, its assumptions, plots, tables. Written by the command
//! with `--html`.

use std::path::Path;

use maud::{Markup, html};

use super::clock::long;
use super::compare::Compared;
use super::figures::{Policy, SizeClass, Times};
use super::shares::share;
use super::{plots, verdict};
use crate::words::{bits, bytes, count, size_range, time};

const STYLE: &str = include_str!("page.css");

/// Spans of a full uplink that are listed.
const LISTED: usize = 12;

/// The whole page.
pub(super) fn page(compared: &Compared<'_>) -> String {
    let figures = &compared.figures;
    let uplink = bits(figures.uplink_bits_per_second as f64);
    let log = Path::new(&figures.log)
        .file_name()
        .map_or_else(|| figures.log.clone(), |name| name.to_string_lossy().into_owned());
    let body = html! {
        p.kicker { "What weir would have done on this log" }
        h1 { (verdict::sentence(compared)) }
        p.lead {
            (log) " · " (count(figures.requests)) " requests · "
            (compared.clock.span_and_day((0.0, figures.span_s))) " · uplink of " (uplink)
        }
        (tiles(compared))
        div.plots { @for plot in plots::all(compared) { (plot) } }
        h2 { "Policies" }
        (policies(compared))
        h2 { "By size" }
        (sizes(compared))
        h2 { "When the uplink was full" }
        (spans(compared))
        h2 { "What this rests on" }
        ul { @for line in verdict::assumptions(compared) { li { (line) } } }
        p.soft { "weir " (env!("CARGO_PKG_VERSION")) " sim replay" }
    };
    weir_plot::page(&format!("weir-lab sim replay {log}"), STYLE, body)
}

fn tiles(compared: &Compared<'_>) -> Markup {
    let figures = &compared.figures;
    let Some(policy) = figures.policies.first() else { return html! {} };
    let (today, with) = (&figures.fair, &policy.times);
    let tile = |word: &str, value: String, more: String| {
        html! { div { span { (word) } b { (value) } small { (more) } } }
    };
    let time_tile = |word: &str, today: f64, with: f64| {
        html! {
            div {
                span { (word) }
                b.better[is_better(today, with)] { (time(with)) }
                small { "today " (time(today)) }
            }
        }
    };
    html! {
        div.tiles {
            (tile("uplink full", verdict::of_time(compared),
                match figures.full.spans {
                    0 => "never for as long as a second".into(),
                    _ => "of the time".into(),
                }))
            @if let (Some(today), Some(with)) = (today.while_full, with.while_full) {
                (time_tile("median while full", today.response_ms_p50, with.response_ms_p50))
                (time_tile("mean while full", today.response_ms_mean, with.response_ms_mean))
            } @else {
                (time_tile("median", today.response_ms_p50, with.response_ms_p50))
                (time_tile("mean", today.response_ms_mean, with.response_ms_mean))
            }
            (tile("sooner than today", share(policy.faster_percent, figures.requests), "of the requests".into()))
            (tile("later than today", share(policy.slower_percent, figures.requests),
                verdict::latest(policy).map_or("of the requests".into(), |latest| format!("by {latest} at most"))))
            (tile("largest response", time(with.largest_response_s * 1e3),
                format!("today {}; {}", time(today.largest_response_s * 1e3), bytes(today.largest_response_bytes as f64))))
        }
    }
}

/// Whether a time in milliseconds is written as a shorter one than today's: equal times are no wins.
fn is_better(today: f64, with: f64) -> bool {
    with < today && time(with) != time(today)
}

fn policies(compared: &Compared<'_>) -> Markup {
    let figures = &compared.figures;
    let full = figures.fair.while_full.is_some();
    let row = |name: &str, times: &Times, policy: Option<&Policy>| {
        html! {
            tr {
                td { (name) }
                @if let Some(full) = times.while_full {
                    td { (time(full.response_ms_p50)) }
                    td { (time(full.response_ms_mean)) }
                    td { (time(full.response_ms_p95)) }
                }
                td { (time(times.response_ms_p50)) }
                td { (time(times.response_ms_mean)) }
                td { (time(times.response_ms_p99)) }
                td { (time(times.largest_response_s * 1e3)) }
                @match policy {
                    Some(policy) => {
                        td { (share(policy.faster_percent, figures.requests)) }
                        td { (share(policy.slower_percent, figures.requests)) }
                        td { (verdict::latest(policy).unwrap_or_else(|| "–".to_owned())) }
                    }
                    None => { td {} td {} td {} }
                }
            }
        }
    };
    html! {
        div.scroll { table {
            thead {
                @if full {
                    tr.groups {
                        th {} th colspan="3" { "while the uplink was full" } th colspan="3" { "all the time" }
                        th {} th colspan="3" { "than today" }
                    }
                }
                tr {
                    th {}
                    @if full { th { "median" } th { "mean" } th { "95th pct" } }
                    th { "median" } th { "mean" } th { "99th pct" }
                    th { "largest response" } th { "sooner" } th { "later" } th { "latest by" }
                }
            }
            tbody {
                (row("today: fair sharing", &figures.fair, None))
                @for policy in &figures.policies { (row(&described(policy.policy), &policy.times, Some(policy))) }
            }
        } }
    }
}

/// What a policy does, in a word or two.
fn described(policy: &str) -> String {
    let does = match policy {
        "protective" => "weir's default",
        "fsp" => "in the order fair sharing would end",
        "srpt" => "least left first",
        "fifo" => "first come first served",
        "psjf" => "smallest first",
        "las" => "least sent first",
        _ => return policy.to_owned(),
    };
    format!("{policy}: {does}")
}

fn sizes(compared: &Compared<'_>) -> Markup {
    let figures = &compared.figures;
    let Some(policy) = figures.policies.first() else { return html! {} };
    let pairs: Vec<(&SizeClass, &SizeClass)> =
        figures.fair.by_size.iter().zip(&policy.times.by_size).collect();
    let times = |today: f64, with: f64| {
        html! { td { (time(today)) } td.ours.better[is_better(today, with)] { (time(with)) } }
    };
    html! {
        div.scroll { table {
            caption { "All requests, by the size of the body; weir under " (policy.policy) }
            thead {
                tr.groups {
                    th {} th {} th colspan="2" { "median" } th colspan="2" { "mean" }
                    th colspan="2" { "99th percentile" } th colspan="2" { "than today" }
                }
                tr {
                    th { "size" } th { "requests" }
                    @for _ in 0..3 { th { "today" } th { "weir" } }
                    th { "sooner" } th { "later" }
                }
            }
            tbody {
                @for (today, with) in pairs {
                    tr {
                        td { (size_range(today.from_bytes, today.below_bytes)) }
                        td { (count(today.requests)) }
                        (times(today.response_ms_p50, with.response_ms_p50))
                        (times(today.response_ms_mean, with.response_ms_mean))
                        (times(today.response_ms_p99, with.response_ms_p99))
                        td { (share(with.faster_percent, with.requests)) }
                        td { (share(with.slower_percent, with.requests)) }
                    }
                }
            }
        } }
    }
}

fn spans(compared: &Compared<'_>) -> Markup {
    let full = &compared.figures.full;
    let clock = &compared.clock;
    let mut longest: Vec<_> = full.longest.iter().collect();
    longest.sort_by(|a, b| (b.to_s - b.from_s).total_cmp(&(a.to_s - a.from_s)));
    html! {
        p {
            "It was full " (verdict::fullness(compared)) "."
            @if let Some(peak) = verdict::peak(compared) { " At most " (peak) " waited." }
        }
        @if !longest.is_empty() {
            div.scroll { table {
                @if longest.len() > LISTED { caption { "The longest spans" } }
                thead { tr { th { "from" } th { "to" } th { "long" } } }
                tbody {
                    @for span in longest.into_iter().take(LISTED) {
                        tr {
                            td { (clock.short(span.from_s, true)) }
                            td { (clock.short(span.to_s, true)) }
                            td { (long(span.to_s - span.from_s)) }
                        }
                    }
                }
            } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_times_are_no_wins() {
        assert!(is_better(20.0, 19.0));
        assert!(!is_better(20.0, 20.0) && !is_better(20.0, 21.0));
        // What nobody can see is none, either.
        assert!(!is_better(20.001, 20.0));
    }
}

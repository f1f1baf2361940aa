//! The HTML page of a run: the figures as tables and plots, in one file. Written by
//! [`output`](super::output).

use maud::{Markup, html};
use weir_plot::{Axis, Plot, Series};

use super::figures::{Figures, TlsFigures};
use crate::words::{bits, bytes, count, maybe_time, percent, round_time, size_range, time};

const STYLE: &str = include_str!("page.css");

/// The whole page.
pub(crate) fn page(figures: &Figures) -> String {
    let title = format!("weir-lab load {}", figures.url);
    let body = html! {
        h1 { "weir-lab load" }
        p.lead { (figures.url) " · " (figures.started_at) " · seed " (figures.seed) }
        (verdict(figures))
        (tiles(figures))
        h2 { "Response time" }
        (responses(figures))
        div.plots {
            (distribution(figures))
            @if figures.by_size.len() > 1 { (by_size(figures)) }
        }
        @if figures.by_size.len() > 1 { h2 { "By size" } (sizes(figures)) }
        @if figures.by_class.len() > 1 { h2 { "By client class" } (classes(figures)) }
        h2 { "Over time" }
        div.plots { (over_time(figures)) }
        h2 { "Requests" }
        (outcomes(figures))
        h2 { "Plan" }
        table.words {
            @for (word, what) in &figures.plan { tr { th { (word) } td { (what) } } }
        }
        h2 { "Generator" }
        (generator(figures))
        p.soft { "weir " (figures.version) }
    };
    weir_plot::page(&title, STYLE, body)
}

fn verdict(figures: &Figures) -> Markup {
    html! {
        @if figures.ended_early { p.warn { "Ended early: what was under way counts as unfinished." } }
        @if !figures.invalid.is_empty() {
            div.void {
                strong { "Not valid" }
                ul { @for reason in &figures.invalid { li { (reason) } } }
            }
        }
    }
}

fn tiles(figures: &Figures) -> Markup {
    let tile = |word: &str, value: String, more: String| {
        html! { div { span { (word) } b { (value) } small { (more) } } }
    };
    html! {
        div.tiles {
            (tile("requests", count(figures.requests), format!("in {}", time(figures.duration_s * 1e3))))
            (tile("failed", percent(figures.failed_share), format!("{} of the requests", count(figures.failed))))
            (tile("mean", maybe_time(figures.response_ms_mean), "response time".into()))
            (tile("p99", maybe_time(figures.response_ms_p99), "response time".into()))
            (tile("goodput", bits(figures.goodput_bytes_per_s * 8.0),
                format!("{:.1} responses/s", figures.responses_per_s)))
        }
    }
}

fn responses(figures: &Figures) -> Markup {
    html! {
        div.scroll { table.ranks {
            thead { tr { @for (word, ..) in figures.ranks() { th { (word) } } th { "largest 1 %" } } }
            tbody {
                tr {
                    @for (_, name, response) in figures.ranks() {
                        td.void[response.is_some() && !figures.is_valid(name)] { (maybe_time(response)) }
                    }
                    td.void[figures.response_ms_largest_1_percent_mean.is_some()
                        && !figures.is_valid("response_ms_largest_1_percent_mean")] {
                        (maybe_time(figures.response_ms_largest_1_percent_mean))
                    }
                }
            }
        } }
        @if let Some(mean) = figures.slowdown_mean {
            p.soft {
                "Slowdown (response time over the time the link alone needs): mean "
                (format!("{mean:.2}"))
                @if let Some(median) = figures.slowdown_p50 { ", median " (format!("{median:.2}")) }
                @if let Some(p99) = figures.slowdown_p99 { ", p99 " (format!("{p99:.2}")) }
                "."
            }
        }
    }
}

fn distribution(figures: &Figures) -> Plot {
    // A share of 0.99 lies at 2, of 0.999 at 3: each nine as wide as the one before.
    let nines = |share: f64| -(1.0 - share).log10();
    let last = figures.distribution.iter().map(|p| nines(p.share)).filter(|n| n.is_finite());
    let last = last.fold(1.0, f64::max);
    let marks = [0.0, 0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999_999];
    let mut ticks = Vec::new();
    for share in marks {
        ticks.push((nines(share), format!("{} %", (share * 1e6).round() / 1e4)));
        if nines(share) >= last {
            break;
        }
    }
    let to = ticks.last().map_or(1.0, |tick| tick.0);
    let x = Axis::places("share of the responses that were no slower", (0.0, to), ticks);
    let y = Axis::log("response time").written(round_time);
    let mut plot = Plot::new("Distribution of response times", x, y);
    let points = figures.distribution.iter().map(|p| (nines(p.share).min(to), p.response_ms));
    plot.series.push(Series::new("", points.collect()));
    plot
}

fn by_size(figures: &Figures) -> Plot {
    // A class lies at its geometric middle.
    let middle = |from: u64, below: Option<u64>| {
        let from = from.max(1) as f64;
        (from * below.map_or(from * 10.0, |below| below as f64)).sqrt()
    };
    let classes = &figures.by_size;
    let line = |name, value: fn(&super::figures::SizeClass) -> Option<f64>| {
        let points = classes.iter().map(|c| (middle(c.from_bytes, c.below_bytes), value(c)));
        Series::with_gaps(name, points).marked()
    };
    let x = Axis::log("size of the response").written(bytes);
    let mut plot =
        Plot::new("Response time by size", x, Axis::log("response time").written(round_time));
    plot.series = vec![
        line("mean", |class| class.response_ms_mean),
        line("median", |class| class.response_ms_p50).coloured(1, false),
        line("p99", |class| class.response_ms_p99).coloured(2, false),
    ];
    plot
}

fn sizes(figures: &Figures) -> Markup {
    html! {
        div.scroll { table {
            thead { tr {
                th { "size" } th { "requests" } th { "failed" } th { "mean" } th { "median" }
                th { "p99" } th { "slowdown" }
            } }
            tbody {
                @for class in &figures.by_size {
                    tr {
                        th { (size_range(class.from_bytes, class.below_bytes)) }
                        td { (count(class.requests)) }
                        td { (count(class.failed)) }
                        td.void[!class.valid] { (maybe_time(class.response_ms_mean)) }
                        td.void[!class.valid] { (maybe_time(class.response_ms_p50)) }
                        td.void[!class.valid] { (maybe_time(class.response_ms_p99)) }
                        td { (class.slowdown_mean.map_or("-".into(), |s| format!("{s:.2}"))) }
                    }
                }
            }
        } }
    }
}

fn classes(figures: &Figures) -> Markup {
    html! {
        table {
            thead { tr {
                th { "class" } th { "requests" } th { "failed" } th { "mean" } th { "median" } th { "p99" }
            } }
            tbody {
                @for class in &figures.by_class {
                    tr {
                        th { (class.name) }
                        td { (count(class.requests)) }
                        td { (count(class.failed)) }
                        td.void[!class.valid] { (maybe_time(class.response_ms_mean)) }
                        td.void[!class.valid] { (maybe_time(class.response_ms_p50)) }
                        td.void[!class.valid] { (maybe_time(class.response_ms_p99)) }
                    }
                }
            }
        }
    }
}

fn over_time(figures: &Figures) -> Markup {
    let line = |name, value: fn(&super::figures::Second) -> Option<f64>| {
        let seconds = figures.by_second.iter();
        Series::with_gaps(name, seconds.map(|second| (second.second as f64, value(second))))
    };
    let x = || Axis::linear("second in which requests should have started");
    let y = Axis::log("response time").written(round_time);
    let mut times = Plot::new("Response time by second", x(), y);
    times.series = vec![
        line("mean", |second| second.response_ms_mean),
        line("slowest", |second| second.response_ms_max).coloured(2, false),
    ];
    let y = Axis::linear("requests a second")
        .written(|value| format!("{}", (value * 100.0).round() / 100.0));
    let mut counts = Plot::new("Requests by second", x(), y);
    counts.series = vec![
        line("requests", |second| Some(second.requests as f64)),
        line("failed", |second| Some(second.failed as f64)).coloured(3, false),
    ];
    html! { (times) (counts) }
}

fn outcomes(figures: &Figures) -> Markup {
    let all = figures.requests.max(1) as f64;
    html! {
        table.words {
            @for (outcome, number) in figures.outcomes_that_happened() {
                tr { th { (outcome) } td { (count(number)) } td { (percent(number as f64 / all)) } }
            }
            @if !figures.statuses.is_empty() {
                tr { th { "by status" } td colspan="2" { (figures.statuses_in_words()) } }
            }
            @if figures.retries > 0 { tr { th { "retries" } td { (count(figures.retries)) } td {} } }
        }
    }
}

fn generator(figures: &Figures) -> Markup {
    let lag = |us: Option<f64>| maybe_time(us.map(|us| us / 1e3));
    html! {
        table.words {
            tr { th { "start lag" } td {
                "p50 " (lag(figures.start_lag_us_p50)) ", p99 " (lag(figures.start_lag_us_p99))
                ", p99.9 " (lag(figures.start_lag_us_p999)) ", most " (lag(figures.start_lag_us_max))
            } }
            tr { th { "read lag" } td {
                "p50 " (lag(figures.read_lag_us_p50)) ", p99 " (lag(figures.read_lag_us_p99))
                ", p99.9 " (lag(figures.read_lag_us_p999)) ", most " (lag(figures.read_lag_us_max))
            } }
            tr { th { "machine" } td {
                "steal " (percent(figures.steal_share)) ", idle " (percent(figures.idle_share))
                "; the generator used " (format!("{:.2}", figures.generator_processor_s)) " s of a processor"
            } }
            tr { th { "connections" } td {
                (count(figures.connections)) ", at most " (count(figures.connections_most_open)) " at once"
            } }
            @if let Some(tls) = &figures.tls { (handshakes(tls)) }
            tr { th { "received" } td {
                (bytes(figures.received_body_bytes as f64)) " of bodies, "
                (bytes(figures.received_head_bytes as f64)) " of heads"
            } }
        }
    }
}

fn handshakes(tls: &TlsFigures) -> Markup {
    html! {
        @for (kind, of_kind) in [("full handshakes", &tls.full), ("resumed sessions", &tls.resumed)] {
            @if of_kind.count > 0 {
                tr { th { (kind) } td {
                    (count(of_kind.count)) ": p50 " (maybe_time(of_kind.ms_p50))
                    ", p99 " (maybe_time(of_kind.ms_p99)) ", most " (maybe_time(of_kind.ms_max))
                } }
            }
        }
        @if let Some(why) = &tls.failure {
            tr { th { "failed handshakes" } td { (count(tls.failed)) ": " (why) } }
        }
        tr { th { "received with TLS" } td { (bytes(tls.received_bytes as f64)) } }
    }
}

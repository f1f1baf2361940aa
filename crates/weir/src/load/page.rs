//! The page of a run: the figures as tables and plots, in one file that needs nothing else.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::figures::Figures;
use super::plot::{Axis, Line, plot};
use super::words::{bits, bytes, count, maybe_time, percent, round_time, size_range, time};

const STYLE: &str = include_str!("page.css");

/// The whole page.
pub(crate) fn page(figures: &Figures) -> String {
    let title = format!("weir load {}", figures.url);
    let body = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                main {
                    h1 { "weir load" }
                    p.lead { (figures.url) " · " (figures.started_at) " · seed " (figures.seed) }
                    (verdict(figures))
                    (tiles(figures))
                    h2 { "Response time" }
                    (responses(figures))
                    (distribution(figures))
                    @if figures.by_size.len() > 1 { h2 { "By size" } (sizes(figures)) }
                    @if figures.by_class.len() > 1 { h2 { "By client class" } (classes(figures)) }
                    h2 { "Over time" }
                    (over_time(figures))
                    h2 { "Requests" }
                    (outcomes(figures))
                    h2 { "Plan" }
                    table.words {
                        @for (word, what) in &figures.plan { tr { th { (word) } td { (what) } } }
                    }
                    h2 { "Generator" }
                    (generator(figures))
                    p.soft { "weir " (figures.version) }
                }
            }
        }
    };
    body.into_string()
}

fn verdict(figures: &Figures) -> Markup {
    html! {
        @if figures.ended_early { p.note { "Ended early: what was under way counts as unfinished." } }
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
        table.ranks {
            thead { tr { @for (word, ..) in figures.ranks() { th { (word) } } th { "largest 1 %" } } }
            tbody {
                tr {
                    @for (_, name, response, _) in figures.ranks() {
                        td.void[response.is_some() && !figures.is_valid(name)] { (maybe_time(response)) }
                    }
                    td.void[figures.response_ms_largest_1_percent_mean.is_some()
                        && !figures.is_valid("response_ms_largest_1_percent_mean")] {
                        (maybe_time(figures.response_ms_largest_1_percent_mean))
                    }
                }
            }
        }
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

fn distribution(figures: &Figures) -> Markup {
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
    let x = Axis::places("share of the responses that were no slower", ticks);
    let times = || figures.distribution.iter().map(|point| point.response_ms);
    let y = Axis::logarithmic("response time", times(), round_time);
    let points = figures.distribution.iter().map(|p| (nines(p.share), Some(p.response_ms)));
    let line = Line { name: "response time", points: points.collect(), dots: None };
    plot("Distribution of response times", &x, &y, &[line])
}

fn sizes(figures: &Figures) -> Markup {
    // A class lies at its geometric middle.
    let middle = |from: u64, below: Option<u64>| {
        let from = from.max(1) as f64;
        (from * below.map_or(from * 10.0, |below| below as f64)).sqrt()
    };
    let classes = &figures.by_size;
    let line = |name, value: fn(&super::figures::SizeClass) -> Option<f64>| Line {
        name,
        points: classes.iter().map(|c| (middle(c.from_bytes, c.below_bytes), value(c))).collect(),
        dots: Some(|size, ms| format!("about {}: {}", bytes(size), time(ms))),
    };
    let lines = [
        line("mean", |class| class.response_ms_mean),
        line("median", |class| class.response_ms_p50),
        line("p99", |class| class.response_ms_p99),
    ];
    let places = lines[0].points.iter().map(|point| point.0);
    let x = Axis::logarithmic("size of the response", places, bytes);
    let times = lines.iter().flat_map(|line| line.points.iter().filter_map(|point| point.1));
    let y = Axis::logarithmic("response time", times, round_time);
    html! {
        (plot("Response time by size", &x, &y, &lines))
        table {
            thead { tr {
                th { "size" } th { "requests" } th { "failed" } th { "mean" } th { "median" }
                th { "p99" } th { "slowdown" }
            } }
            tbody {
                @for class in classes {
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
        }
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
    let seconds = &figures.by_second;
    let line = |name, value: fn(&super::figures::Second) -> Option<f64>| Line {
        name,
        points: seconds.iter().map(|second| (second.second as f64, value(second))).collect(),
        dots: None,
    };
    let times = [
        line("mean", |second| second.response_ms_mean),
        line("slowest", |second| second.response_ms_max),
    ];
    let counts = [
        line("requests", |second| Some(second.requests as f64)),
        line("failed", |second| Some(second.failed as f64)),
    ];
    let values = |lines: &[Line]| {
        let all: Vec<f64> =
            lines.iter().flat_map(|l| l.points.iter().filter_map(|point| point.1)).collect();
        all.into_iter()
    };
    let label = "second in which requests should have started";
    let x = Axis::linear(label, seconds.iter().map(|s| s.second as f64), |v| v.to_string());
    let y = Axis::logarithmic("response time", values(&times), round_time);
    let number = Axis::linear("requests a second", values(&counts), |v| count(v as u64));
    html! {
        (plot("Response time by second", &x, &y, &times))
        (plot("Requests by second", &x, &number, &counts))
    }
}

fn outcomes(figures: &Figures) -> Markup {
    let all = figures.requests.max(1) as f64;
    html! {
        table.words {
            @for (outcome, number) in figures.outcomes_that_happened() {
                tr { th { (outcome) } td { (count(number)) } td { (percent(number as f64 / all)) } }
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
            tr { th { "machine" } td {
                "steal " (percent(figures.steal_share)) ", idle " (percent(figures.idle_share))
                "; the generator used " (format!("{:.2}", figures.generator_processor_s)) " s of a processor"
            } }
            tr { th { "connections" } td {
                (count(figures.connections)) ", at most " (count(figures.connections_most_open)) " at once"
            } }
            tr { th { "received" } td {
                (bytes(figures.received_body_bytes as f64)) " of bodies, "
                (bytes(figures.received_head_bytes as f64)) " of heads"
            } }
        }
    }
}

//! The page of the admin address: what the uplink carries, who waits for it, and what its policy has
//! gained and lost against fair sharing. One HTML file without references that reloads itself.

use std::time::Duration;

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::history::Second;
use crate::config::UplinkConfig;
use crate::metrics::{Reading, Settlement};

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// Nothing is fetched from elsewhere, whatever a backend may be called.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; \
                      connect-src 'self'; img-src data:";

/// A weir, as the sign of the page.
const ICON: &str = "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E\
                    %3Cpath d='M1 5q3.5-3 7 0t7 0v9H1z' fill='%231f7a8c'/%3E%3C/svg%3E";

/// What is shown.
#[derive(Debug)]
pub(super) struct Now {
    pub(super) up_for: Duration,
    pub(super) is_ready: bool,
    /// `None`: there is no uplink.
    pub(super) usage: Option<Usage>,
    pub(super) connections: i64,
    pub(super) backends: Vec<(String, Reading)>,
}

/// Of the uplink.
#[derive(Debug)]
pub(super) struct Usage {
    pub(super) config: UplinkConfig,
    /// The last ones, the oldest first.
    pub(super) seconds: Vec<Second>,
    /// By size, the smallest first.
    pub(super) waiting: Vec<(&'static str, i64)>,
    pub(super) settled: Vec<Settlement>,
}

/// The whole page.
pub(super) fn page(now: &Now) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                noscript { meta http-equiv="refresh" content="5"; }
                title { "weir" }
                link rel="icon" href=(PreEscaped(ICON));
                style { (PreEscaped(STYLE)) }
                script { (PreEscaped(SCRIPT)) }
            }
            body {
                p #stale { "The server does not answer; what is shown is old." }
                main {
                    header {
                        h1 { "weir" }
                        span.soft {
                            @if let Some(usage) = &now.usage {
                                "policy " (usage.config.policy) ", uplink "
                                (bits(usage.config.rate.bits() as f64)) ", "
                            }
                            "up for " (span(now.up_for.as_secs() as f64))
                            @if !now.is_ready { ", stopping" }
                        }
                    }
                    @match &now.usage {
                        Some(usage) => (of_uplink(usage, now.connections)),
                        None => (without_uplink(now.connections)),
                    }
                    @if !now.backends.is_empty() { (of_backends(&now.backends)) }
                    p.soft { "For machines: " code { "/metrics" } ", " code { "/healthz" } ", " code { "/readyz" } }
                }
            }
        }
    };
    page.into_string()
}

fn without_uplink(connections: i64) -> Markup {
    html! {
        div.tiles { (tile("connections", &connections.to_string(), "open")) }
        p {
            "No uplink is configured: everything is sent as fast as the kernel takes it. With "
            code { "--uplink" } " and the rate of the line, such as " code { "--uplink 300mbit" }
            ", small responses do not wait for large ones, and this page shows what that changes."
        }
    }
}

fn of_uplink(usage: &Usage, connections: i64) -> Markup {
    let rate = usage.config.rate.bits() as f64;
    let used: Vec<f64> = usage.seconds.iter().map(|second| second.used * 8.0).collect();
    let now = used.last().copied().unwrap_or(0.0);
    let mean = used.iter().sum::<f64>() / used.len().max(1) as f64;
    let known = span(used.len() as f64);
    let waiting: i64 = usage.waiting.iter().map(|(_, count)| count).sum();
    let seconds = usage.seconds.iter().map(|second| second.waiting as i64);
    let most = seconds.fold(waiting, i64::max);
    let (won, lost) = usage.settled.iter().fold((0.0, 0.0), |(w, l), of| (w + of.won, l + of.lost));
    html! {
        div.tiles {
            (tile("uplink now", &bits(now), &format!("{} of {}", percent(now / rate), bits(rate))))
            (tile("uplink lately", &bits(mean), &format!("{}, over {known}", percent(mean / rate))))
            (tile("waiting", &waiting.to_string(), &format!("at most {most} in {known}")))
            (tile("connections", &connections.to_string(), "open"))
            (tile("won", &span(won), "against fair sharing"))
            (tile("lost", &span(lost), "against fair sharing"))
        }
        div.charts {
            (chart("uplink used", &used, rate, &bits(rate)))
            (chart(
                "responses that wait",
                &usage.seconds.iter().map(|second| second.waiting as f64).collect::<Vec<_>>(),
                most.max(1) as f64,
                &most.max(1).to_string(),
            ))
        }
        h2 { "Who waits now, by size of the response" }
        (waiting_by_size(&usage.waiting))
        h2 { "Won and lost against fair sharing" }
        p.soft {
            "How much sooner or later responses ended than if the uplink were shared equally, as other "
            "servers do, since the start."
        }
        (settled_by_size(&usage.settled))
    }
}

fn waiting_by_size(waiting: &[(&'static str, i64)]) -> Markup {
    let most = waiting.iter().map(|(_, count)| *count).max().unwrap_or(0).max(1) as f64;
    html! {
        table {
            @for (size, count) in waiting {
                tr {
                    td { (size) }
                    td { (count) }
                    td.wide { span.bar style=(format!("width: {:.1}%", *count as f64 / most * 100.0)) {} }
                }
            }
        }
    }
}

fn settled_by_size(settled: &[Settlement]) -> Markup {
    html! {
        div.scroll { table {
            thead { tr {
                th { "size" } th { "responses" } th.more { "sooner" } th.more { "later" }
                th { "won" } th { "lost" } th { "worst" }
            } }
            tbody {
                @for of in settled {
                    tr {
                        td { (of.size) }
                        td { (of.sooner + of.even + of.later + of.slow) }
                        td.more { (of.sooner) }
                        td.more { (of.later) }
                        td.won { (span(of.won)) }
                        td.lost[of.lost > 0.0] { (span(of.lost)) }
                        td { (span(of.worst)) }
                    }
                }
            }
        } }
        p.soft { small {
            "Worst: the most that one response lost. What responses lost because their own clients did not "
            "read is not counted."
        } }
    }
}

fn of_backends(backends: &[(String, Reading)]) -> Markup {
    html! {
        h2 { "Backends" }
        div.scroll { table {
            thead { tr {
                th { "backend" } th {} th { "waiting" } th { "under way" } th.more { "calls" } th { "failed" }
            } }
            tbody {
                @for (name, reading) in backends {
                    tr {
                        td.name { (name) }
                        @match reading.up {
                            true => td.won { "up" },
                            false => td.lost { "down" },
                        }
                        td { (reading.waiting) }
                        td { (reading.under_way) " of " (reading.limit) }
                        td.more { (reading.calls) }
                        td { (reading.failed) }
                    }
                }
            }
        } }
    }
}

fn tile(word: &str, value: &str, more: &str) -> Markup {
    html! { div { span { (word) } b { (value) } small { (more) } } }
}

/// Seconds as they came, the latest at the right; `top` is as high as the chart, and `said` there.
fn chart(title: &str, values: &[f64], top: f64, said: &str) -> Markup {
    const WIDTH: usize = 300;
    let from = WIDTH.saturating_sub(values.len());
    let mut line = String::new();
    for (place, value) in values.iter().enumerate() {
        let height = 100.0 - (value / top).clamp(0.0, 1.0) * 100.0;
        let pen = if place == 0 { 'M' } else { 'L' };
        line.push_str(&format!("{pen}{} {height:.1}", from + place));
    }
    let area = match values.len() {
        0 => String::new(),
        count => format!("{line}L{} 100L{from} 100Z", from + count - 1),
    };
    html! {
        figure {
            figcaption { span { (title) } span { (said) } }
            svg viewBox=(format!("0 0 {} 100", WIDTH - 1)) preserveAspectRatio="none" role="img"
                aria-label=(title) { path.area d=(area) {} path.line d=(line) {} }
            div.span { span { "5 min ago" } span { "now" } }
        }
    }
}

/// Bits a second, in the unit that suits them.
fn bits(per_second: f64) -> String {
    let (value, unit) = match per_second {
        b if b >= 1e9 => (b / 1e9, "Gbit/s"),
        b if b >= 1e6 => (b / 1e6, "Mbit/s"),
        b if b >= 1e3 => (b / 1e3, "kbit/s"),
        b => (b, "bit/s"),
    };
    let text = format!("{value:.1}");
    format!("{} {unit}", text.strip_suffix(".0").unwrap_or(&text))
}

/// Seconds, in the unit that suits them.
fn span(seconds: f64) -> String {
    match seconds {
        0.0 => "0 s".to_owned(),
        s if s < 0.9995 => format!("{:.0} ms", s * 1e3),
        s if s < 60.0 => {
            let text = format!("{s:.1}");
            format!("{} s", text.strip_suffix(".0").unwrap_or(&text))
        }
        s if s < 3600.0 => format!("{:.0} min", s / 60.0),
        s if s < 48.0 * 3600.0 => format!("{:.1} h", s / 3600.0),
        s => format!("{:.0} days", s / 86_400.0),
    }
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

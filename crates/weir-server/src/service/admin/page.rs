//! The page of the admin address: what the uplink carries, who waits for it, and what its policy has
//! gained and lost against fair sharing; in kernel mode, as much of that as is known. One HTML file without
//! references that reloads itself.

use std::time::Duration;

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::history::Second;
use super::parts::{bits, chart, percent, span, tile};
use crate::config::{KernelOrder, UplinkConfig};
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

/// Who keeps the uplink's queue.
#[derive(Clone, Copy, Debug)]
pub(crate) enum UplinkQueue {
    /// weir, which sends at a rate.
    InWeir(UplinkConfig),
    /// The kernel, whose bands go by this.
    InKernel(KernelOrder),
}

/// Of the uplink.
#[derive(Debug)]
pub(super) struct Usage {
    pub(super) queue: UplinkQueue,
    /// Whether its order is in force: always in weir, in the kernel while there are bands.
    pub(super) is_in_order: bool,
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
                                @match usage.queue {
                                    UplinkQueue::InWeir(config) => {
                                        "policy " (config.policy) ", uplink "
                                        (bits(config.rate.bits() as f64)) ", "
                                    }
                                    UplinkQueue::InKernel(order) => {
                                        "policy " (name(order)) ", uplink in the kernel, "
                                    }
                                }
                            }
                            "up for " (span(now.up_for.as_secs() as f64))
                            @if !now.is_ready { ", stopping" }
                        }
                    }
                    @match &now.usage {
                        Some(usage) => {
                            @match usage.queue {
                                UplinkQueue::InWeir(config) => {
                                    (of_uplink(usage, config, now.connections))
                                }
                                UplinkQueue::InKernel(order) => {
                                    (of_bands(usage, order, now.connections))
                                }
                            }
                        }
                        None => { (without_uplink(now.connections)) }
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

/// What was sent and who waited in the last seconds.
#[derive(Debug)]
struct Lately {
    /// Bits a second in each of them, the last, and their mean.
    used: Vec<f64>,
    now: f64,
    mean: f64,
    /// How many wait now, and the most that did.
    waiting: i64,
    most: i64,
    /// How long that is.
    known: String,
}

impl Lately {
    fn of(usage: &Usage) -> Lately {
        let used: Vec<f64> = usage.seconds.iter().map(|second| second.used * 8.0).collect();
        let waiting: i64 = usage.waiting.iter().map(|(_, count)| count).sum();
        let seconds = usage.seconds.iter().map(|second| second.waiting as i64);
        Lately {
            now: used.last().copied().unwrap_or(0.0),
            mean: used.iter().sum::<f64>() / used.len().max(1) as f64,
            waiting,
            most: seconds.fold(waiting, i64::max),
            known: span(used.len() as f64),
            used,
        }
    }
}

fn of_uplink(usage: &Usage, config: UplinkConfig, connections: i64) -> Markup {
    let rate = config.rate.bits() as f64;
    let Lately { used, now, mean, waiting, most, known } = Lately::of(usage);
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
            (waiting_chart("responses that wait", usage, most))
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

/// The kernel keeps the queue: weir knows what it hands over, and not how full the link is.
fn of_bands(usage: &Usage, order: KernelOrder, connections: i64) -> Markup {
    let Lately { used, now, mean, waiting, most, known } = Lately::of(usage);
    let top = used.iter().copied().fold(1.0, f64::max);
    let by = match order {
        KernelOrder::Size(_) => "by what it has left to send",
        KernelOrder::Swift(_) => "by what it has left to send and the round trip to its client",
    };
    html! {
        div.tiles {
            (tile("sent now", &bits(now), "handed to the kernel"))
            (tile("sent lately", &bits(mean), &format!("over {known}")))
            (tile("waiting in weir", &waiting.to_string(), &format!("at most {most} in {known}")))
            (tile("connections", &connections.to_string(), "open"))
        }
        @if usage.is_in_order {
            p {
                "The kernel's queues put in order what is sent: of the bands of the device, the first that "
                "has a packet sends. Policy " code { (name(order)) } " gives each response its band, " (by) "."
            }
        } @else {
            p {
                "The kernel's queues are to put in order what is sent, with policy " code { (name(order)) }
                ". At present they do not, and everything is sent as fast as the kernel takes it: the "
                "device has no bands, or the kernel refuses priorities. The log says what to do."
            }
        }
        p.soft {
            "Of responses above 50 KB, what " code { "uplink_kernel_cap" } " holds back waits in weir and "
            "is shown here. All else waits in the kernel: " code { "weir uplink show" } " tells of it. The "
            "rate of the device is not known to weir, so nothing is said of how full it is, nor of what was "
            "won and lost against fair sharing."
        }
        div.charts {
            (chart("sent", &used, top, &bits(top)))
            (waiting_chart("responses that wait in weir", usage, most))
        }
        h2 { "Who waits in weir now, by size of the response" }
        (waiting_by_size(&usage.waiting))
    }
}

/// The policy whose bands these are.
fn name(order: KernelOrder) -> &'static str {
    match order {
        KernelOrder::Size(_) => "bands",
        KernelOrder::Swift(_) => "swift",
    }
}

fn waiting_chart(title: &str, usage: &Usage, most: i64) -> Markup {
    let waiting: Vec<f64> = usage.seconds.iter().map(|second| second.waiting as f64).collect();
    let most = most.max(1);
    chart(title, &waiting, most as f64, &most.to_string())
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{BandCutoffs, SwiftRoundTrip};

    /// The page with an uplink whose queue the kernel keeps.
    fn in_kernel(order: KernelOrder, is_in_order: bool) -> String {
        let usage = Usage {
            queue: UplinkQueue::InKernel(order),
            is_in_order,
            seconds: vec![Second { used: 1e6, waiting: 4 }],
            waiting: vec![("to 1 MB", 3)],
            settled: Vec::new(),
        };
        page(&Now {
            up_for: Duration::from_secs(60),
            is_ready: true,
            usage: Some(usage),
            connections: 7,
            backends: Vec::new(),
        })
    }

    #[test]
    fn in_kernel_mode_the_page_says_who_orders_what_is_sent_and_shows_what_is_known() {
        let size = KernelOrder::Size(BandCutoffs::Learned);
        let swift = KernelOrder::Swift(SwiftRoundTrip::Measured);
        for (order, policy, by) in [
            (size, "bands", "by what it has left to send."),
            (swift, "swift", "and the round trip to its client."),
        ] {
            let text = in_kernel(order, true);
            let (head, told) = (
                format!("policy {policy}, uplink in the kernel, up for"),
                format!("Policy <code>{policy}</code> gives each response its band, by"),
            );
            for part in [
                head.as_str(),
                told.as_str(),
                by,
                "The kernel's queues put in order what is sent",
                "<span>sent now</span><b>8 Mbit/s</b>",
                "<span>waiting in weir</span><b>3</b><small>at most 4 in 1 s</small>",
                "<span>connections</span><b>7</b>",
                "<tr><td>to 1 MB</td><td>3</td>",
            ] {
                assert!(text.contains(part), "{part:?} is not in {text}");
            }
            for wrong in ["No uplink is configured", "<span>won</span>", "they do not"] {
                assert!(!text.contains(wrong), "{wrong:?} is in {text}");
            }
            // Without bands nothing is put in order.
            let text = in_kernel(order, false);
            assert!(text.contains("At present they do not"), "{text}");
            assert!(!text.contains("queues put in order"), "{text}");
        }
    }
}

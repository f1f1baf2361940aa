//! The table of one size: costs of the systems, and weir's over that of its best
//! peer, paired by round. `cpu` prints it.

use serde::Serialize;
use weir_stats::confidence::median_interval;

use crate::measure::Cost;
use crate::system::System;
use crate::table::{heading, median, row, spread};

/// One round of one system, a line in cpu.jsonl.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Round {
    pub(crate) size: String,
    pub(crate) round: u64,
    pub(crate) system: String,
    #[serde(flatten)]
    pub(crate) cost: Cost,
    pub(crate) valid: bool,
}

/// One size as Markdown.
pub(crate) fn markdown(
    size: &str,
    client: &str,
    systems: &[System],
    rounds: &[Round],
    calls: &[Option<f64>],
) -> String {
    let mut text = format!("\n### {size} ({client})\n\n");
    let names = ["system", "CPU µs/request", "in the kernel", "requests/s", "calls/request"];
    text.push_str(&heading(&names));
    let mut costs: Vec<(String, Vec<f64>)> = Vec::new();
    for (system, calls) in systems.iter().map(System::to_string).zip(calls) {
        let of = |value: fn(&Round) -> f64| -> Vec<f64> {
            rounds.iter().filter(|r| r.system == system).map(value).collect()
        };
        let cost = of(|r| r.cost.microseconds);
        text.push_str(&row([
            system.clone(),
            spread(&cost, 2),
            format!("{:.0} %", median(&of(|r| r.cost.system_share)) * 100.0),
            format!("{:.0}", median(&of(|r| r.cost.per_second))),
            calls.map_or("–".into(), |calls| format!("{calls:.2}")),
        ]));
        costs.push((system, cost));
    }
    text.push_str(&format!("\n{}\n", ratio(&costs)));
    let marked = rounds.iter().filter(|r| !r.valid).count();
    if marked > 0 {
        text.push_str(&format!(
            "\nINVALID: too much steal or other work in {marked} measurements.\n"
        ));
    }
    text
}

/// weir ÷ the peer of the lowest median, each round by itself. (The lowest of each
/// round would be a minimum over noise, and no server that exists.)
fn ratio(costs: &[(String, Vec<f64>)]) -> String {
    let own = costs.iter().find(|(name, _)| name == "weir");
    let peers = costs.iter().filter(|(name, _)| name != "weir");
    let best = peers.min_by(|a, b| median(&a.1).total_cmp(&median(&b.1)));
    let (Some((_, own)), Some((name, best))) = (own, best) else {
        return "No ratio: it needs weir and a peer.".into();
    };
    let ratios: Vec<f64> = own.iter().zip(best).map(|(own, best)| own / best).collect();
    let Some(found) = median_interval(&ratios) else {
        return "No ratio: a round has no figure.".into();
    };
    format!(
        "weir ÷ {name}: **{:.3}**, {:.3} to {:.3} ({:.0} % interval of the median, {} rounds)",
        found.median,
        found.low,
        found.high,
        found.coverage * 100.0,
        found.count,
    )
}

#[cfg(test)]
mod tests {
    use super::ratio;

    #[test]
    fn weir_is_compared_with_the_best_peer_round_by_round() {
        let costs = [
            ("weir".into(), vec![8.0, 9.0, 12.0]),
            ("slow".into(), vec![20.0, 1.0, 20.0]),
            ("fast".into(), vec![10.0, 9.0, 10.0]),
        ];
        let text = ratio(&costs);
        assert!(text.starts_with("weir ÷ fast: **1.000**, 0.800 to 1.200 (75 %"), "{text}");
        assert!(ratio(&costs[..1]).starts_with("No ratio"));
    }
}

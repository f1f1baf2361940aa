//! The table of one size: costs of the systems, and weir's over that of its best
//! peer, paired by round. `cpu` prints it.

use serde::Serialize;

use crate::compare::{self, ByRound};
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
    let mut costs = ByRound::new();
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
    let ratio = compare::to_lowest(&costs);
    let ratio = ratio.map_or_else(|why| format!("No ratio: {why}."), |ratio| ratio.words());
    text.push_str(&format!("\n{ratio}\n"));
    let marked = rounds.iter().filter(|r| !r.valid).count();
    if marked > 0 {
        text.push_str(&format!(
            "\nINVALID: too much steal or other work in {marked} measurements.\n"
        ));
    }
    text
}

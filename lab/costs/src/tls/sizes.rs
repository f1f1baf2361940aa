//! Processor time per request on kept connections, for each size of file.

use std::fs::File;

use serde::Serialize;
use weir_peers::Result;

use super::stand::{Connections, Stand, size};
use crate::bars::{Bar, Findings};
use crate::compare::{ByRound, to_lowest};
use crate::files::one_file;
use crate::measure::{self, Cost};
use crate::results;
use crate::server::Server;
use crate::table::{heading, median, row, spread};
use crate::turns::in_turns;

/// From this size on a file is large: copying decides, and the bar leaves some room.
const LARGE: u64 = 10_000_000;

/// One round of one system, a line in tls.jsonl.
#[derive(Clone, Debug, Serialize)]
struct Round {
    part: &'static str,
    size: String,
    round: u64,
    system: String,
    #[serde(flatten)]
    cost: Cost,
    valid: bool,
}

/// Measure every size with all systems in turns.
pub(super) fn measure(stand: &Stand<'_>, lines: &mut File) -> Result<Findings> {
    let servers = stand.start_all()?;
    let mut findings = Findings::default();
    for name in &stand.options.sizes {
        let bytes = size(name)?;
        let cost = |server: &Server, seconds: f64| {
            let client = stand.client(server, Connections::Kept)?;
            measure::spent(server, || {
                let under_way = stand.options.connections;
                let outcome = client.closed(one_file(bytes), under_way, seconds)?;
                outcome.check(&server.system.to_string())?;
                Ok((outcome.requests, outcome.rate()))
            })
        };
        for server in &servers {
            cost(server, 1.0)?;
        }
        let mut rounds = Vec::new();
        in_turns(stand.options.rounds, &servers, |round, server| {
            let cost = cost(server, stand.options.seconds as f64)?;
            let system = server.system.to_string();
            eprintln!("{name:>5} round {} {system:<14} {cost}", round + 1);
            let valid = cost.valid();
            let row = Round { part: "sizes", size: name.clone(), round, system, cost, valid };
            results::line(lines, &row)?;
            rounds.push(row);
            Ok(())
        })?;
        tell(stand, name, bytes, &rounds, &mut findings);
    }
    Ok(findings)
}

fn tell(stand: &Stand<'_>, name: &str, bytes: u64, rounds: &[Round], findings: &mut Findings) {
    let mut text = format!("\n### {name} on kept connections\n\n");
    text.push_str(&heading(&["system", "CPU µs/request", "in the kernel", "requests/s"]));
    let mut costs = ByRound::new();
    for system in stand.options.systems.iter().map(ToString::to_string) {
        let of = |value: fn(&Cost) -> f64| -> Vec<f64> {
            rounds.iter().filter(|r| r.system == system).map(|r| value(&r.cost)).collect()
        };
        let microseconds = of(|cost| cost.microseconds);
        text.push_str(&row([
            system.clone(),
            spread(&microseconds, 2),
            format!("{:.0} %", median(&of(|cost| cost.system_share)) * 100.0),
            format!("{:.0}", median(&of(|cost| cost.per_second))),
        ]));
        costs.push((system, microseconds));
    }
    let bar = Bar::AtMost(if bytes >= LARGE { 1.05 } else { 1.0 });
    findings.ratio(format!("CPU per request of {name}, ÷ the best peer"), to_lowest(&costs), bar);
    findings.text.push_str(&text);
    findings.marked += rounds.iter().filter(|round| !round.valid).count();
}

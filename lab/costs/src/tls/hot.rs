//! Response times of hot requests on kept connections while other clients make full handshakes, beside
//! those without: whether a handshake holds up everybody.

use std::fs::File;

use serde::Serialize;
use weir_peers::Result;
use weir_stats::confidence::median_interval;

use super::stand::{Connections, Stand};
use crate::bars::{Bar, Findings};
use crate::beside::beside;
use crate::connections::SIZE;
use crate::files::poisson;
use crate::outcome::Outcome;
use crate::results;
use crate::server::Server;
use crate::table::{heading, median, row, spread};
use crate::turns::in_turns;

/// Milliseconds that handshakes may add to the 99th percentile.
const MOST_ADDED: f64 = 0.3;

/// One round of one system, a line in tls.jsonl.
#[derive(Clone, Debug, Serialize)]
struct Round {
    part: &'static str,
    round: u64,
    system: String,
    /// 99th percentile in milliseconds.
    without: f64,
    with: f64,
    /// Full handshakes that were made meanwhile, a second.
    handshakes: f64,
    valid: bool,
}

/// Measure all systems in turns.
pub(super) fn measure(stand: &Stand<'_>, lines: &mut File) -> Result<Findings> {
    let servers = stand.start_all()?;
    let mut rounds = Vec::new();
    for server in &servers {
        hot(stand, server, 0, 1.0)?;
    }
    in_turns(stand.options.rounds, &servers, |round, server| {
        let seconds = stand.options.hot_seconds as f64;
        let seed = stand.options.common.seed + round;
        let alone = hot(stand, server, seed, seconds)?;
        let (found, handshakes) = beside_handshakes(stand, server, seed, seconds)?;
        let steal = alone.steal.max(found.steal);
        let row = Round {
            part: "hot",
            round,
            system: server.system.to_string(),
            without: alone.p99,
            with: found.p99,
            handshakes,
            valid: alone.is_on_time() && found.is_on_time(),
        };
        eprintln!(
            "hot round {} {:<14} p99 {:.3} ms alone, {:.3} ms beside {handshakes:.0} handshakes/s, steal {:.1} %",
            round + 1,
            row.system,
            row.without,
            row.with,
            steal * 100.0,
        );
        results::line(lines, &row)?;
        rounds.push(row);
        Ok(())
    })?;
    Ok(tell(stand, &rounds))
}

/// Hot requests on kept connections.
fn hot(stand: &Stand<'_>, server: &Server, seed: u64, seconds: f64) -> Result<Outcome> {
    let client = stand.client(server, Connections::Kept)?;
    let requests = poisson(SIZE, stand.options.hot_rate, seconds, seed)?;
    let outcome = client.open(requests, seconds)?;
    outcome.check(&server.system.to_string())?;
    Ok(outcome)
}

/// The same, and full handshakes of others, with their rate.
fn beside_handshakes(
    stand: &Stand<'_>,
    server: &Server,
    seed: u64,
    seconds: f64,
) -> Result<(Outcome, f64)> {
    let client = stand.client(server, Connections::Full)?;
    let requests = poisson(SIZE, stand.options.handshake_rate, seconds, seed + 1_000_000)?;
    let others = move || client.open(requests, seconds);
    let (found, others) = beside(|| hot(stand, server, seed, seconds), others)?;
    others.check(&format!("{}, new clients", server.system))?;
    let made = others.handshakes.map_or(0, |handshakes| handshakes.full.count);
    Ok((found, made as f64 / seconds))
}

fn tell(stand: &Stand<'_>, rounds: &[Round]) -> Findings {
    let mut text = format!(
        "\n### Hot requests, {}/s, while new clients make {} full handshakes a second\n\n",
        stand.options.hot_rate, stand.options.handshake_rate
    );
    let names = ["system", "p99 without, ms", "p99 with, ms", "added, ms", "handshakes/s"];
    text.push_str(&heading(&names));
    let mut findings = Findings::default();
    let mut own = Vec::new();
    for system in stand.options.systems.iter().map(ToString::to_string) {
        let of = |value: fn(&Round) -> f64| -> Vec<f64> {
            rounds.iter().filter(|r| r.system == system).map(value).collect()
        };
        let added = of(|round| round.with - round.without);
        text.push_str(&row([
            system.clone(),
            spread(&of(|round| round.without), 3),
            spread(&of(|round| round.with), 3),
            spread(&added, 3),
            format!("{:.0}", median(&of(|round| round.handshakes))),
        ]));
        if system == "weir" {
            own = added;
        }
    }
    let what = "p99 of hot requests, added by full handshakes";
    findings.figure(what, median_interval(&own), "ms", Bar::AtMost(MOST_ADDED));
    findings.text = text;
    findings.marked = rounds.iter().filter(|round| !round.valid).count();
    findings
}

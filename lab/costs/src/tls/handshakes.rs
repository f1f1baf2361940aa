//! Full and resumed handshakes a second of processor time: connections with one request of 1 KB each. The
//! client's core has more work with a handshake than the server's, so the rate of the clock would be the
//! client's.

use std::fs::File;

use serde::Serialize;
use weir_load::Handshakes;
use weir_peers::{Error, Result};

use super::stand::{Connections, Stand};
use crate::bars::{Bar, Findings};
use crate::compare::{ByRound, to_peer};
use crate::connections::SIZE;
use crate::files::one_file;
use crate::measure::{self, Cost};
use crate::results;
use crate::server::Server;
use crate::table::{heading, median, row, spread};
use crate::turns::in_turns;

/// The peer that the bars name.
const PEER: &str = "nginx-sendfile";
/// The figure of a server that resumes fewer is one of both kinds.
const LEAST_RESUMED: f64 = 0.95;

/// One round of one system, a line in tls.jsonl.
#[derive(Clone, Debug, Serialize)]
struct Round {
    part: &'static str,
    round: u64,
    system: String,
    /// Of all handshakes, those that resumed a session.
    resumed: f64,
    /// Median of the handshake's time in milliseconds, with as many at once as there are connections.
    milliseconds: f64,
    #[serde(flatten)]
    cost: Cost,
    valid: bool,
}

impl Round {
    /// Handshakes, with all else that a connection costs, a second of the server's processor time.
    fn per_second(&self) -> f64 {
        1e6 / self.cost.microseconds
    }
}

/// Measure both kinds with all systems in turns.
pub(super) fn measure(stand: &Stand<'_>, lines: &mut File) -> Result<Findings> {
    let servers = stand.start_all()?;
    let mut findings = Findings::default();
    let kinds = [
        ("full handshakes", Connections::Full, Bar::AtLeast(1.3)),
        ("resumed handshakes", Connections::Resumed, Bar::AtLeast(1.0)),
    ];
    for (part, kind, bar) in kinds {
        for server in &servers {
            one(stand, server, kind, 1.0)?;
        }
        let mut rounds = Vec::new();
        in_turns(stand.options.rounds, &servers, |round, server| {
            let (cost, made) = one(stand, server, kind, stand.options.seconds as f64)?;
            let resumed = share_resumed(&made);
            let valid = cost.valid();
            let system = server.system.to_string();
            eprintln!(
                "{part} round {} {system:<14} {cost}, {:.0} % resumed",
                round + 1,
                resumed * 100.0
            );
            let times = if kind == Connections::Full { made.full } else { made.resumed };
            let milliseconds = times.seconds[0] * 1e3;
            let row = Round { part, round, system, resumed, milliseconds, cost, valid };
            results::line(lines, &row)?;
            rounds.push(row);
            Ok(())
        })?;
        tell(stand, part, bar, &rounds, &mut findings);
        if kind == Connections::Resumed {
            tell_mixed(stand, &rounds, &mut findings);
        }
    }
    Ok(findings)
}

/// One stretch of connections, with what they cost and the handshakes that they made.
fn one(
    stand: &Stand<'_>,
    server: &Server,
    kind: Connections,
    seconds: f64,
) -> Result<(Cost, Handshakes)> {
    let client = stand.client(server, kind)?;
    let mut made = None;
    let cost = measure::spent(server, || {
        let outcome = client.closed(one_file(SIZE), stand.options.connections, seconds)?;
        outcome.check(&server.system.to_string())?;
        let measured = (outcome.requests, outcome.rate());
        made = outcome.handshakes;
        Ok(measured)
    })?;
    let made = made.ok_or_else(|| Error(format!("{}: it spoke no TLS", server.system)))?;
    Ok((cost, made))
}

fn share_resumed(made: &Handshakes) -> f64 {
    made.resumed.count as f64 / (made.full.count + made.resumed.count).max(1) as f64
}

fn tell(stand: &Stand<'_>, part: &str, bar: Bar, rounds: &[Round], findings: &mut Findings) {
    let mut text = format!("\n### {part}\n\n");
    let names = ["system", "CPU µs/connection", "a second of CPU", "resumed", "median time, ms"];
    text.push_str(&heading(&names));
    let mut rates = ByRound::new();
    for system in stand.options.systems.iter().map(ToString::to_string) {
        let of = |value: fn(&Round) -> f64| -> Vec<f64> {
            rounds.iter().filter(|r| r.system == system).map(value).collect()
        };
        let per_second = of(Round::per_second);
        text.push_str(&row([
            system.clone(),
            spread(&of(|round| round.cost.microseconds), 2),
            format!("{:.0}", median(&per_second)),
            format!("{:.0} %", median(&of(|round| round.resumed)) * 100.0),
            format!("{:.2}", median(&of(|round| round.milliseconds))),
        ]));
        rates.push((system, per_second));
    }
    findings.ratio(format!("{part} a second of CPU, ÷ nginx"), to_peer(&rates, PEER), bar);
    findings.text.push_str(&text);
    findings.marked += rounds.iter().filter(|round| !round.valid).count();
}

/// Says which systems did not resume all that they could have.
fn tell_mixed(stand: &Stand<'_>, rounds: &[Round], findings: &mut Findings) {
    for system in stand.options.systems.iter().map(ToString::to_string) {
        let own = rounds.iter().filter(|round| round.system == system);
        let resumed = median(&own.map(|round| round.resumed).collect::<Vec<f64>>());
        if resumed < LEAST_RESUMED {
            findings.text.push_str(&format!(
                "\n{system} resumed {:.0} % of the sessions: its figure is of both kinds.\n",
                resumed * 100.0
            ));
        }
    }
}

//! Processor time per request of one text that is asked for again and again: weir answers from its cache of
//! results, the others compress each time, or all send what lies beside the text.

use std::fs::File;
use std::sync::Arc;

use serde::Serialize;
use weir_peers::{Result, nginx};

use super::fetch;
use super::stand::{Stand, TEXT};
use crate::bars::{Bar, Findings};
use crate::compare::{ByRound, of_one, to_lowest};
use crate::contender::{Coding, Contender};
use crate::files::one_path;
use crate::measure::{self, Cost};
use crate::results;
use crate::server::Server;
use crate::system::System;
use crate::table::{heading, median, row, spread};
use crate::turns::in_turns;

/// Seconds of load before the rounds, at most.
const WARM: f64 = 1.0;
/// What weir may cost over the best peer.
const MOST: f64 = 1.0;

/// One round of one system, a line in compression.jsonl.
#[derive(Clone, Debug, Serialize)]
struct Round {
    part: &'static str,
    coding: Coding,
    round: u64,
    system: String,
    /// Of the compressed text.
    bytes: usize,
    #[serde(flatten)]
    cost: Cost,
    valid: bool,
}

/// A server and what it sends.
struct Source {
    contender: Contender,
    server: Server,
    body: Arc<[u8]>,
}

/// Measure every coding with all systems in turns.
pub(super) fn measure(stand: &Stand<'_>, lines: &mut File) -> Result<Findings> {
    let mut findings = Findings::default();
    for &coding in &stand.options.codings {
        let (sources, left_out) = start(stand, coding)?;
        let cost = |source: &Source, seconds: f64| {
            let client = stand.client(&source.server, Some(coding), &source.body);
            measure::spent(&source.server, || {
                let requests = one_path(TEXT, source.body.len() as u64);
                let outcome = client.closed(requests, stand.options.connections, seconds)?;
                outcome.check(&source.contender.to_string())?;
                Ok((outcome.requests, outcome.rate()))
            })
        };
        for source in &sources {
            cost(source, stand.options.seconds.min(WARM))?;
        }
        let mut rounds = Vec::new();
        in_turns(stand.options.rounds, &sources, |round, source| {
            let cost = cost(source, stand.options.seconds)?;
            let system = source.contender.to_string();
            eprintln!("{} round {} {system:<14} {cost}", coding.name(), round + 1);
            let (bytes, valid) = (source.body.len(), cost.valid());
            let row = Round { part: "results", coding, round, system, bytes, cost, valid };
            results::line(lines, &row)?;
            rounds.push(row);
            Ok(())
        })?;
        tell(stand, coding, &sources, &rounds, &mut findings);
        findings.text.push_str(&left_out);
    }
    Ok(findings)
}

/// Start all who have a coding, and look at what they send; who was left out, in words.
fn start(stand: &Stand<'_>, coding: Coding) -> Result<(Vec<Source>, String)> {
    let text = stand.text();
    let scratch = stand.options.common.out.join("answer.gz");
    let (mut sources, mut left_out) = (Vec::new(), String::new());
    for &contender in stand.options.systems.iter().filter(|contender| contender.has(coding)) {
        let is_nginx = matches!(contender.system, System::Nginx(_));
        if is_nginx && !contender.is_on_the_fly() && !nginx::has_gzip_static()? {
            left_out
                .push_str(&format!("\nNot measured: {contender}, built without gzip_static.\n"));
            continue;
        }
        let server = stand.start(contender)?;
        let Some(body) = fetch::coded(server.address, TEXT, coding)? else {
            let name = coding.name();
            left_out.push_str(&format!("\nNot measured: {contender}, which sends no {name}.\n"));
            continue;
        };
        if coding == Coding::Gzip {
            fetch::must_be_gzip_of(&text, &body, &scratch)?;
        }
        sources.push(Source { contender, server, body: body.into() });
    }
    Ok((sources, left_out))
}

fn tell(
    stand: &Stand<'_>,
    coding: Coding,
    sources: &[Source],
    rounds: &[Round],
    findings: &mut Findings,
) {
    let name = coding.name();
    let size = stand.options.size;
    let mut text = format!("\n### {name} of {size} bytes, asked for again and again\n\n");
    let names = ["system", "bytes", "CPU µs/request", "in the kernel", "requests/s"];
    text.push_str(&heading(&names));
    let mut costs = ByRound::new();
    for source in sources {
        let system = source.contender.to_string();
        let of = |value: fn(&Cost) -> f64| -> Vec<f64> {
            rounds.iter().filter(|r| r.system == system).map(|r| value(&r.cost)).collect()
        };
        let microseconds = of(|cost| cost.microseconds);
        text.push_str(&row([
            system.clone(),
            source.body.len().to_string(),
            spread(&microseconds, 2),
            format!("{:.0} %", median(&of(|cost| cost.system_share)) * 100.0),
            format!("{:.0}", median(&of(|cost| cost.per_second))),
        ]));
        costs.push((system, microseconds));
    }
    let has_peers = sources.iter().any(|source| source.contender.system != System::Weir);
    for own in sources.iter().filter(|source| source.contender.system == System::Weir && has_peers)
    {
        let how = match own.contender.is_on_the_fly() {
            true => "from the cache of results",
            false => "from a file beside it",
        };
        let ratio = to_lowest(&of_one(&costs, &own.contender.to_string()));
        let what = format!("CPU per request in {name} {how}, ÷ the best peer");
        findings.ratio(what, ratio, Bar::AtMost(MOST));
    }
    findings.text.push_str(&text);
    findings.marked += rounds.iter().filter(|round| !round.valid).count();
}

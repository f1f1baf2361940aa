//! Memory of an idle connection with TLS: that of a fresh server, in which connections open with a request
//! each, and stay.

use std::fs::File;

use serde::Serialize;
use weir_peers::Result;
use weir_stats::confidence::median_interval;

use super::stand::{Connections, Stand};
use crate::bars::{Bar, Findings};
use crate::connections::{self, Round as Measured};
use crate::results;
use crate::table::{heading, row, spread};
use crate::turns::in_turns;

/// Bytes that an idle connection may have.
const MOST: f64 = 10_240.0;
/// Seconds of load after the reading, which the common measurement has and this one needs not.
const SECONDS: u64 = 1;

/// One round of one system, a line in tls.jsonl.
#[derive(Clone, Debug, Serialize)]
struct Round {
    part: &'static str,
    round: u64,
    #[serde(flatten)]
    measured: Measured,
    valid: bool,
}

/// Measure all systems in turns, a fresh server each time.
pub(super) fn measure(stand: &Stand<'_>, lines: &mut File) -> Result<Findings> {
    let count = stand.options.idle;
    let mut rounds = Vec::new();
    in_turns(stand.options.idle_rounds, &stand.options.systems, |round, system| {
        let server = stand.start(*system)?;
        let client = stand.client(&server, Connections::Kept)?;
        let measured = connections::measure(&server, &client, SECONDS, count)?;
        let each = measured.each(|memory| memory.anonymous);
        eprintln!("idle round {} {system:<14} {each:.0} bytes a connection", round + 1);
        let valid = measured.valid();
        let row = Round { part: "idle", round, measured, valid };
        results::line(lines, &row)?;
        rounds.push(row);
        Ok(())
    })?;
    let mut text = format!("\n### Memory of {count} idle connections\n\n");
    text.push_str(&heading(&["system", "anonymous bytes each", "PSS bytes each"]));
    let mut findings = Findings::default();
    for system in stand.options.systems.iter().map(ToString::to_string) {
        let own = || rounds.iter().map(|r| &r.measured).filter(|m| m.system == system);
        let anonymous: Vec<f64> = own().map(|m| m.each(|memory| memory.anonymous)).collect();
        let proportional: Vec<f64> = own().map(|m| m.each(|memory| memory.proportional)).collect();
        text.push_str(&row([system.clone(), spread(&anonymous, 0), spread(&proportional, 0)]));
        if system == "weir" {
            let found = median_interval(&anonymous);
            findings.figure("memory of an idle connection", found, "bytes", Bar::AtMost(MOST));
        }
    }
    findings.text = text;
    findings.marked = rounds.iter().filter(|round| !round.valid).count();
    Ok(findings)
}

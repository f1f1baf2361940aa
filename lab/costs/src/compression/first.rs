//! Texts that are each asked for the first time and compressed on the fly: processor time per text, and how
//! long hot requests of 1 KB wait meanwhile, beside the same texts sent as they are. Servers are fresh each
//! time, so that nobody has a result.

use std::fs::File;
use std::sync::Arc;

use serde::Serialize;
use weir_load::Demand;
use weir_peers::{Error, Result};
use weir_stats::confidence::median_interval;
use weir_stats::{Outcome as End, Record};
use weir_workload::{Request, Requests};

use super::stand::{Stand, first_path};
use crate::bars::{Bar, Findings};
use crate::beside::beside;
use crate::compare::{ByRound, of_one, to_lowest, to_peer};
use crate::connections::SIZE;
use crate::contender::{Coding, Contender};
use crate::files::{one_file, poisson};
use crate::measure::{Cost, Reading};
use crate::outcome::Outcome;
use crate::results;
use crate::server::Server;
use crate::table::{heading, row, spread};
use crate::turns::in_turns;

/// First requests under way at a time where processor time is measured: few enough that weir gives up none.
const UNDER_WAY: u32 = 4;
/// Hot requests before anything is measured.
const WARM: usize = 1000;
/// What weir may cost over the best peer.
const MOST: f64 = 1.0;
/// Milliseconds that compression may hold up a hot request.
const MOST_ADDED: f64 = 1.0;
/// The peer that makes about as few bytes as weir does.
const ALIKE: &str = "nginx-6";

/// One round of one system, a line in compression.jsonl.
#[derive(Clone, Debug, Serialize)]
struct Round {
    part: &'static str,
    coding: Coding,
    round: u64,
    system: String,
    #[serde(flatten)]
    cost: Cost,
    /// Of the texts whose processor time was measured, those that came compressed.
    compressed: f64,
    plain: Waits,
    coded: Waits,
    valid: bool,
}

/// How long hot requests took in milliseconds beside texts as they are, or compressed.
#[derive(Clone, Copy, Debug, Serialize)]
struct Waits {
    p99: f64,
    longest: f64,
}

impl From<&Outcome> for Waits {
    fn from(hot: &Outcome) -> Waits {
        Waits { p99: hot.p99, longest: hot.longest }
    }
}

/// Measure every coding with all systems that compress, in turns.
pub(super) fn measure(stand: &Stand<'_>, lines: &mut File) -> Result<Findings> {
    let mut findings = Findings::default();
    for &coding in &stand.options.codings {
        let wanted = |c: &&Contender| c.is_on_the_fly() && c.has(coding);
        let contenders: Vec<Contender> =
            stand.options.systems.iter().filter(wanted).copied().collect();
        let mut rounds = Vec::new();
        in_turns(stand.options.rounds, &contenders, |round, &contender| {
            let row = one(stand, contender, coding, round)?;
            eprintln!(
                "first {} round {} {:<14} {}, longest wait {:.3} ms beside plain texts, {:.3} ms beside compressed ones",
                coding.name(),
                round + 1,
                row.system,
                row.cost,
                row.plain.longest,
                row.coded.longest,
            );
            results::line(lines, &row)?;
            rounds.push(row);
            Ok(())
        })?;
        tell(stand, coding, &contenders, &rounds, &mut findings);
    }
    Ok(findings)
}

fn one(stand: &Stand<'_>, contender: Contender, coding: Coding, round: u64) -> Result<Round> {
    let seed = stand.options.common.seed + round;
    let (cost, compressed) = cost(stand, contender, coding)?;
    let server = warmed(stand, contender)?;
    let plain = hot_beside(stand, &server, None, seed)?;
    let coded = hot_beside(stand, &server, Some(coding), seed)?;
    Ok(Round {
        part: "first",
        coding,
        round,
        system: contender.to_string(),
        cost,
        compressed,
        plain: Waits::from(&plain),
        coded: Waits::from(&coded),
        valid: cost.valid() && plain.is_on_time() && coded.is_on_time(),
    })
}

/// A fresh server that has answered hot requests.
fn warmed(stand: &Stand<'_>, contender: Contender) -> Result<Server> {
    let server = stand.start(contender)?;
    let client = stand.client(&server, None, &stand.hot);
    client.closed(Box::new(one_file(SIZE).take(WARM)), 1, 10.0)?.check(&contender.to_string())?;
    Ok(server)
}

/// What a text costs that is asked for the first time, and the share that came compressed.
fn cost(stand: &Stand<'_>, contender: Contender, coding: Coding) -> Result<(Cost, f64)> {
    let server = warmed(stand, contender)?;
    let client = stand.client(&server, Some(coding), &Arc::default());
    let processes = server.processes();
    let before = Reading::of(&processes)?;
    let records = client.all(Demand::Saturate(texts(stand, None), UNDER_WAY))?;
    let after = Reading::of(&processes)?;
    let share = share_compressed(&records, stand.options.size)
        .map_err(|why| Error(format!("{contender}: {why}")))?;
    let per_second = records.len() as f64 / before.elapsed().max(1e-9);
    // Nobody can be asked for the first time again.
    let cost = after.cost_since(&before, records.len() as u64, per_second);
    let cost = cost.ok_or_else(|| Error(format!("{contender}: it ended threads meanwhile")))?;
    Ok((cost, share))
}

/// Hot requests while another client asks for all texts, which it takes as they are or in a coding.
fn hot_beside(
    stand: &Stand<'_>,
    server: &Server,
    coding: Option<Coding>,
    seed: u64,
) -> Result<Outcome> {
    let options = stand.options;
    let seconds = f64::from(options.files) / options.file_rate;
    let hot = stand.client(server, None, &stand.hot);
    let requests = poisson(SIZE, options.hot_rate, seconds, seed)?;
    let others = stand.client(server, coding, &Arc::default());
    let texts = texts(stand, Some(options.file_rate));
    let (hot, records) =
        beside(move || hot.open(requests, seconds), move || others.all(Demand::Open(texts)))?;
    hot.check(&format!("{}, hot requests", server.system))?;
    share_compressed(&records, options.size)
        .map_err(|why| Error(format!("{}: {why}", server.system)))?;
    Ok(hot)
}

/// A request for each text, so many a second, or as soon as may be.
fn texts(stand: &Stand<'_>, rate: Option<f64>) -> Requests {
    let request = move |number: u32| Request {
        at: rate.map_or(0.0, |rate| f64::from(number) / rate),
        client: number,
        class: 0,
        path: first_path(number).into(),
        size: None,
    };
    Box::new((0..stand.options.files).map(request))
}

/// The share of the answers that are shorter than the text; an error unless all came.
fn share_compressed(records: &[Record], size: u64) -> Result<f64> {
    let wrong = records.iter().filter(|record| record.outcome != End::Ok).count();
    if wrong > 0 || records.is_empty() {
        return Err(Error(format!("{wrong} of {} texts did not come", records.len())));
    }
    let shorter = records.iter().filter(|record| record.size < size).count();
    Ok(shorter as f64 / records.len() as f64)
}

fn tell(
    stand: &Stand<'_>,
    coding: Coding,
    contenders: &[Contender],
    rounds: &[Round],
    findings: &mut Findings,
) {
    let options = stand.options;
    let mut text = format!(
        "\n### {} of {} texts of {} bytes, each asked for first; waits of hot requests, {}/s, beside {} texts a second\n\n",
        coding.name(),
        options.files,
        options.size,
        options.hot_rate,
        options.file_rate
    );
    text.push_str(&heading(&[
        "system",
        "CPU ms/text",
        "compressed",
        "p99 ms, plain",
        "p99 ms, compressed",
        "longest ms, plain",
        "longest ms, compressed",
    ]));
    let mut costs = ByRound::new();
    for system in contenders.iter().map(ToString::to_string) {
        let of = |value: fn(&Round) -> f64| -> Vec<f64> {
            rounds.iter().filter(|r| r.system == system).map(value).collect()
        };
        let milliseconds = of(|round| round.cost.microseconds / 1e3);
        let least = of(|round| round.compressed).into_iter().fold(1.0, f64::min);
        text.push_str(&row([
            system.clone(),
            spread(&milliseconds, 3),
            format!("{:.1} %", least * 100.0),
            spread(&of(|round| round.plain.p99), 3),
            spread(&of(|round| round.coded.p99), 3),
            spread(&of(|round| round.plain.longest), 3),
            spread(&of(|round| round.coded.longest), 3),
        ]));
        if system == "weir" {
            let name = coding.name();
            let added = median_interval(&of(|round| round.coded.p99 - round.plain.p99));
            let what = format!("p99 of hot requests, added by first texts in {name}");
            findings.figure(what, added, "ms", Bar::AtMost(MOST_ADDED));
            let added = median_interval(&of(|round| round.coded.longest - round.plain.longest));
            let what = format!("longest hot request, added by first texts in {name}");
            findings.figure(what, added, "ms", Bar::AtMost(MOST_ADDED));
        }
        costs.push((system, milliseconds));
    }
    let costs = of_one(&costs, "weir");
    if costs.len() > 1 {
        let what = format!("CPU per first text in {}, ÷ ", coding.name());
        findings.ratio(format!("{what}the best peer"), to_lowest(&costs), Bar::AtMost(MOST));
        if costs.iter().any(|(system, _)| system == ALIKE) {
            findings.ratio(format!("{what}{ALIKE}"), to_peer(&costs, ALIKE), Bar::AtMost(MOST));
        }
    }
    findings.text.push_str(&text);
    findings.marked += rounds.iter().filter(|round| !round.valid).count();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(size: u64, outcome: End) -> Record {
        Record {
            scheduled: 0.0,
            started: 0.0,
            connected: None,
            first_byte: None,
            last_byte: Some(0.1),
            size,
            class: 0,
            outcome,
            attempts: 1,
            read_lag: 0.0,
        }
    }

    #[test]
    fn what_is_as_long_as_the_text_was_not_compressed() {
        let mut records = vec![record(100, End::Ok), record(400, End::Ok)];
        assert_eq!(share_compressed(&records, 400), Ok(0.5));
        records.push(record(100, End::Short));
        let why = share_compressed(&records, 400).expect_err("one did not come");
        assert_eq!(why.to_string(), "1 of 3 texts did not come");
        assert!(share_compressed(&[], 400).is_err());
    }
}

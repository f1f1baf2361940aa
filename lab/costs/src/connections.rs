//! `files connections`: what an idle connection costs a server in memory, and
//! what many of them do to the processor time of a request.

use std::fs;
use std::time::Duration;

use serde::Serialize;

use crate::arrivals::{Plan, Reuse};
use crate::client::Client;
use crate::cpu::{line, results};
use crate::measure::{Cost, spent};
use crate::options::ConnectionsOptions;
use crate::peer::System;
use crate::process::{self, Memory};
use crate::statistics::{heading, median, row, spread};
use crate::system::{Part, Server, Setup};
use crate::{Result, interrupt, machine, set};

/// Requests at a time, and connections in use when the others idle.
const ACTIVE: usize = 64;
/// Files of both sides beside the connections.
const OTHER_FILES: usize = 300;

/// One round of one system, a line in connections.jsonl.
#[derive(Clone, Debug, Serialize)]
struct Round {
    connections: usize,
    system: String,
    before: Memory,
    after: Memory,
    /// All connections take turns.
    all: Cost,
    /// A few do all, the others idle.
    few: Cost,
}

/// Measure every count; print one table.
pub(crate) fn run(options: &ConnectionsOptions) -> Result<()> {
    let out = &options.common.out;
    let files = machine::prepare(out)?;
    let root = out.join("connections");
    let targets = [set::make_one(&root, "1k.bin", 1024, options.common.seed)?];
    let mut lines = results(out, "connections.jsonl")?;
    let mut rounds = Vec::new();
    let (mut skipped, mut failed) = (String::new(), String::new());
    for &count in &options.counts {
        if count + OTHER_FILES > files {
            let why = format!("{count} connections: this system lets a process open {files} files");
            eprintln!("skipped: {why}");
            skipped.push_str(&format!("\nNot measured: {why}.\n"));
            continue;
        }
        for turn in 0..options.rounds as usize * options.systems.len() {
            interrupt::check()?;
            let round = turn / options.systems.len();
            let system = options.systems[(turn + round) % options.systems.len()];
            let setup = Setup {
                common: &options.common,
                part: Part::Files,
                root: &root,
                connections: count,
                files,
                group: None,
            };
            let measured = Server::start(system, &setup)
                .and_then(|server| measure(options, &server, &targets, count));
            let row = match measured {
                Ok(row) => row,
                Err(why) => {
                    // The other cells are worth having.
                    eprintln!("failed: {why}");
                    failed.push_str(&format!("\nFAILED: {count} connections, {system}: {why}\n"));
                    continue;
                }
            };
            eprintln!(
                "{count:>6} connections {system:<14} {:7.2} and {:7.2} us, steal {:.1} %, others {:.0} %",
                row.all.microseconds,
                row.few.microseconds,
                row.all.steal.max(row.few.steal) * 100.0,
                row.all.others.max(row.few.others) * 100.0,
            );
            line(&mut lines, &row)?;
            rounds.push(row);
        }
    }
    let table = format!("{}{skipped}{failed}", table(options, &rounds));
    print!("{table}");
    let file = out.join("connections.md");
    fs::write(&file, table).map_err(|e| format!("cannot write {}: {e}", file.display()))?;
    let _ = fs::remove_dir_all(&root);
    if failed.is_empty() { Ok(()) } else { Err("not all was measured: see FAILED above".into()) }
}

fn measure(
    options: &ConnectionsOptions,
    server: &Server,
    targets: &[set::Target],
    count: usize,
) -> Result<Round> {
    let name = server.system.to_string();
    let pids = server.pids();
    let mut client = Client::new(server.address, targets, options.common.seed)?;
    let in_flight = count.min(ACTIVE);
    // What serving needs at all is there before the first reading.
    let warm = Plan { requests: 1000, connections: 1, ..Plan::closed(1, Duration::from_secs(10)) };
    client.run(warm, &mut |_| 0)?.check(&name)?;
    let before = process::memory(&pids)?;
    let open = Plan {
        requests: (count - client.connections().min(count)) as u64,
        reuse: Reuse::Never,
        connections: count,
        ..Plan::closed(in_flight, Duration::from_secs(60))
    };
    if open.requests > 0 {
        client.run(open, &mut |_| 0)?.check(&name)?;
    }
    let after = process::memory(&pids)?;
    let mut with = |reuse| {
        let time = Duration::from_secs(options.seconds);
        let plan = Plan { reuse, connections: count, ..Plan::closed(in_flight, time) };
        spent(server, || {
            let outcome = client.run(plan, &mut |_| 0)?;
            outcome.check(&name)?;
            Ok((outcome.requests, outcome.rate()))
        })
    };
    let (all, few) = (with(Reuse::Oldest)?, with(Reuse::Newest)?);
    if client.connections() != count {
        let left = client.connections();
        return Err(format!("{name}: of {count} connections only {left} stayed open"));
    }
    Ok(Round { connections: count, system: name, before, after, all, few })
}

fn table(options: &ConnectionsOptions, rounds: &[Round]) -> String {
    let few = format!("µs/request, {ACTIVE} in use");
    let mut text = heading(&[
        "connections, system",
        "anonymous bytes each",
        "PSS bytes each",
        "µs/request, all in turn",
        &few,
    ]);
    for count in &options.counts {
        for system in options.systems.iter().map(System::to_string) {
            let mine = |r: &&Round| r.connections == *count && r.system == system;
            let of = |value: &dyn Fn(&Round) -> f64| -> Vec<f64> {
                rounds.iter().filter(mine).map(value).collect()
            };
            let grown = |bytes: fn(&Memory) -> u64| {
                // One of them was open at the first reading.
                let others = (*count as f64 - 1.0).max(1.0);
                median(&of(&|r| (bytes(&r.after) as f64 - bytes(&r.before) as f64) / others))
            };
            if rounds.iter().any(|r| mine(&r)) {
                text.push_str(&row([
                    format!("{count}, {system}"),
                    format!("{:.0}", grown(|m| m.anonymous)),
                    format!("{:.0}", grown(|m| m.proportional)),
                    spread(&of(&|r| r.all.microseconds), 2),
                    spread(&of(&|r| r.few.microseconds), 2),
                ]));
            }
        }
    }
    let marked = rounds.iter().filter(|r| !(r.all.valid() && r.few.valid())).count();
    if marked > 0 {
        text.push_str(&format!(
            "\nINVALID: too much steal or other work in {marked} rows of connections.jsonl.\n"
        ));
    }
    text
}

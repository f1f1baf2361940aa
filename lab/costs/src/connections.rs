//! `weir-costs connections`: what an idle connection costs a server in memory, and what many of them do
//! to the processor time of a request.

use std::collections::VecDeque;
use std::fs;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use weir_load::{Demand, Source};
use weir_peers::processes::{self, Memory};
use weir_peers::{Error, Result};
use weir_stand::root;
use weir_stats::{Outcome as End, Record};
use weir_workload::documents::Documents;
use weir_workload::{Request, Requests};

use crate::client::Client;
use crate::files::one_file;
use crate::measure::{Cost, Reading};
use crate::network::Network;
use crate::options::ConnectionsOptions;
use crate::server::{Role, Server, Setup};
use crate::system::System;
use crate::table::{heading, median, row, spread};
use crate::turns::in_turns;
use crate::variant::Variant;
use crate::{machine, results};

/// Requests at a time, and connections in use when the others idle.
const ACTIVE: usize = 64;
/// Files of both sides beside the connections.
pub(crate) const OTHER_FILES: usize = 300;
/// Bytes of the file that is asked for.
pub(crate) const SIZE: u64 = 1024;
/// Connections from one source address, fewer than it has ephemeral ports.
const PER_SOURCE: usize = 20_000;
/// The load generator tells as many classes apart, and each connection is a class.
const MOST: usize = 1 << 16;

/// One round of one system, a line in connections.jsonl.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Round {
    connections: usize,
    pub(crate) system: String,
    before: Memory,
    after: Memory,
    /// All connections take turns.
    all: Cost,
    /// A few do all, the others idle.
    few: Cost,
}

impl Round {
    /// Whether the machine left the server alone in all its stretches.
    pub(crate) fn valid(&self) -> bool {
        self.all.valid() && self.few.valid()
    }

    /// What a connection takes of a kind of memory, in bytes.
    pub(crate) fn each(&self, kind: fn(&Memory) -> u64) -> f64 {
        (kind(&self.after) as f64 - kind(&self.before) as f64) / self.connections as f64
    }
}

/// Measure every count; print one table.
pub(crate) fn run(options: &ConnectionsOptions) -> Result<()> {
    let out = &options.common.out;
    let files = machine::prepare(out)?;
    let at = out.join("connections");
    let documents = Documents::of_sizes(&[SIZE], 0);
    root::make(&documents, &at)?;
    let bodies: Arc<[u8]> = documents.bodies().into();
    let mut lines = results::create(out, "connections.jsonl")?;
    let mut rounds = Vec::new();
    let (mut skipped, mut failed) = (String::new(), String::new());
    for &count in &options.counts {
        if let Some(why) = not_possible(count, files) {
            eprintln!("skipped: {why}");
            skipped.push_str(&format!("\nNot measured: {why}.\n"));
            continue;
        }
        in_turns(options.rounds, &options.systems, |_, &system| {
            let setup = Setup {
                tls: None,
                common: &options.common,
                role: Role::Files,
                variant: &Variant::default(),
                network: &Network::HOST,
                root: &at,
                connections: count,
                files,
            };
            let measured = Server::start(system, &setup).and_then(|server| {
                let bodies = Arc::clone(&bodies);
                let headers = String::new();
                let client =
                    Client { server: server.address, bodies, headers, close: false, tls: None };
                measure(&server, &client, options.seconds, count)
            });
            let row = match measured {
                Ok(row) => row,
                Err(why) => {
                    // The other cells are worth having.
                    eprintln!("failed: {why}");
                    failed.push_str(&format!("\nFAILED: {count} connections, {system}: {why}\n"));
                    return Ok(());
                }
            };
            eprintln!(
                "{count:>6} connections {system:<14} {:7.2} and {:7.2} us, steal {:.1} %, others {:.0} %",
                row.all.microseconds,
                row.few.microseconds,
                row.all.steal.max(row.few.steal) * 100.0,
                row.all.others.max(row.few.others) * 100.0,
            );
            results::line(&mut lines, &row)?;
            rounds.push(row);
            Ok(())
        })?;
    }
    let table = format!("{}{skipped}{failed}", table(options, &rounds));
    print!("{table}");
    results::markdown(out, "connections.md", &table)?;
    let _ = fs::remove_dir_all(&at);
    match failed.is_empty() {
        true => Ok(()),
        false => Err("not all was measured: see FAILED above".into()),
    }
}

/// Why so many connections cannot be measured here.
fn not_possible(count: usize, files: usize) -> Option<String> {
    if count == 0 || count > MOST {
        return Some(format!("{count} connections: give 1 to {MOST}"));
    }
    let room = files.saturating_sub(OTHER_FILES);
    let why = format!("{count} connections: this system lets a process open {files} files");
    (count > room).then_some(why)
}

/// All stages in one run of the load generator, so that connections stay: it takes requests from
/// [`Stages`], which reads the counters of the server between two stages.
pub(crate) fn measure(
    server: &Server,
    client: &Client,
    seconds: u64,
    count: usize,
) -> Result<Round> {
    let name = server.system.to_string();
    // What serving needs at all is there before the first reading.
    client.closed(Box::new(one_file(SIZE).take(1000)), 1, 10.0)?.check(&name)?;
    let processes = server.processes();
    let before = processes::memory(&processes)?;
    let seconds = seconds as f64;
    let shared = Arc::new(Mutex::new(Shared::default()));
    let stages = Stages {
        requests: one_file(SIZE),
        processes,
        count,
        seconds,
        stage: Stage::Open,
        opened: 0,
        shared: Arc::clone(&shared),
    };
    // One less than there are connections, since the generator asks for a request ahead.
    let under_way = ACTIVE.min(count.saturating_sub(1)).max(1) as u32;
    let mut wrong = 0_u64;
    let report = client.send(
        Demand::Saturate(Box::new(stages), under_way),
        None,
        sources(count),
        &mut |record: Record| {
            let mut shared = lock(&shared);
            shared.ended += 1;
            shared.idle.push_back(record.class);
            wrong += u64::from(record.outcome != End::Ok);
        },
    )?;
    if wrong > 0 {
        return Err(Error(format!("{name}: {wrong} requests had no right response")));
    }
    if report.connections != count as u64 {
        let made = report.connections;
        return Err(Error(format!(
            "{name}: it closed connections: {made} were made where {count} should have stayed open"
        )));
    }
    let mut shared = lock(&shared);
    match (shared.failed.take(), shared.after, shared.all, shared.few) {
        (None, Some(after), Some(all), Some(few)) => {
            Ok(Round { connections: count, system: name, before, after, all, few })
        }
        (Some(why), ..) => Err(Error(format!("{name}: {why}"))),
        _ => Err(Error(format!("{name}: the load ended before all was measured"))),
    }
}

/// Source addresses by class: others where one has too few ports.
fn sources(count: usize) -> Vec<Source> {
    if count <= PER_SOURCE {
        return Vec::new();
    }
    let address = |connection| IpAddr::from([127, 0, 0, 1 + (connection / PER_SOURCE) as u8]);
    (0..count).map(|connection| Source { addresses: vec![address(connection)] }).collect()
}

/// What the stages and the records of their requests share.
#[derive(Default)]
struct Shared {
    /// Connections without a request, the one idle longest first; each is a class.
    idle: VecDeque<u16>,
    /// Requests that have ended.
    ended: u64,
    after: Option<Memory>,
    all: Option<Cost>,
    few: Option<Cost>,
    failed: Option<Error>,
}

fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    // Plain figures are whole whatever another thread's panic left.
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What requests are for.
enum Stage {
    /// A connection for each.
    Open,
    /// All connections in turn, since a reading and a number of requests that had ended then.
    All(Reading, u64),
    /// Those used last, likewise.
    Few(Reading, u64),
}

/// The requests of a round.
struct Stages {
    requests: Requests,
    processes: Vec<u32>,
    count: usize,
    /// Of load for each figure.
    seconds: f64,
    stage: Stage,
    opened: usize,
    shared: Arc<Mutex<Shared>>,
}

impl Iterator for Stages {
    type Item = Request;

    fn next(&mut self) -> Option<Request> {
        let class = match self.class() {
            Ok(class) => class?,
            Err(error) => {
                lock(&self.shared).failed = Some(error);
                return None;
            }
        };
        self.requests.next().map(|request| Request { class, ..request })
    }
}

impl Stages {
    /// The connection of the next request; none at the end.
    fn class(&mut self) -> Result<Option<u16>> {
        let mut shared = lock(&self.shared);
        match &self.stage {
            Stage::Open if self.opened < self.count => {
                self.opened += 1;
                return Ok(Some((self.opened - 1) as u16));
            }
            Stage::Open => {
                shared.after = Some(processes::memory(&self.processes)?);
                self.stage = Stage::All(Reading::of(&self.processes)?, shared.ended);
            }
            Stage::All(reading, ended) if reading.elapsed() >= self.seconds => {
                let now = Reading::of(&self.processes)?;
                shared.all = Some(cost(&now, reading, shared.ended - ended)?);
                self.stage = Stage::Few(now, shared.ended);
            }
            Stage::Few(reading, ended) if reading.elapsed() >= self.seconds => {
                let now = Reading::of(&self.processes)?;
                shared.few = Some(cost(&now, reading, shared.ended - ended)?);
                return Ok(None);
            }
            Stage::All(..) | Stage::Few(..) => {}
        }
        let idle = match self.stage {
            Stage::Few(..) => shared.idle.pop_back(),
            Stage::Open | Stage::All(..) => shared.idle.pop_front(),
        };
        // With a single connection there is none idle ahead of time.
        Ok(Some(idle.unwrap_or(0)))
    }
}

fn cost(now: &Reading, before: &Reading, requests: u64) -> Result<Cost> {
    let per_second = requests as f64 / before.elapsed().max(1e-9);
    now.cost_since(before, requests, per_second)
        .ok_or_else(|| Error("it ended threads in the measurement".into()))
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
            let grown = |kind: fn(&Memory) -> u64| median(&of(&|r| r.each(kind)));
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
    let marked = rounds.iter().filter(|round| !round.valid()).count();
    if marked > 0 {
        text.push_str(&format!(
            "\nINVALID: too much steal or other work in {marked} rows of connections.jsonl.\n"
        ));
    }
    text
}

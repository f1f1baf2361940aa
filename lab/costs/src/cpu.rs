//! `files cpu`: processor time per request with all files in memory. For each
//! size all systems run side by side, idle but for the one whose turn it is.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use rand::rngs::SmallRng;
use serde::Serialize;

use crate::arrivals::Reuse;
use crate::configuration::Reads;
use crate::cpu_table::{self, Round};
use crate::law::Law;
use crate::measure::{self, By, Cost};
use crate::options::{ClientKind, CpuOptions, bytes};
use crate::peer::System;
use crate::set::{self, Target};
use crate::syscalls::Counting;
use crate::system::{Part, Server, Setup};
use crate::{Result, interrupt, machine};

/// Requests cut off when wrk stops are many of the whole from this size on.
const WRK_BELOW: u64 = 1 << 20;

/// What is asked for at one size.
struct Load {
    targets: Vec<Target>,
    law: Option<Law>,
    close: bool,
    wrk: bool,
}

/// Measure every size; print a table after each.
pub(crate) fn run(options: &CpuOptions) -> Result<()> {
    let out = &options.common.out;
    let files = machine::prepare(out)?;
    let root = out.join("memory");
    let loads: Vec<Load> =
        options.sizes.iter().map(|name| load(options, &root, name)).collect::<Result<_>>()?;
    let mut lines = results(out, "cpu.jsonl")?;
    let mut tables = String::new();
    for (name, load) in options.sizes.iter().zip(&loads) {
        let connections = 4 * options.connections + 1000;
        let common = &options.common;
        let setup = |part| Setup { common, part, root: &root, connections, files, group: None };
        let backend = match options.proxied {
            true => Some(Server::start(System::Nginx(Reads::Sendfile), &setup(Part::Backend))?),
            false => None,
        };
        let part = backend.as_ref().map_or(Part::Files, |backend| Part::Proxy(backend.address));
        let start = |&system: &System| Server::start(system, &setup(part));
        let servers: Vec<Server> = options.systems.iter().map(start).collect::<Result<_>>()?;
        let rounds = rounds(options, name, load, &servers, &mut lines)?;
        let calls = calls(options, load, &servers)?;
        let table = cpu_table::markdown(name, load.client(), &options.systems, &rounds, &calls);
        print!("{table}");
        tables.push_str(&table);
    }
    let file = out.join("cpu.md");
    fs::write(&file, tables).map_err(|e| format!("cannot write {}: {e}", file.display()))?;
    let _ = fs::remove_dir_all(&root);
    Ok(())
}

/// Make the files of a size.
fn load(options: &CpuOptions, root: &Path, name: &str) -> Result<Load> {
    let seed = options.common.seed;
    if name == "mix" {
        let law = Law::of_size(options.mix_size);
        set::make(root, &law, seed)?;
        let targets = set::targets(&law, seed);
        return Ok(Load { targets, law: Some(law), close: false, wrk: false });
    }
    let close = name == "close";
    let length = if close { 1024 } else { bytes(name)? };
    if length < 16 {
        return Err(format!("size {name}: files have 16 bytes or more"));
    }
    let target = set::make_one(root, &format!("{length}.bin"), length, seed)?;
    let wrk = match options.client {
        ClientKind::Auto => length < WRK_BELOW,
        other => other == ClientKind::Wrk,
    };
    Ok(Load { targets: vec![target], law: None, close, wrk })
}

impl Load {
    fn client(&self) -> &'static str {
        if self.wrk { "wrk" } else { "own client" }
    }

    fn cost(&self, server: &Server, options: &CpuOptions, seconds: u64, seed: u64) -> Result<Cost> {
        self.with(server, self.wrk, options, seconds, seed)
    }

    fn with(
        &self,
        server: &Server,
        wrk: bool,
        options: &CpuOptions,
        seconds: u64,
        seed: u64,
    ) -> Result<Cost> {
        let next = |random: &mut SmallRng| self.law.as_ref().map_or(0, |law| law.draw(random));
        let reuse = if self.close { Reuse::Close } else { Reuse::Newest };
        let by = match wrk {
            true => By::Wrk { close: self.close },
            false => By::Own { reuse, next: &next },
        };
        measure::cost(server, &self.targets, &by, options.connections, seconds, seed)
    }
}

/// Warm every server, then measure them in turns.
fn rounds(
    options: &CpuOptions,
    name: &str,
    load: &Load,
    servers: &[Server],
    lines: &mut File,
) -> Result<Vec<Round>> {
    for server in servers {
        // By the own client, which looks at lengths and contents; wrk does not.
        load.with(server, false, options, 1, 0)?;
    }
    let mut rounds = Vec::new();
    for round in 0..options.rounds {
        for turn in 0..servers.len() {
            interrupt::check()?;
            // Another one first in each round.
            let server = &servers[(turn + round as usize) % servers.len()];
            let seed = options.common.seed + round;
            let cost = load.cost(server, options, options.seconds, seed)?;
            let system = server.system.to_string();
            let valid = cost.valid();
            eprintln!(
                "{name:>5} round {} {system:<14} {:9.2} us {:9.0} requests/s, steal {:.1} %, others {:.0} %{}",
                round + 1,
                cost.microseconds,
                cost.per_second,
                cost.steal * 100.0,
                cost.others * 100.0,
                if valid { "" } else { " INVALID" },
            );
            let row = Round { size: name.into(), round, system, cost, valid };
            line(lines, &row)?;
            rounds.push(row);
        }
    }
    Ok(rounds)
}

/// System calls per request of each server, if asked for.
fn calls(options: &CpuOptions, load: &Load, servers: &[Server]) -> Result<Vec<Option<f64>>> {
    let count = |server: &Server| {
        if !options.syscalls {
            return Ok(None);
        }
        let report = options.common.out.join("perf.txt");
        let counting = Counting::start(&server.pids(), &report)?;
        let cost = load.cost(server, options, 1, options.common.seed)?;
        Ok(Some(counting.stop(&report)? as f64 / cost.requests.max(1) as f64))
    };
    servers.iter().map(count).collect()
}

/// A new file of results.
pub(crate) fn results(out: &Path, name: &str) -> Result<File> {
    let file = out.join(name);
    File::create(&file).map_err(|e| format!("cannot write {}: {e}", file.display()))
}

/// One line of results.
pub(crate) fn line(file: &mut File, row: &impl Serialize) -> Result<()> {
    let text = serde_json::to_string(row).map_err(|e| format!("a result as JSON: {e}"))?;
    writeln!(file, "{text}").map_err(|e| format!("cannot write a result: {e}"))
}

//! `weir-costs cpu`: processor time per request with all files in memory. For each size all systems run
//! side by side, idle but for the one whose turn it is.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use weir_peers::nginx::Reading;
use weir_peers::{Error, Result};
use weir_stand::root;
use weir_workload::FileSet;

use crate::client::Client;
use crate::cpu_table::{self, Round};
use crate::files::Target;
use crate::measure::{self, Cost};
use crate::network::Network;
use crate::options::{ClientKind, CpuOptions, bytes};
use crate::server::{Role, Server, Setup};
use crate::syscalls::Counting;
use crate::system::System;
use crate::turns::in_turns;
use crate::variant::Variant;
use crate::{machine, results, wrk};

/// Requests cut off when wrk stops are many of the whole from this size on.
const WRK_BELOW: u64 = 1 << 20;

/// What is asked for at one size.
struct Load {
    target: Target,
    /// Where its files are.
    root: PathBuf,
    bodies: Arc<[u8]>,
    /// A connection for each request.
    close: bool,
    wrk: bool,
}

/// Measure every size; print a table after each.
pub(crate) fn run(options: &CpuOptions) -> Result<()> {
    let out = &options.common.out;
    let files = machine::prepare(out)?;
    let memory = out.join("memory");
    // What a run left that was killed.
    let _ = fs::remove_dir_all(&memory);
    let loads: Vec<Load> =
        options.sizes.iter().map(|name| load(options, &memory, name)).collect::<Result<_>>()?;
    let network = &Network::enter(options.link, options.congestion.as_deref())?;
    let mut lines = results::create(out, "cpu.jsonl")?;
    let mut tables = String::new();
    for (name, load) in options.sizes.iter().zip(&loads) {
        let connections = 4 * options.connections + 1000;
        let (common, variant, root) = (&options.common, &Variant::default(), &load.root);
        let setup =
            |role| Setup { common, role, variant, network, root, connections, files, tls: None };
        let backend = match options.proxied {
            true => Some(Server::start(System::Nginx(Reading::Sendfile), &setup(Role::Backend))?),
            false => None,
        };
        let role = backend.as_ref().map_or(Role::Files, |backend| Role::Proxy(backend.address));
        let start = |&system: &System| Server::start(system, &setup(role));
        let servers: Vec<Server> = options.systems.iter().map(start).collect::<Result<_>>()?;
        let rounds = rounds(options, name, load, &servers, &mut lines)?;
        let calls = calls(options, load, &servers)?;
        let table = cpu_table::markdown(name, load.client(), &options.systems, &rounds, &calls);
        print!("{table}");
        tables.push_str(&table);
    }
    results::markdown(out, "cpu.md", &tables)?;
    let _ = fs::remove_dir_all(&memory);
    Ok(())
}

/// Make the files of a size.
fn load(options: &CpuOptions, memory: &Path, name: &str) -> Result<Load> {
    let target = match name {
        "mix" => Target::Set(FileSet::of_bytes(options.mix_size)),
        "close" => Target::One(1024),
        size => Target::One(bytes(size)?),
    };
    if let Target::One(0) = target {
        return Err(Error(format!("size {name}: files have at least 1 byte")));
    }
    let at = memory.join(name);
    let documents = target.documents();
    root::make(&documents, &at)?;
    let wrk = match (&target, options.client) {
        (Target::Set(_), _) => false,
        (Target::One(bytes), ClientKind::Auto) => *bytes < WRK_BELOW,
        (_, other) => other == ClientKind::Wrk,
    };
    let bodies = documents.bodies().into();
    Ok(Load { bodies, target, root: at, close: name == "close", wrk })
}

impl Load {
    fn client(&self) -> &'static str {
        if self.wrk { "wrk" } else { "own client" }
    }

    /// Load a server with so many connections, each with one request at a time. Fails on any response
    /// that is not right.
    fn cost(&self, server: &Server, options: &CpuOptions, seconds: u64, seed: u64) -> Result<Cost> {
        if !self.wrk {
            return self.by_own_client(server, options, seconds, seed);
        }
        let url = format!("http://{}{}", server.address, self.target.path());
        measure::spent(server, || {
            let report = wrk::run(&url, options.connections, seconds, self.close)
                .map_err(|e| Error(format!("{}: {e}", server.system)))?;
            Ok((report.requests, report.requests as f64 / report.seconds))
        })
    }

    fn by_own_client(
        &self,
        server: &Server,
        options: &CpuOptions,
        seconds: u64,
        seed: u64,
    ) -> Result<Cost> {
        let bodies = Arc::clone(&self.bodies);
        let (headers, close) = (String::new(), self.close);
        let client = Client { server: server.address, bodies, headers, close, tls: None };
        measure::spent(server, || {
            let requests = self.target.endless(seed)?;
            let outcome = client.closed(requests, options.connections, seconds as f64)?;
            outcome.check(&server.system.to_string())?;
            Ok((outcome.requests, outcome.rate()))
        })
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
        load.by_own_client(server, options, 1, 0)?;
    }
    let mut rounds = Vec::new();
    in_turns(options.rounds, servers, |round, server| {
        let seed = options.common.seed + round;
        let cost = load.cost(server, options, options.seconds, seed)?;
        let system = server.system.to_string();
        eprintln!("{name:>5} round {} {system:<14} {cost}", round + 1);
        let row = Round { size: name.into(), round, system, cost, valid: cost.valid() };
        results::line(lines, &row)?;
        rounds.push(row);
        Ok(())
    })?;
    Ok(rounds)
}

/// System calls per request of each server, if asked for.
fn calls(options: &CpuOptions, load: &Load, servers: &[Server]) -> Result<Vec<Option<f64>>> {
    let count = |server: &Server| {
        if !options.syscalls {
            return Ok(None);
        }
        let report = options.common.out.join("perf.txt");
        let counting = Counting::start(&server.processes(), &report)?;
        let cost = load.cost(server, options, 1, options.common.seed)?;
        Ok(Some(counting.stop(&report)? as f64 / cost.requests.max(1) as f64))
    };
    servers.iter().map(count).collect()
}

//! `weir-costs disk`: servers whose files are on a slow disk and fit their memory only
//! in part. Sets up disk, groups and servers, and takes the phases in turns.

use std::path::Path;

use weir_peers::nginx::Reading;
use weir_peers::{Error, Result, interrupt};
use weir_stand::{MemoryGroup, Model, SlowDisk, root};
use weir_workload::FileSet;

use crate::disk_phases::{Bench, Kind, Phase, ROOM};
use crate::network::Network;
use crate::options::DiskOptions;
use crate::server::{Role, Server, Setup};
use crate::system::System;
use crate::{disk_table, machine, results};

/// Of nginx's capacity.
const SHARE: f64 = 0.8;
const NGINX: System = System::Nginx(Reading::Sendfile);

/// Measure all systems; print the tables.
pub(crate) fn run(options: &DiskOptions) -> Result<()> {
    let out = &options.common.out;
    // Before the disk is made: its threads stay on this program's core.
    let files = machine::prepare(out)?;
    let pick = |value: Option<u64>, quick, full| match value {
        Some(value) => value,
        None if options.quick => quick,
        None => full,
    };
    let size = pick(options.size, 100 << 20, 3 << 30);
    let memory = pick(options.memory, 64 << 20, 1 << 30);
    let rounds = pick(options.rounds, 1, 3);
    let systems = match (&options.systems[..], options.quick) {
        ([], true) => vec![System::Weir, NGINX],
        ([], false) => vec![System::Weir, NGINX, System::Nginx(Reading::Threads), System::Lighttpd],
        (chosen, _) => chosen.to_vec(),
    };
    let set = FileSet::of_bytes(size);
    let documents = set.documents();
    let model =
        Model { seek: options.seek.0, bytes_per_second: options.rate, channels: options.channels };
    let disk = SlowDisk::mount(&out.join("slow"), documents.bytes(), options.fs, model)?;
    eprintln!("making {} files, {} MB", documents.len(), documents.bytes() / 1_000_000);
    let at = disk.path().join("set");
    root::make(&documents, &at)?;
    let bench = Bench {
        disk: &disk,
        set: &set,
        bodies: documents.bodies().into(),
        seconds: pick(options.seconds, 5, 30),
        warm: pick(options.warm, 6, 60),
        connections: options.connections,
        seed: options.common.seed,
    };
    let stand = Stand { options, bench, root: &at, memory, files };
    let mut lines = results::create(out, "disk.jsonl")?;
    let rate = match options.request_rate {
        Some(rate) => rate,
        // What every server can do, however busy the machine is.
        None if options.quick => 300.0,
        None => {
            SHARE * stand.capacity_of(if systems.contains(&NGINX) { NGINX } else { systems[0] })?
        }
    };
    let mut rows = Vec::new();
    for round in 0..rounds {
        for turn in 0..systems.len() {
            let system = systems[(turn + round as usize) % systems.len()];
            for row in stand.round(system, round, rate)? {
                results::line(&mut lines, &row)?;
                rows.push(row);
            }
        }
    }
    let text = disk_table::markdown(&systems, &rows, set.hot_share(rate));
    print!("{text}");
    results::markdown(out, "disk.md", &text)?;
    let wrong: u64 = rows.iter().map(|row| row.wrong).sum();
    let none = rows.iter().any(|row| row.all.count == 0 || row.per_second == 0.0);
    if wrong > 0 || none {
        let what = "responses were wrong, or none came: see INVALID above";
        return Err(Error(format!("{wrong} {what}")));
    }
    Ok(())
}

/// Everything a server is put on.
struct Stand<'a> {
    options: &'a DiskOptions,
    bench: Bench<'a>,
    root: &'a Path,
    memory: u64,
    files: usize,
}

impl Stand<'_> {
    /// One round of one system.
    fn round(&self, system: System, round: u64, rate: f64) -> Result<Vec<Phase>> {
        let bench = &self.bench;
        let (mut rows, killed) = self.with(system, |server| {
            bench.warm(server)?;
            let capacity = bench.capacity(server, round)?;
            // What the closed loop left in queues is not this phase's.
            interrupt::sleep(std::time::Duration::from_secs(1))?;
            Ok(vec![capacity, bench.rate(server, round, Kind::Rate, rate)?])
        })?;
        let cold = self.options.cold_rate;
        let cold = self.with(system, |server| bench.rate(server, round, Kind::Cold, cold))?;
        let starved = |row: &mut Phase, killed| {
            if killed > 0 {
                row.invalid.push(format!("killed {killed} times for want of memory"));
            }
        };
        rows.iter_mut().for_each(|row| starved(row, killed));
        rows.push(cold.0);
        rows.iter_mut().skip(2).for_each(|row| starved(row, cold.1));
        Ok(rows)
    }

    fn capacity_of(&self, system: System) -> Result<f64> {
        let (row, _) = self.with(system, |server| {
            self.bench.warm(server)?;
            self.bench.capacity(server, 0)
        })?;
        match row.per_second {
            rate if rate > 0.0 => Ok(rate),
            _ => Err(Error(format!("{system} served nothing: {:?}", row.errors))),
        }
    }

    /// Do something with a fresh server in a group of its own, all caches cold.
    fn with<T>(&self, system: System, work: impl FnOnce(&Server) -> Result<T>) -> Result<(T, u64)> {
        self.bench.disk.forget()?;
        let group = MemoryGroup::new(self.memory)?;
        let setup = Setup {
            tls: None,
            common: &self.options.common,
            role: Role::Files,
            network: &Network::HOST,
            root: self.root,
            connections: ROOM.max(self.options.connections),
            files: self.files,
            group: Some(&group),
        };
        // Dropped before the group, which must be empty to be removed.
        let server = Server::start(system, &setup)?;
        let done = work(&server)?;
        Ok((done, group.killed()))
    }
}

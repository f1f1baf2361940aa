//! The phases of one server on the slow disk: warming, capacity, a given rate, cold caches. Each becomes
//! one row; `disk_run` decides which servers come when.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use serde::Serialize;
use weir_peers::{Result, interrupt};
use weir_stand::{SlowDisk, fill_cache};
use weir_workload::FileSet;

use crate::client::Client;
use crate::files;
use crate::machine::MOST_STEAL;
use crate::outcome::{Outcome, Percentiles};
use crate::server::Server;

/// Connections a server has room for; those beyond wait in its listen queue, and their time runs.
pub(crate) const ROOM: usize = 4000;
/// A client late by so many ms (p99) does not measure the server.
const MOST_LAG: f64 = 1.0;

/// What all phases share.
pub(crate) struct Bench<'a> {
    pub(crate) disk: &'a SlowDisk,
    pub(crate) set: &'a FileSet,
    /// What bodies are the beginning of.
    pub(crate) bodies: Arc<[u8]>,
    pub(crate) seconds: u64,
    pub(crate) warm: u64,
    pub(crate) connections: usize,
    pub(crate) seed: u64,
}

/// One phase of one server, a line in disk.jsonl.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Phase {
    pub(crate) round: u64,
    pub(crate) system: String,
    pub(crate) phase: Kind,
    /// Requests per second asked for; none in a closed loop.
    pub(crate) offered: Option<f64>,
    pub(crate) per_second: f64,
    pub(crate) megabits: f64,
    /// Response times in ms, from the intended start.
    pub(crate) all: Percentiles,
    pub(crate) hot: Percentiles,
    pub(crate) lag: Percentiles,
    pub(crate) disk_reads_per_1000: f64,
    pub(crate) disk_bytes_per_request: f64,
    pub(crate) disk_busy: f64,
    pub(crate) errors: BTreeMap<&'static str, u64>,
    pub(crate) wrong: u64,
    pub(crate) steal: f64,
    /// Why it does not count.
    pub(crate) invalid: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    Capacity,
    Rate,
    Cold,
}

impl Bench<'_> {
    /// Fill the cache as the law would.
    pub(crate) fn warm(&self, server: &Server) -> Result<()> {
        let client = self.client(server);
        let mut seed = self.seed;
        fill_cache(self.disk, self.warm, |seconds| {
            seed = seed.wrapping_add(1 << 32);
            let requests = self.set.endless(seed).map_err(files::invalid)?;
            Ok(client.closed(requests, self.connections, seconds as f64)?.requests)
        })
    }

    /// As many requests as the server manages.
    pub(crate) fn capacity(&self, server: &Server, round: u64) -> Result<Phase> {
        self.phase(server, round, Kind::Capacity, None)
    }

    /// So many requests per second, whatever becomes of them.
    pub(crate) fn rate(&self, server: &Server, round: u64, kind: Kind, rate: f64) -> Result<Phase> {
        self.phase(server, round, kind, Some(rate))
    }

    fn client(&self, server: &Server) -> Client {
        let bodies = Arc::clone(&self.bodies);
        Client { server: server.address, bodies, close: false, tls: None }
    }

    fn phase(
        &self,
        server: &Server,
        round: u64,
        phase: Kind,
        offered: Option<f64>,
    ) -> Result<Phase> {
        interrupt::check()?;
        // The same requests for all systems of a round.
        let seed = self.seed + 1000 * round;
        let (client, seconds) = (self.client(server), self.seconds as f64);
        self.disk.slow(true);
        self.disk.work();
        let start = Instant::now();
        let outcome = match offered {
            Some(rate) => {
                let requests = self.set.arrivals(rate, seconds, seed).map_err(files::invalid)?;
                client.open(requests, seconds)?
            }
            None => {
                let requests = self.set.endless(seed).map_err(files::invalid)?;
                client.closed(requests, self.connections, seconds)?
            }
        };
        let work = self.disk.work();
        let mut row = Phase {
            round,
            system: server.system.to_string(),
            phase,
            offered,
            per_second: outcome.rate(),
            megabits: outcome.bytes_in_time as f64 * 8e-6 / outcome.seconds.max(1e-9),
            all: outcome.all,
            hot: outcome.hot,
            lag: outcome.lag,
            disk_reads_per_1000: work.reads as f64 * 1e3 / outcome.requests.max(1) as f64,
            disk_bytes_per_request: work.read_bytes as f64 / outcome.requests.max(1) as f64,
            disk_busy: work.busy_seconds / start.elapsed().as_secs_f64(),
            wrong: outcome.wrong,
            errors: outcome.errors.clone(),
            steal: outcome.steal,
            invalid: Vec::new(),
        };
        row.invalid = invalid(&row, &outcome);
        eprintln!("{}", row.text());
        Ok(row)
    }
}

fn invalid(row: &Phase, outcome: &Outcome) -> Vec<String> {
    let mut reasons = Vec::new();
    if row.steal > MOST_STEAL {
        reasons.push(format!("{:.1} % steal", row.steal * 100.0));
    }
    if row.lag.p99 > MOST_LAG {
        reasons.push(format!("the client was {:.1} ms late (p99)", row.lag.p99));
    }
    if outcome.requests == 0 {
        reasons.push("no right response".into());
    }
    if row.wrong > 0 {
        reasons.push(format!("{} wrong responses", row.wrong));
    }
    reasons
}

impl Phase {
    fn text(&self) -> String {
        let Percentiles { p50, p90, p99, max, .. } = self.all;
        format!(
            "round {} {:<14} {:?}: {:.0} requests/s, {:.0} Mbit/s, p50 {p50:.1} p90 {p90:.1} \
             p99 {p99:.1} max {max:.0} ms, {:.0} reads per 1000, disk busy {:.0} %, steal {:.1} %, \
             errors {:?}{}",
            self.round,
            self.system,
            self.phase,
            self.per_second,
            self.megabits,
            self.disk_reads_per_1000,
            self.disk_busy * 100.0,
            self.steal * 100.0,
            self.errors,
            if self.invalid.is_empty() { "" } else { " INVALID" },
        )
    }
}

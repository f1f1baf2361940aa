//! The phases of one server on the slow disk: warming, capacity, a given rate,
//! cold caches. Each becomes one row; which servers come when is not known here.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::arrivals::{Load, Plan};
use crate::client::Client;
use crate::disk::SlowDisk;
use crate::interrupt;
use crate::law::{self, Law};
use crate::machine::Ticks;
use crate::outcome::{Outcome, Percentiles};
use crate::set::Target;
use crate::system::Server;
use crate::{Result, machine};

/// Requests beyond so many connections wait in the client; their time runs.
pub(crate) const MOST_CONNECTIONS: usize = 4000;
/// A client late by so many ms (p99) does not measure the server.
const MOST_LAG: f64 = 1.0;

/// What all phases share.
pub(crate) struct Bench<'a> {
    pub(crate) disk: &'a SlowDisk,
    pub(crate) law: &'a Law,
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
    /// What can be asked for; at this rate a small file asked for once a second
    /// or more is *hot*: a page cache that is any good always has it.
    pub(crate) fn targets(&self, rate: f64) -> Vec<Target> {
        let mut targets = crate::set::targets(self.law, self.seed);
        for (file, target) in targets.iter_mut().enumerate() {
            target.hot = law::class(file) <= 1 && self.law.probability(file) * rate >= 1.0;
        }
        targets
    }

    /// Fill the cache as the law would: first with a fast disk, until the reads
    /// per request change no more, then shortly with the slow one.
    pub(crate) fn warm(&self, server: &Server) -> Result<()> {
        let targets = self.targets(1.0);
        let mut client = Client::new(server.address, &targets, self.seed)?;
        let window = (self.warm / 15).clamp(1, 4);
        let mut draw = |time: u64| {
            let plan = Plan::closed(self.connections, Duration::from_secs(time));
            let outcome = client.run(plan, &mut |random| self.law.draw(random))?;
            let work = self.disk.work();
            Ok::<_, String>(work.reads as f64 / outcome.requests.max(1) as f64)
        };
        self.disk.slow(false);
        self.disk.work();
        let (mut last, mut steady) = (f64::INFINITY, 0);
        for _ in 0..self.warm / window {
            let now = draw(window)?;
            // Within 3 %, or hardly any: the whole set is cached.
            let same = (now / last - 1.0).abs() < 0.03 || now < 1e-3;
            (last, steady) = (now, if same { steady + 1 } else { 0 });
            if steady == 2 {
                break;
            }
        }
        self.disk.slow(true);
        draw(window).map(drop)
    }

    /// As many requests as the server manages.
    pub(crate) fn capacity(&self, server: &Server, round: u64) -> Result<Phase> {
        let plan = Plan::closed(self.connections, Duration::from_secs(self.seconds));
        self.phase(server, round, Kind::Capacity, plan)
    }

    /// So many requests per second, whatever becomes of them.
    pub(crate) fn rate(&self, server: &Server, round: u64, kind: Kind, rate: f64) -> Result<Phase> {
        let plan = Plan::open(rate, Duration::from_secs(self.seconds), MOST_CONNECTIONS);
        self.phase(server, round, kind, plan)
    }

    fn phase(&self, server: &Server, round: u64, phase: Kind, plan: Plan) -> Result<Phase> {
        interrupt::check()?;
        let offered = match plan.load {
            Load::Open(rate) => Some(rate),
            Load::Closed { .. } => None,
        };
        let targets = self.targets(offered.unwrap_or(0.0));
        // The same requests for all systems of a round.
        let seed = self.seed + 1000 * round;
        let mut client = Client::new(server.address, &targets, seed)?;
        self.disk.slow(true);
        self.disk.work();
        let (ticks, start) = (Ticks::now()?, Instant::now());
        let outcome = client.run(plan, &mut |random| self.law.draw(random))?;
        let steal = Ticks::now()?.steal_since(ticks);
        let work = self.disk.work();
        let mut row = Phase {
            round,
            system: server.system.to_string(),
            phase,
            offered,
            per_second: outcome.rate(),
            megabits: outcome.bytes_in_time as f64 * 8e-6 / outcome.seconds.max(1e-9),
            all: outcome.all.percentiles(),
            hot: outcome.hot.percentiles(),
            lag: outcome.lag.percentiles(),
            disk_reads_per_1000: work.reads as f64 * 1e3 / outcome.requests.max(1) as f64,
            disk_bytes_per_request: work.read_bytes as f64 / outcome.requests.max(1) as f64,
            disk_busy: work.busy_seconds / start.elapsed().as_secs_f64(),
            wrong: outcome.wrong(),
            errors: outcome.errors.clone(),
            steal,
            invalid: Vec::new(),
        };
        row.invalid = invalid(&row, &outcome);
        eprintln!("{}", row.text());
        Ok(row)
    }
}

fn invalid(row: &Phase, outcome: &Outcome) -> Vec<String> {
    let mut reasons = Vec::new();
    if row.steal > machine::MOST_STEAL {
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

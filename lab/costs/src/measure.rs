//! A stretch of load on a server, with the processor time it cost: the unit all tables of processor
//! time are made of.

use std::fmt;
use std::time::Instant;

use serde::Serialize;
use weir_peers::processes::{Spent, Used};
use weir_peers::{Error, Result};

use crate::machine::{MOST_OTHERS, MOST_STEAL, Ticks};
use crate::server::Server;

/// What a stretch cost.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Cost {
    pub(crate) requests: u64,
    pub(crate) per_second: f64,
    /// Of the server's processor time, for each request.
    pub(crate) microseconds: f64,
    pub(crate) system_share: f64,
    pub(crate) steal: f64,
    /// Share of the time that others worked on the server's core.
    pub(crate) others: f64,
}

impl fmt::Display for Cost {
    /// For the progress of a run.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:9.2} us {:9.0} requests/s, steal {:.1} %, others {:.0} %{}",
            self.microseconds,
            self.per_second,
            self.steal * 100.0,
            self.others * 100.0,
            if self.valid() { "" } else { " INVALID" },
        )
    }
}

impl Cost {
    /// Whether the machine left the server alone.
    pub(crate) fn valid(&self) -> bool {
        self.steal <= MOST_STEAL && self.others <= MOST_OTHERS
    }
}

/// The counters of a server and of the machine at one moment.
pub(crate) struct Reading {
    ticks: Ticks,
    at: Instant,
    used: Used,
}

impl Reading {
    /// The beginning or the end of a stretch.
    pub(crate) fn of(processes: &[u32]) -> Result<Reading> {
        Ok(Reading { ticks: Ticks::now()?, at: Instant::now(), used: Used::by(processes)? })
    }

    /// Seconds since it was taken.
    pub(crate) fn elapsed(&self) -> f64 {
        self.at.elapsed().as_secs_f64()
    }

    /// What so many requests at this rate cost since `before`; nothing if a thread of the server ended
    /// meanwhile and took its count with it.
    pub(crate) fn cost_since(
        &self,
        before: &Reading,
        requests: u64,
        per_second: f64,
    ) -> Option<Cost> {
        let Spent { nanoseconds, system_share } = self.used.since(&before.used)?;
        let others = self.ticks.core_seconds_since(before.ticks) - nanoseconds as f64 / 1e9;
        let others = others / (self.at - before.at).as_secs_f64();
        Some(Cost {
            requests,
            per_second,
            microseconds: nanoseconds as f64 / 1e3 / requests.max(1) as f64,
            system_share,
            steal: self.ticks.steal_since(before.ticks),
            others: others.max(0.0),
        })
    }
}

/// The cost of what `load` does: it returns how many requests, and their rate. Servers end threads that
/// idled for long: the measurement is made again then.
pub(crate) fn spent(server: &Server, mut load: impl FnMut() -> Result<(u64, f64)>) -> Result<Cost> {
    for _ in 0..3 {
        let processes = server.processes();
        let before = Reading::of(&processes)?;
        let (requests, per_second) = load()?;
        if let Some(cost) = Reading::of(&processes)?.cost_since(&before, requests, per_second) {
            return Ok(cost);
        }
    }
    Err(Error(format!("{}: it ended threads in three measurements of three", server.system)))
}

//! One stretch of load on a server, with the processor time it cost: the unit
//! all tables of processor time are made of. Knows both clients.

use std::time::{Duration, Instant};

use rand::rngs::SmallRng;
use serde::Serialize;

use crate::arrivals::{Plan, Reuse};
use crate::client::Client;
use crate::machine::{MOST_OTHERS, MOST_STEAL, Ticks};
use crate::process::{self, Spent};
use crate::set::Target;
use crate::system::Server;
use crate::{Result, wrk};

/// How the load is made.
pub(crate) enum By<'a> {
    /// wrk asks for one path.
    Wrk { close: bool },
    /// The own client asks for what `next` says.
    Own { reuse: Reuse, next: &'a dyn Fn(&mut SmallRng) -> usize },
}

/// What it cost.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Cost {
    pub(crate) requests: u64,
    pub(crate) per_second: f64,
    pub(crate) microseconds: f64,
    pub(crate) system_share: f64,
    pub(crate) steal: f64,
    /// Share of the time that others worked on the server's core.
    pub(crate) others: f64,
}

impl Cost {
    /// Whether the machine left the server alone.
    pub(crate) fn valid(&self) -> bool {
        self.steal <= MOST_STEAL && self.others <= MOST_OTHERS
    }
}

/// Load a server with `connections`, each with one request at a time. Fails on
/// any response that is not right.
pub(crate) fn cost(
    server: &Server,
    targets: &[Target],
    by: &By<'_>,
    connections: usize,
    seconds: u64,
    seed: u64,
) -> Result<Cost> {
    let Server { address, system, .. } = server;
    match by {
        By::Wrk { close } => {
            let url = format!("http://{address}{}", targets[0].path);
            spent(server, || {
                let report = wrk::run(&url, connections, seconds, *close)
                    .map_err(|e| format!("{system}: {e}"))?;
                Ok((report.requests, report.requests as f64 / report.seconds))
            })
        }
        By::Own { reuse, next } => {
            let mut client = Client::new(*address, targets, seed)?;
            let time = Duration::from_secs(seconds);
            let plan = Plan { reuse: *reuse, ..Plan::closed(connections, time) };
            spent(server, || {
                let outcome = client.run(plan, &mut |random| next(random))?;
                outcome.check(&system.to_string())?;
                Ok((outcome.requests, outcome.rate()))
            })
        }
    }
}

/// The cost of what `load` does: it returns how many requests, and their rate.
/// Servers end threads that idled for long: the measurement is made again then.
pub(crate) fn spent(server: &Server, mut load: impl FnMut() -> Result<(u64, f64)>) -> Result<Cost> {
    for _ in 0..3 {
        let pids = server.pids();
        let (ticks, start) = (Ticks::now()?, Instant::now());
        let before = process::used(&pids)?;
        let (requests, per_second) = load()?;
        let Some(Spent { nanoseconds, system_share }) = process::used(&pids)?.since(&before) else {
            continue;
        };
        let now = Ticks::now()?;
        let others = now.core_seconds_since(ticks) - nanoseconds as f64 / 1e9;
        let others = others / start.elapsed().as_secs_f64();
        return Ok(Cost {
            requests,
            per_second,
            microseconds: nanoseconds as f64 / 1e3 / requests.max(1) as f64,
            system_share,
            steal: now.steal_since(ticks),
            others: others.max(0.0),
        });
    }
    Err(format!("{}: it ended threads in three measurements of three", server.system))
}

//! The requests of one of Rawat's runs (section 4): monitored ones of the World Cup's sizes from one
//! site, and those of SURGE's users beside the server. The simulated runs play them.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;
use std::time::Duration;

use weir_sched::BitRate;
use weir_sim::uplink::{Client, Request};
use weir_workload::Invalid;
use weir_workload::arrivals::Offered;
use weir_workload::law::WorldCup;
use weir_workload::shape::Shape;
use weir_workload::surge;
use weir_workload::wire::Wire;

/// The link at the server: the 10 Mbit/s Ethernet of section 4.1.
pub(super) const RATE: BitRate = match BitRate::new(10_000_000) {
    Some(rate) => rate,
    None => unreachable!(),
};

/// Loads of the figures.
pub(super) const LOADS: [f64; 4] = [0.5, 0.7, 0.8, 0.9];

/// Mean round trips of the figures' curves, in milliseconds.
pub(super) const ROUND_TRIPS_MS: [u32; 4] = [50, 100, 150, 250];

/// Where the monitored requests come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Site {
    /// Figures 3 to 6.
    Austin,
    /// Figures 7 to 10.
    Seattle,
}

impl Site {
    pub(super) const ALL: [Site; 2] = [Site::Austin, Site::Seattle];

    pub(super) fn name(self) -> &'static str {
        match self {
            Site::Austin => "Austin",
            Site::Seattle => "Seattle",
        }
    }

    /// Round trip to the server without added delay, in milliseconds (section 4.1).
    fn base_ms(self) -> f64 {
        match self {
            Site::Austin => 30.0,
            Site::Seattle => 50.0,
        }
    }
}

/// How the delay lies that the clients add to their site's round trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Added {
    /// Evenly between nothing and twice the mean. The paper gives averages alone.
    Even,
    /// The same for each request.
    Constant,
}

/// What is played in one run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Scene {
    pub(super) site: Site,
    /// Wire bytes asked for per second ÷ rate of the link, of both kinds of requests.
    pub(super) load: f64,
    /// Mean round trip of the monitored requests, in milliseconds.
    pub(super) round_trip_ms: u32,
    /// Share of the load that is monitored.
    pub(super) monitored: f64,
    /// Round trip of the others, in milliseconds.
    pub(super) background_ms: f64,
    pub(super) added: Added,
}

impl Scene {
    /// As the experiment reads the paper where that says nothing.
    pub(super) const fn new(site: Site, load: f64, round_trip_ms: u32) -> Scene {
        let (monitored, background_ms, added) = (0.5, 0.2, Added::Even);
        Scene { site, load, round_trip_ms, monitored, background_ms, added }
    }

    /// Its requests over so many seconds. Scenes that differ in round trips alone have the same ones.
    ///
    /// # Errors
    ///
    /// A load that is none.
    pub(super) fn requests(&self, seed: u64, seconds: f64) -> Result<Vec<Asked>, Invalid> {
        let seed = match self.site {
            Site::Austin => seed,
            Site::Seattle => seed + 1000,
        };
        let (monitored, background) =
            (self.load * self.monitored, self.load * (1.0 - self.monitored));
        let mut asked = Vec::new();
        for (index, (at, size)) in world_cup(monitored, seed, seconds)?.into_iter().enumerate() {
            asked.push(Asked::new(at, size, self.monitored_ms(index), true));
        }
        for (at, size) in surge_users(background, seed, seconds)? {
            asked.push(Asked::new(at, size, self.background_ms, false));
        }
        asked.sort_by(|a, b| a.request.at.total_cmp(&b.request.at));
        Ok(asked)
    }

    /// The round trip of a monitored request.
    fn monitored_ms(&self, index: usize) -> f64 {
        let (base, mean) = (self.site.base_ms(), f64::from(self.round_trip_ms));
        match self.added {
            Added::Constant => mean,
            Added::Even => {
                // Multiples of the golden ratio lie evenly, and in no order.
                let drawn = (index as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
                base + 2.0 * (mean - base) * drawn as f64 / (1_u64 << 32) as f64
            }
        }
    }
}

/// A request of a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked {
    pub(super) request: Request,
    /// Bytes of the body.
    pub(super) body: u64,
    pub(super) monitored: bool,
}

impl Asked {
    fn new(at: f64, body: u64, round_trip_ms: f64, monitored: bool) -> Asked {
        let round_trip = Duration::from_secs_f64(round_trip_ms / 1e3);
        let client = Client { round_trip, ..Client::default() };
        let request = Request { at, size: Wire::default().head + body, client };
        Asked { request, body, monitored }
    }

    /// From the beginning of the connection to the last byte at the client, in seconds. The request
    /// is at the server a round trip and a half after the beginning.
    pub(super) fn response_time(&self, received: f64) -> f64 {
        received - self.request.at + 1.5 * self.request.client.round_trip.as_secs_f64()
    }
}

/// Times and sizes of a load of the World Cup's requests.
fn world_cup(load: f64, seed: u64, seconds: f64) -> Result<Vec<(f64, u64)>, Invalid> {
    // As many as are needed: what a seed asks for differs.
    let shape = Shape::parse("constant:load=1")?;
    let offered = Offered { seed, ..Offered::new(Arc::new(WorldCup), shape, 1e6, speed()) };
    let requests = offered.arrivals()?.map(|request| (request.at, request.size.unwrap_or(0)));
    Ok(with_load(requests, load, seconds))
}

/// SURGE's users who fill the link if they are answered at once: each asks for 3.2 to 4.3 KB a second.
const FULL: f64 = 340.0;

/// Times and sizes of a load of requests by SURGE's users who are answered at once: their number is
/// in proportion to the load.
fn surge_users(load: f64, seed: u64, seconds: f64) -> Result<Vec<(f64, u64)>, Invalid> {
    let count = (FULL * load).ceil().max(1.0) as u32;
    let mut users = surge::Model::new(count, seed).users()?;
    // Nanoseconds at which each asks next.
    let mut next = BinaryHeap::new();
    for user in 0..count {
        let (wait, request) = users.next(user);
        next.push(Reverse(((wait * 1e9) as u64, user, request.size.unwrap_or(0))));
    }
    let requests = std::iter::from_fn(|| {
        let Reverse((at, user, size)) = next.pop()?;
        let (wait, request) = users.next(user);
        next.push(Reverse((at + (wait * 1e9) as u64, user, request.size.unwrap_or(0))));
        Some((at as f64 / 1e9, size))
    });
    Ok(with_load(requests, load, seconds))
}

/// The first requests that ask for as much as the load has in so many seconds, spread over them:
/// sizes are so heavy-tailed that no two runs would have the same load otherwise.
fn with_load(
    requests: impl Iterator<Item = (f64, u64)>,
    load: f64,
    seconds: f64,
) -> Vec<(f64, u64)> {
    let wanted = load * speed() * seconds;
    let mut asked = 0.0;
    let enough = |(_, size): &(f64, u64)| {
        let more = asked < wanted;
        asked += Wire::default().bytes(*size) as f64;
        more
    };
    let mut taken: Vec<(f64, u64)> = requests.take_while(enough).collect();
    let end = taken.last().map_or(1.0, |(at, _)| at.max(1e-9));
    for (at, _) in &mut taken {
        *at *= seconds / end;
    }
    taken
}

/// Bytes a second of the link.
fn speed() -> f64 {
    RATE.bits() as f64 / 8.0
}

#[cfg(test)]
mod tests;

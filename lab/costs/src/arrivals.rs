//! When requests start. Closed loop: one more whenever one ends. Open loop:
//! Poisson arrivals, whatever became of the others. Knows no sockets.

use std::time::{Duration, Instant};

use rand::{Rng, RngExt};

/// What kind of load, for how long.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) load: Load,
    /// New requests start until then, or until there were `requests` of them.
    pub(crate) time: Duration,
    pub(crate) requests: u64,
    /// How long to wait for the last responses.
    pub(crate) drain: Duration,
    pub(crate) reuse: Reuse,
    /// At most so many connections; requests wait for one in their order.
    pub(crate) connections: usize,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Load {
    Closed {
        in_flight: usize,
    },
    /// Requests per second.
    Open(f64),
}

/// The connection a request goes over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reuse {
    /// The one that became idle last: few connections do all.
    Newest,
    /// The one idle longest: all take turns.
    Oldest,
    /// A new one, which stays open.
    Never,
    /// A new one, which the request asks to close.
    Close,
}

impl Plan {
    /// A closed loop over as many connections as requests at a time.
    pub(crate) fn closed(in_flight: usize, time: Duration) -> Plan {
        Plan {
            load: Load::Closed { in_flight },
            time,
            requests: u64::MAX,
            drain: Duration::from_secs(20),
            reuse: Reuse::Newest,
            connections: in_flight,
        }
    }

    /// An open loop of so many requests per second.
    pub(crate) fn open(rate: f64, time: Duration, connections: usize) -> Plan {
        Plan { load: Load::Open(rate), connections, ..Plan::closed(0, time) }
    }
}

/// The intended start of the request after the one at `last`.
pub(crate) fn after(last: Instant, rate: f64, random: &mut impl Rng) -> Instant {
    let u: f64 = random.random();
    // 1 - u is never 0, so the logarithm is finite.
    last + Duration::from_secs_f64(-(1.0 - u).ln() / rate)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    #[test]
    fn arrivals_come_at_the_rate_asked_for() {
        let mut random = rand::rngs::SmallRng::seed_from_u64(5);
        let start = Instant::now();
        let last = (0..100_000).fold(start, |at, _| after(at, 500.0, &mut random));
        let seconds = (last - start).as_secs_f64();
        assert!((seconds - 200.0).abs() < 4.0, "{seconds}");
    }
}

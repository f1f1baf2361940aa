//! What latencies and the order of the answers say of how many calls the backend serves at once,
//! and how sure that is. Used by the decisions on the limit and by its probes.

use super::moments::Latencies;
use super::{Limit, MOST, SLOW, TOO_FEW};

/// Square of the coefficient of variation of service times below which they are all alike.
pub(super) const ALIKE: f64 = 0.05;
/// The same of latencies of which a few say all.
pub(super) const EXACT: f64 = 0.001;
/// Seconds that a call may take however much of them it waits inside the backend.
const HARMLESS: f64 = 0.002;

/// How many of the calls under way the backend serves at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Served {
    All,
    NotAll,
    Unknown,
}

/// How many times longer the backend takes at the limit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stretch {
    pub(super) ratio: f64,
    /// The standard error of 1 - 1 / `ratio`.
    pub(super) error: f64,
}

/// Limits at which it harms nobody how many wait inside.
#[derive(Clone, Copy, Debug)]
pub(super) struct Harmless {
    /// Up to here surely.
    pub(super) least: u32,
    /// Up to here perhaps.
    pub(super) most: u32,
}

impl Limit {
    /// All calls are long and take the same time: a few of them say what many would.
    pub(super) fn are_alike(&self) -> bool {
        let latency = &self.at_limit.plain;
        latency.mean() > SLOW && latency.variation_squared() < EXACT
    }

    /// The limits at which calls take what harms nobody (Little's law): surely, and perhaps, for all
    /// that is known.
    pub(super) fn harmless(&self, base: &Latencies) -> Harmless {
        let many = &self.at_limit.plain;
        let variation = match base.weight() < TOO_FEW {
            // If one is served at a time the service of each is in the latencies of all.
            true => many.variation_squared() * f64::from(self.limit),
            false => self.variation(base, (many.mean() / base.plain.mean()).max(1.0)),
        };
        let error = 1.0 + 2.0 * (variation / many.weight()).sqrt();
        let limit = f64::from(self.limit) * HARMLESS / many.mean();
        Harmless { least: ((limit / error) as u32).min(MOST), most: (limit * error) as u32 }
    }

    /// Square of the coefficient of variation of service times, as seen where that is greatest: a
    /// few latencies without the rare long ones would look more certain than they are. Each wait is
    /// the service of others, so at the limit one service time is in about `ratio` latencies.
    pub(super) fn variation(&self, base: &Latencies, ratio: f64) -> f64 {
        let (few, many) = (&base.plain, &self.at_limit.plain);
        few.variation_squared().max(many.variation_squared() * ratio)
    }

    /// How many times longer than with few under way the backend takes at the limit, with the
    /// standard error of the share that is.
    pub(super) fn stretch(&self, base: &Latencies, served: Served) -> Stretch {
        let weights = 1.0 / base.weight() + 1.0 / self.at_limit.weight();
        if served == Served::All {
            // None waits for its turn: if they take longer it is because they share, all alike.
            let (few, many) = (&base.logs, &self.at_limit.logs);
            let ratio = (many.mean() - few.mean()).exp().max(1.0);
            let variance = few.variance().max(many.variance());
            return Stretch { ratio, error: (variance * weights).sqrt() / ratio };
        }
        let (few, many) = (&base.plain, &self.at_limit.plain);
        let ratio = (many.mean() / few.mean()).max(1.0);
        let variation = self.variation(base, ratio);
        Stretch { ratio, error: (variation * weights).sqrt() / ratio }
    }

    /// What the order of the answers says. A backend that takes calls in the order of their starts
    /// cannot answer the last of all before another while that one only waits there. When it serves
    /// all at once it does so about once in as many answers as are under way, and more often when
    /// service times differ more. (Where all take equally long neither is seen, but then means are
    /// exact. One that shares its time among all calls looks as if it served them all: there the
    /// means decide.)
    pub(super) fn served(&self) -> Served {
        let turns = self.answers / self.limit;
        if self.last_first >= 2.max(turns / 4) {
            Served::All
        } else if self.last_first == 0
            && self.answers >= 100.max(6 * self.limit)
            && self.at_limit.plain.variation_squared() > 0.25
        {
            Served::NotAll
        } else {
            Served::Unknown
        }
    }
}

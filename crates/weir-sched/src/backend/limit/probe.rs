//! Probes: now and then the limit is halved for some answers, to learn anew how long the backend
//! takes when it has little to do. Used by the learned limit.

use super::evidence::Served;
use super::moments::Latencies;
use super::{BASE_MEMORY, BETWEEN_PROBES, Limit, MOST_BETWEEN_PROBES, TOO_FEW};

/// Answers of a probe at least.
const PROBE: u32 = 32;
/// Square of the relative standard error below which a mean is known well.
const SURE: f64 = 0.02;
/// A share of latency by which a probe may be off and confirm what is known.
const SMALL: f64 = 0.05;
/// Latencies with few calls under way that are enough; with more, higher levels are left out.
const ENOUGH: f64 = 512.0;

/// A window with the limit lowered, to learn anew what the backend takes when it has little to do.
#[derive(Clone, Copy, Debug)]
pub(super) struct Probe {
    pub(super) limit: u32,
    pub(super) answers: u32,
    pub(super) latency: Latencies,
}

impl Probe {
    /// There are answers enough; fewer will do where all take equally long.
    pub(super) fn is_done(&self) -> bool {
        let enough = PROBE.max(2 * self.limit);
        let exact = self.latency.plain.variation_squared() < 0.01 && self.answers >= enough / 4;
        self.answers >= enough || exact
    }
}

impl Limit {
    /// Latency with at most half of the limit under way, from the lowest levels that say enough.
    pub(super) fn base(&self) -> Latencies {
        let mut base = Latencies::default();
        for moments in &self.by_level[..=level(probe_limit(self.limit))] {
            base.merge(moments);
            if base.weight() >= ENOUGH {
                break;
            }
        }
        base
    }

    pub(super) fn begin_probe(&mut self) {
        self.since_probe = 0;
        let limit = probe_limit(self.limit);
        self.probe = Some(Probe { limit, answers: 0, latency: Latencies::default() });
    }

    /// Takes what the probe found into account; where it contradicts what was known it replaces
    /// that.
    pub(super) fn end_probe(&mut self) {
        let Some(probe) = self.probe.take() else { return };
        self.reserve.probed();
        let known = self.base();
        let level = level(probe.limit);
        let (found, expected) = (&probe.latency.plain, &known.plain);
        let apart = found.mean() - expected.mean();
        let error = (found.error_squared() + expected.error_squared()).sqrt();
        if known.weight() >= TOO_FEW && apart.abs() > (3.0 * error).max(SMALL * expected.mean()) {
            self.by_level = Default::default();
            self.at_limit = Latencies::default();
            self.window = 0;
            self.by_level[level] = probe.latency;
            self.between_probes = BETWEEN_PROBES;
        } else {
            // What is known from fewer calls under way is older, and gives way.
            for older in &mut self.by_level[..level] {
                older.fade(older.weight() / 2.0);
            }
            self.by_level[level].fade(BASE_MEMORY - probe.latency.weight());
            self.by_level[level].merge(&probe.latency);
            let variation =
                known.plain.variation_squared().max(self.at_limit.plain.variation_squared());
            if variation < SURE * known.weight() || self.served() == Served::NotAll {
                self.between_probes = (2 * self.between_probes).min(MOST_BETWEEN_PROBES);
            }
        }
    }
}

/// The limit while probing: half, at least 1.
pub(super) fn probe_limit(limit: u32) -> u32 {
    (limit / 2).max(1)
}

/// Levels are 1, 2 to 3, 4 to 7 and so on.
pub(super) fn level(under_way: u32) -> usize {
    (under_way.max(1).ilog2() as usize).min(10)
}

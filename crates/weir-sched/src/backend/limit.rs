//! How many calls of a backend may be under way: fixed, or learned from its answers.
//!
//! A learned limit has two parts: the calls that the backend serves at once, and those that have to
//! wait inside so that it is never without work while the next call comes (see [`Reserve`]). More
//! would only wait there, where departures are not seen and the order can't be chosen.
//!
//! How many are served is learned from the order of the answers (see [`Order`]), and where that says
//! nothing from how long they take, as in TCP Vegas (Brakmo & Peterson 1995): when L calls are always
//! under way and a backend takes r times as long as when it has few, then L / r of them are served or
//! on their way (Little's law) and L (1 - 1 / r) wait. Service times may differ much (Carter's Figure
//! 21 has a coefficient of variation of 3.7), and means of some hundred latencies are then too
//! uncertain to tell 16 workers from 6, so there the limit changes only where standard errors allow.

use std::time::Duration;

use super::CallLimit;
use super::inside::Overtaken;
use super::moments::Latencies;
use super::order::{Order, Served};
use super::reserve::Reserve;
use crate::time::Time;

/// The learned limit begins here: few enough to do no harm to a backend that serves one at a time,
/// for the moment until that is seen, and enough not to hold up a burst at a faster one.
const FIRST: u32 = 8;
/// The learned limit stays at or below.
const MOST: u32 = 1024;
/// Answers at the limit between two decisions; also as many as the limit.
const WINDOW: u32 = 8;
/// Answers at the limit before means decide; also three times the limit.
const MEANS: f64 = 30.0;
/// Answers of a probe at least.
const PROBE: u32 = 32;
/// Answers at the limit between two probes at least. A probe costs throughput where half of the
/// limit does not keep the backend busy, so when one confirms what is known well the next may wait
/// twice as long, up to `MOST_BETWEEN_PROBES`.
const BETWEEN_PROBES: u32 = 1000;
const MOST_BETWEEN_PROBES: u32 = 16_000;
/// Square of the relative standard error below which a mean is known well.
const SURE: f64 = 0.02;
/// Square of the coefficient of variation of latencies that are taken to be all alike: a few say all.
const ALIKE: f64 = 0.01;
/// Latencies with few calls under way remembered, by weight, for each level.
const BASE_MEMORY: f64 = 1024.0;
/// Latencies at the limit remembered, by weight.
const LIMIT_MEMORY: f64 = 1024.0;
/// Latencies with few calls under way that are enough; with more, higher levels are left out.
const ENOUGH: f64 = 512.0;
/// Fewer of them than this say nothing, unless they are alike.
const TOO_FEW: f64 = 16.0;
/// Failures without an answer between them that halve the limit.
const BURST: u32 = 4;

/// With how many others a call was started, for [`Limit::answered`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Company {
    /// Calls under way, itself counted.
    under_way: u32,
    /// Of which limit, by number; limits are numbered as they change.
    limit: u32,
    probing: bool,
}

/// How many times longer the backend takes at the limit.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    ratio: f64,
    /// The standard error of 1 - 1 / `ratio`.
    error: f64,
}

/// A window with the limit lowered, to learn anew what the backend takes when it has little to do.
#[derive(Clone, Copy, Debug)]
struct Probe {
    limit: u32,
    answers: u32,
    latency: Latencies,
}

impl Probe {
    /// There are answers enough; fewer will do where all take equally long.
    fn is_done(&self) -> bool {
        let enough = PROBE.max(2 * self.limit);
        let exact = self.latency.plain.variation_squared() < ALIKE && self.answers >= enough / 4;
        self.answers >= enough || exact
    }
}

/// The limit of one backend.
#[derive(Debug)]
pub(super) struct Limit {
    learns: bool,
    limit: u32,
    /// Changes so far.
    number: u32,
    /// The limit as means have it, or the order, with one call that waits.
    known: u32,
    /// Calls that are served or on their way, as means last had it.
    at_once: Option<u32>,
    surely: u32,
    reserve: Reserve,
    order: Order,
    /// What the order has shown at this limit or a former one.
    served: Option<u32>,
    /// Latency in seconds by calls under way at the start: 1, 2 to 3, 4 to 7 and so on.
    by_level: [Latencies; 11],
    /// Latency in seconds of calls started when as many as may were under way.
    at_limit: Latencies,
    /// Answers at the limit since the last decision.
    window: u32,
    /// No waiting inside the backend was seen yet: the limit doubles.
    searching: bool,
    /// What the next raise adds when not searching.
    step: u32,
    probe: Option<Probe>,
    since_probe: u32,
    /// Answers at the limit until the next.
    between_probes: u32,
    failures: u32,
}

impl Limit {
    pub(super) fn new(limit: CallLimit) -> Limit {
        let (learns, limit) = match limit {
            CallLimit::Fixed(limit) => (false, limit.max(1)),
            CallLimit::Auto => (true, FIRST),
        };
        Limit {
            learns,
            limit,
            number: 0,
            known: limit,
            at_once: None,
            surely: 0,
            reserve: Reserve::new(),
            order: Order::default(),
            served: None,
            by_level: Default::default(),
            at_limit: Latencies::default(),
            window: 0,
            searching: true,
            step: 1,
            probe: None,
            since_probe: 0,
            between_probes: BETWEEN_PROBES,
            failures: 0,
        }
    }

    /// Whether it is not fixed.
    pub(super) fn learns(&self) -> bool {
        self.learns
    }

    /// The limit, whether or not a probe lowers it just now.
    pub(super) fn get(&self) -> u32 {
        self.limit
    }

    /// Calls that may be under way just now.
    pub(super) fn allowed(&self) -> u32 {
        self.probe.map_or(self.limit, |probe| probe.limit)
    }

    /// How many of as many calls as may be under way the backend is taken to serve at once.
    /// `in_order`: answers have come in the order of the starts for long.
    pub(super) fn served_at_once(&self, in_order: bool) -> usize {
        let at_once = match (self.served, self.reserve.waiting()) {
            (Some(served), _) => served,
            (None, 1) => self.limit.saturating_sub(1),
            (None, _) if in_order => 1,
            // Taken for fewer than they are, short calls that overtake long ones would seem long, and
            // the long ones short.
            (None, _) => self.limit,
        };
        at_once.max(1) as usize
    }

    /// Whether it is known of a call that was started in such company from when on it was served.
    pub(super) fn is_trusted(&self, company: Company) -> bool {
        let known = !self.learns || !self.searching && company.limit == self.number;
        known || company.under_way == 1
    }

    /// A call is started and now so many are under way.
    pub(super) fn start(&mut self, now: Time, under_way: usize) -> Company {
        if self.learns {
            self.reserve.start(now);
        }
        let under_way = u32::try_from(under_way).unwrap_or(u32::MAX);
        Company { under_way, limit: self.number, probing: self.probe.is_some() }
    }

    /// A call that was started in such company was answered so long after its start, and has
    /// overtaken others.
    pub(super) fn answered(
        &mut self,
        now: Time,
        company: Company,
        latency: Duration,
        overtaken: Overtaken,
    ) {
        self.failures = 0;
        if !self.learns {
            return;
        }
        if company.under_way > 1 {
            let served = self.served.unwrap_or_else(|| self.order.at_least(self.limit));
            if self.reserve.answer(now, served) {
                self.adjust();
            }
        }
        let seconds = latency.as_secs_f64();
        if let Some(probe) = &mut self.probe {
            if company.probing && company.under_way <= probe.limit {
                probe.latency.add(seconds, BASE_MEMORY);
                probe.answers += 1;
                if probe.is_done() {
                    self.end_probe();
                }
            }
            return;
        }
        if company.under_way <= probe_limit(self.limit) {
            self.by_level[level(company.under_way)].add(seconds, BASE_MEMORY);
        }
        if company.under_way == self.limit && company.limit == self.number && !company.probing {
            self.at_limit.add(seconds, LIMIT_MEMORY);
            self.order.add(overtaken, self.limit);
            self.since_probe += 1;
            self.window += 1;
            if self.window >= WINDOW.max(self.limit) {
                self.window = 0;
                self.decide();
            }
        }
    }

    /// A call got no answer. A burst of these halves a learned limit: the backend breaks under it.
    pub(super) fn failed(&mut self) {
        self.failures += 1;
        if self.learns && self.failures >= BURST.max(self.limit / 2) {
            self.failures = 0;
            self.is_enough();
            self.known = self.limit / 2;
            self.set(self.limit / 2);
        }
    }

    fn decide(&mut self) {
        if self.limit == 1 {
            // With one at a time no waiting can be seen.
            self.known = 2;
            return self.adjust();
        }
        let variation = self.at_limit.plain.variation_squared();
        let served = self.order.served(self.limit, variation);
        let base = self.base();
        let few = base.weight() < TOO_FEW
            && !(base.weight() >= f64::from(WINDOW) && base.plain.variation_squared() < ALIKE);
        if served == Served::All {
            self.served = None;
        }
        if let Served::Some(served) = served {
            self.served = Some(served);
            self.is_enough();
            if few {
                self.known = served + 1;
            }
        } else if self.at_limit.weight() < MEANS.max(3.0 * f64::from(self.limit))
            && variation >= ALIKE
        {
            return;
        } else if few {
            return self.begin_probe();
        }
        if !few {
            self.means(&base, served);
        }
        self.adjust();
        // Where the order has settled the limit, means are only to confirm it.
        let settled = matches!(served, Served::Some(_));
        let between = if settled { MOST_BETWEEN_PROBES } else { self.between_probes };
        if self.since_probe >= between.max(16 * self.limit) {
            self.begin_probe();
        }
    }

    /// Takes into account how long answers take at the limit.
    fn means(&mut self, base: &Latencies, served: Served) {
        let limit = f64::from(self.limit);
        let Stretch { ratio, error } = self.stretch(base, served);
        let waiting = 1.0 - 1.0 / ratio;
        let at_once = (limit / ratio).round() as u32;
        self.at_once = Some(at_once);
        self.surely = (limit * (1.0 / ratio - 2.0 * error)).max(0.0) as u32;
        // Of one call that is to wait 0.6 to 1.6 may. Where that is a small share it cannot be
        // measured, and 8 to 15 % are as good.
        let (few, many) = ((0.6 / limit).max(0.08), (1.6 / limit).max(0.15));
        // How far the ratio is believed where the order of the answers speaks for or against it.
        let (to_lower, to_raise) = match served {
            Served::All => (2.0 * error, -0.5 * error),
            Served::Some(_) => (0.0, 2.0 * error),
            Served::Unknown => (error, error),
        };
        if waiting - to_lower > many {
            let sure = waiting - 2.0 * error > many;
            let least = match served {
                Served::Some(served) => served + 1,
                _ if sure => self.limit / 2,
                _ => self.order.at_least(self.limit) + 1,
            };
            let lower = (at_once + 1).max(least).min(self.limit);
            self.is_enough();
            let pays = lower < self.known && self.known == self.limit;
            if pays && self.since_probe > 120.max(6 * self.limit) {
                // The backend may have become slower altogether: look before the limit pays.
                return self.begin_probe();
            }
            self.known = lower;
            return;
        }
        let search = self.searching && served == Served::Unknown && waiting - error < few;
        // Too low a limit costs throughput and too high a one is soon seen: what is likely is reason
        // enough for one step now and then.
        let likely = self.since_probe >= self.between_probes.max(16 * self.limit)
            && waiting < few
            && !matches!(served, Served::Some(_));
        if search || likely || waiting + to_raise < few {
            return self.raise();
        }
        self.is_enough();
    }

    /// The limit is what is known, or what is served and has to wait inside if that is more.
    fn adjust(&mut self) {
        let served =
            self.served.unwrap_or_else(|| match (self.order.is_all(self.limit), self.at_once) {
                (true, None) => 0,
                (_, at_once) => {
                    self.order.at_least(self.limit).min(at_once.unwrap_or(u32::MAX).max(1))
                }
            });
        let least = (served + self.reserve.waiting()).max(self.surely + self.reserve.for_bunches());
        let limit = self.known.max(least).clamp(1, MOST);
        if std::env::var("DBG").is_ok() { eprintln!("ms: L {} known {} served {served} R {} surely {} bunches {} at_once {:?}", self.limit, self.known, self.reserve.waiting(), self.surely, self.reserve.for_bunches(), self.at_once); }
        // Of many one more or less says nothing, and each change begins anew with what is learned.
        let near = self.limit / 16;
        if limit > self.limit + near / 2 || limit + near < self.limit {
            self.set(limit);
        }
    }

    /// The limit does not double any more.
    fn is_enough(&mut self) {
        self.searching = false;
        self.step = 1;
    }

    /// How many times longer than with few under way the backend takes at the limit, with the
    /// standard error of the share that is.
    fn stretch(&self, base: &Latencies, served: Served) -> Stretch {
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
        // Of service times, as seen where it is greatest: a few latencies without the rare long ones
        // would look more certain than they are. Each wait is the service of others, so at the limit
        // one service time is in about `ratio` latencies.
        let variation = few.variation_squared().max(many.variation_squared() * ratio);
        Stretch { ratio, error: (variation * weights).sqrt() / ratio }
    }

    fn raise(&mut self) {
        let step = if self.searching { self.limit } else { self.step };
        self.step = (2 * step).min(self.limit);
        self.known = self.limit.saturating_add(step).min(MOST);
    }

    /// Latency with at most half of the limit under way, from the lowest levels that say enough.
    fn base(&self) -> Latencies {
        let mut base = Latencies::default();
        for moments in &self.by_level[..=level(probe_limit(self.limit))] {
            base.merge(moments);
            if base.weight() >= ENOUGH {
                break;
            }
        }
        base
    }

    fn begin_probe(&mut self) {
        self.since_probe = 0;
        let limit = probe_limit(self.limit);
        self.probe = Some(Probe { limit, answers: 0, latency: Latencies::default() });
    }

    /// Takes what the probe found into account; where it contradicts what was known it replaces
    /// that.
    fn end_probe(&mut self) {
        let Some(probe) = self.probe.take() else { return };
        let known = self.base();
        let level = level(probe.limit);
        let (found, expected) = (&probe.latency.plain, &known.plain);
        let apart = found.mean() - expected.mean();
        let error = (found.error_squared() + expected.error_squared()).sqrt();
        if known.weight() >= TOO_FEW && apart.abs() > 3.0 * error {
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
            if variation < SURE * known.weight() {
                self.between_probes = (2 * self.between_probes).min(MOST_BETWEEN_PROBES);
            }
        }
    }

    fn set(&mut self, limit: u32) {
        self.limit = limit.max(1);
        self.number = self.number.wrapping_add(1);
        self.at_limit = Latencies::default();
        self.order.restart();
        self.window = 0;
        self.probe = None;
    }
}

/// The limit while probing: half, at least 1.
fn probe_limit(limit: u32) -> u32 {
    (limit / 2).max(1)
}

/// Levels are 1, 2 to 3, 4 to 7 and so on.
fn level(under_way: u32) -> usize {
    (under_way.max(1).ilog2() as usize).min(10)
}

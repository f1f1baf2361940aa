//! How many calls of a backend may be under way: fixed, or learned from how long answers take. The
//! gate asks here whether it is full, and reports every start, answer and failure.
//!
//! As in TCP Vegas (Brakmo & Peterson 1995) what matters is how many calls only wait inside the
//! backend. When L calls are always under way and a backend takes r times as long as when it has
//! few, then L / r of them are served at once (Little's law) and L (1 - 1 / r) wait there. The limit
//! settles where about one waits: the backend is never without work, and nearly everything waits
//! where departures are seen and the order can be chosen. Raised when fewer wait, lowered when more
//! do. But as many calls as take two milliseconds in all may always be there: that harms nobody, and
//! where answers take microseconds and one waits, the backend falls asleep between them, and each
//! time it is woken costs more than an answer.
//!
//! One that waits is not enough where calls are short beside the way from weir to the backend and
//! vary: the limit stays above the calls that are served at once and a reserve (see [`Reserve`]).
//!
//! Service times differ much (Carter's Figure 21 has a coefficient of variation of 3.7), and means
//! of some hundred latencies are then too uncertain to tell 16 workers from 6. So the limit changes
//! only where standard errors allow, and the order of the answers is heard as well: a backend that
//! takes calls in the order of their starts never answers the last of all first while it waits.

mod decision;
mod evidence;
mod moments;
mod probe;
mod reserve;
mod workers;

use std::time::Duration;

use moments::Latencies;
use probe::{Probe, level, probe_limit};
use reserve::Reserve;
use workers::Workers;

use super::config::CallLimit;
use super::unanswered::Overtaken;
use crate::time::Time;

/// The learned limit begins here: few enough to do no harm to a backend that serves one at a time,
/// for the moment until that is seen, and enough not to hold up a burst at a faster one.
const FIRST: u32 = 8;
/// The learned limit stays at or below.
const MOST: u32 = 1024;
/// Answers in a window at least; also three times the limit.
const WINDOW: u32 = 30;
/// Answers at the limit between two probes at least. A probe costs throughput where half of the
/// limit does not keep the backend busy, so when one confirms what is known well the next may wait
/// twice as long, up to `MOST_BETWEEN_PROBES`.
const BETWEEN_PROBES: u32 = 1000;
const MOST_BETWEEN_PROBES: u32 = 16_000;
/// Where calls are all long and alike, answers that are enough for a decision.
const FEW_ALIKE: u32 = 8;
/// Latencies with few calls under way remembered, by weight, for each level.
const BASE_MEMORY: f64 = 1024.0;
/// Latencies at the limit remembered, by weight.
const LIMIT_MEMORY: f64 = 1024.0;
/// Fewer of them than this say nothing.
const TOO_FEW: f64 = 16.0;
/// Seconds that tell a slow answer of a backend that was quick.
const SLOW: f64 = 0.01;
/// Failures without an answer between them that halve the limit.
const BURST: u32 = 4;

/// With how many others a call was started, for [`Limit::answered`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LoadAtStart {
    /// Calls under way, itself counted.
    under_way: u32,
    /// Of which limit, by number; limits are numbered as they change.
    limit: u32,
    probing: bool,
}

/// The limit of one backend.
#[derive(Debug)]
pub(super) struct Limit {
    learns: bool,
    limit: u32,
    /// Changes so far.
    number: u32,
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
    /// Answers at the limit, and those of them to the last of all calls under way; both fade.
    answers: u32,
    last_first: u32,
    /// The greatest limit at which all calls were seen to be served at once.
    open_at: u32,
    workers: Workers,
    /// Calls that wait inside while others come.
    reserve: Reserve,
    /// More than one may wait inside, as it is not for long.
    crowded: bool,
    /// Mean latency at the limit when that was last decided on, in seconds.
    usual: f64,
    /// Answers in a row that took much longer than calls may where it is crowded.
    slow: u32,
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
            by_level: Default::default(),
            at_limit: Latencies::default(),
            window: 0,
            searching: true,
            step: 1,
            probe: None,
            since_probe: 0,
            between_probes: BETWEEN_PROBES,
            answers: 0,
            last_first: 0,
            open_at: 0,
            workers: Workers::default(),
            reserve: Reserve::new(),
            crowded: false,
            usual: 0.0,
            slow: 0,
            failures: 0,
        }
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
        let at_once = match (self.crowded, self.reserve.waiting()) {
            (false, 1) => self.limit.saturating_sub(1),
            _ if in_order => 1,
            (true, _) => self.limit,
            (false, waiting) => self.limit.saturating_sub(waiting),
        };
        at_once.max(1) as usize
    }

    /// Whether it is known of a call that was started under such load from when on it was served.
    pub(super) fn is_trusted(&self, load: LoadAtStart) -> bool {
        let known = !self.learns || !self.searching && load.limit == self.number;
        known || load.under_way == 1
    }

    /// A call is started and now so many are under way.
    pub(super) fn start(&mut self, now: Time, under_way: usize) -> LoadAtStart {
        if self.learns {
            self.reserve.start(now);
        }
        let under_way = u32::try_from(under_way).unwrap_or(u32::MAX);
        LoadAtStart { under_way, limit: self.number, probing: self.probe.is_some() }
    }

    /// A call that was started under such load was answered so long after its start, and has
    /// overtaken others.
    pub(super) fn answered(
        &mut self,
        now: Time,
        load: LoadAtStart,
        latency: Duration,
        overtaken: Overtaken,
    ) {
        self.failures = 0;
        if !self.learns {
            return;
        }
        let full = load.under_way == self.limit
            && load.limit == self.number
            && !load.probing
            && self.probe.is_none();
        self.reserve.answer(now, latency, full);
        if let Some(older) = overtaken.older {
            self.workers.answer(older);
        }
        let seconds = latency.as_secs_f64();
        if let Some(probe) = &mut self.probe {
            if load.probing && load.under_way <= probe.limit {
                probe.latency.add(seconds, BASE_MEMORY);
                probe.answers += 1;
                if probe.is_done() {
                    self.end_probe();
                }
            }
            return;
        }
        let usual = if self.crowded { 0.0 } else { self.usual };
        if seconds <= SLOW.max(4.0 * usual) {
            self.slow = 0;
        } else if load.limit == self.number && load.under_way > 1 {
            // A call alone is slow by itself, and after a halving those from before it are late too.
            self.slow += 1;
        }
        if (self.crowded || self.reserve.waiting() > 1) && self.slow >= WINDOW {
            // It is no longer so quick, and fewer than the limit would not show it.
            self.reserve.forget();
            self.halve();
            self.crowded = self.limit > 2;
            return;
        }
        if load.under_way <= probe_limit(self.limit) {
            self.by_level[level(load.under_way)].add(seconds, BASE_MEMORY);
        }
        if full {
            self.at_limit.add(seconds, LIMIT_MEMORY);
            self.since_probe += 1;
            self.answers += 1;
            self.last_first += u32::from(overtaken.by_newest + 1 >= self.limit as usize);
            self.window += 1;
            let window = match self.are_alike() {
                true => FEW_ALIKE.max(self.limit),
                false => WINDOW.max(3 * self.limit),
            };
            if self.window >= window {
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
            self.halve();
        }
    }
}

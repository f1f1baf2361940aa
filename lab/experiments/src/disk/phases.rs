//! The phases of one server: each at its rate, again where the machine disturbed it, and the search for
//! the highest rate at which the server keeps up. The run of a cell goes through them.

use weir_peers::{Error, Result};
use weir_stand::Locked;

use super::bench::{Bench, Seen};
use super::capacity::{self, Tried};
use super::figures;
use crate::cell::{Files, Load, Phase, TRIAL, What};
use crate::figures::{self as common, Lags};
use crate::outcome::{FilesOutcome, PhaseOutcome};

/// A phase that does not count is run so often, if it is no quick one: the phases before it are worth
/// more than its time.
const TRIES: usize = 3;
/// Seeds of phases, of phases that are run again, and of trials are so far apart.
const RETRIED: usize = 100;
const TRIALS: usize = 1000;

/// How much a phase asks for.
enum Asked {
    /// As much as the server manages.
    All,
    /// Requests per second.
    Rate(f64),
    /// There is no such rate, for this reason.
    None(String),
}

/// A phase in memory that reads more from the disk, per 1000 requests, is none.
const MOST_READS: f64 = 0.5;

/// The phases of a server so far.
pub(super) struct Phases<'a> {
    bench: &'a Bench<'a>,
    files: &'a Files,
    seed: u64,
    /// What they showed.
    pub(super) found: FilesOutcome,
    /// The last one of all the set, undisturbed by a scan or a look.
    pub(super) last: Option<Seen>,
    /// What phases in memory ask for, from the first of them on.
    in_memory: Option<Locked>,
}

impl<'a> Phases<'a> {
    /// None yet, of a server that has been warmed. Equal seeds ask for the same files.
    pub(super) fn of(bench: &'a Bench<'a>, files: &'a Files, seed: u64) -> Phases<'a> {
        let found = FilesOutcome {
            capacity: None,
            search_end: None,
            nginx: None,
            hot_share: 0.0,
            phases: Vec::new(),
        };
        Phases { bench, files, seed, found, last: None, in_memory: None }
    }

    /// With nginx's capacity in the same conditions.
    pub(super) fn with_nginx(mut self, capacity: Option<f64>) -> Phases<'a> {
        self.found.nginx = capacity;
        self
    }

    /// The next phase.
    ///
    /// # Errors
    ///
    /// When the load cannot be sent, or responses had wrong bytes.
    pub(super) fn go_through(&mut self, phase: Phase) -> Result<()> {
        let rate = match self.asked(phase.load)? {
            Asked::All => None,
            Asked::Rate(rate) => Some(rate),
            Asked::None(reason) => {
                self.found.phases.push(PhaseOutcome::void(phase, reason));
                return Ok(());
            }
        };
        if phase.what == What::InMemory && self.in_memory.is_none() {
            self.bench.read_in_memory()?;
            self.in_memory = Some(self.bench.lock_in_memory()?);
            self.bench.warm(What::InMemory, self.seed)?;
        }
        let (place, tries) = (self.found.phases.len(), self.tries());
        for tried in 1..=tries {
            // Not the same files again: the cache has them.
            let seed = self.seed_of(place + RETRIED * (tried - 1));
            let seen = self.bench.phase(phase.what, rate, seed)?;
            let found = figures::phase(phase, rate, &seen);
            let mut reasons = why_invalid(&seen, rate);
            reasons.extend(not_in_memory(&found));
            if tried < tries && !reasons.is_empty() {
                continue;
            }
            self.keep(found, reasons, seen);
            break;
        }
        Ok(())
    }

    fn keep(&mut self, found: PhaseOutcome, invalid: Vec<String>, seen: Seen) {
        if let Some(rate) = found.offered {
            let share = self.bench.set(What::Set).hot_share(rate);
            self.found.hot_share = self.found.hot_share.max(share);
        }
        if found.phase.what == What::Set {
            self.last = Some(seen);
        }
        self.found.phases.push(PhaseOutcome { invalid, ..found });
    }

    fn asked(&mut self, load: Load) -> Result<Asked> {
        let of = |share: f64, capacity: Option<f64>, whose: &str| match capacity {
            Some(capacity) => Asked::Rate(share * capacity),
            None => Asked::None(format!("{whose} kept up with no rate that was tried")),
        };
        Ok(match load {
            Load::Saturated => Asked::All,
            Load::Rate(rate) => Asked::Rate(rate),
            Load::Own(share) => of(share, self.capacity()?, "the server"),
            Load::Nginx(share) => of(share, self.found.nginx, "nginx"),
        })
    }

    /// The highest rate at which the server keeps up and the clients are on time; searched for at the
    /// first call. None if it keeps up with none.
    ///
    /// # Errors
    ///
    /// When there was no saturation before, or those of [`Phases::go_through`].
    pub(super) fn capacity(&mut self) -> Result<Option<f64>> {
        if self.found.search_end.is_some() {
            return Ok(self.found.capacity);
        }
        let saturated = self.found.phase(Load::Saturated, What::Set);
        let saturated = saturated.map(|phase| phase.per_second).filter(|rate| *rate > 0.0);
        let saturated = saturated.ok_or_else(|| {
            Error("a share of the server's capacity needs a phase of saturation before it".into())
        })?;
        let mut trials = TRIALS;
        let found = capacity::search(saturated, |rate| {
            capacity::decide(self.tries(), || {
                trials += 1;
                self.try_rate(rate, self.seed_of(trials))
            })
        })?;
        (self.found.capacity, self.found.search_end) = (found.capacity, Some(found.end));
        Ok(found.capacity)
    }

    /// Try a rate; after a failure nothing of it is left for the next trial.
    fn try_rate(&self, rate: f64, seed: u64) -> Result<Tried> {
        let seconds = TRIAL * self.files.seconds;
        let trial = self.bench.trial(rate, seconds, seed)?;
        let kept_up = capacity::kept_up(&trial, self.files.connections);
        let tried = capacity::tried(kept_up, trial.lags);
        if tried != Tried::KeptUp {
            self.bench.settle()?;
        }
        Ok(tried)
    }

    fn tries(&self) -> usize {
        if self.files.is_quick() { 1 } else { TRIES }
    }

    /// Other requests in each phase, the same for all systems.
    fn seed_of(&self, place: usize) -> u64 {
        self.seed.wrapping_mul(10_000).wrapping_add(place as u64)
    }
}

/// Why a phase does not count.
fn why_invalid(seen: &Seen, rate: Option<f64>) -> Vec<String> {
    let report = &seen.report;
    let lags = judged(Lags::of(report), rate);
    let mut reasons = common::why_invalid(lags, report.steal, &seen.records, None);
    let lost = seen.observed.as_ref().map_or(0, |observed| observed.lost_events);
    if lost > 0 {
        reasons.push(format!("the server was not watched all the time: {lost} events were lost"));
    }
    reasons
}

/// The lags by which a phase counts or not. In saturation, without a rate, clients may read late: they
/// ask the later for it, and hundreds of other requests keep the server busy meanwhile.
fn judged(lags: Lags, rate: Option<f64>) -> Lags {
    if rate.is_some() { lags } else { Lags { read: 0.0, ..lags } }
}

/// Why a phase was not in memory.
fn not_in_memory(found: &PhaseOutcome) -> Option<String> {
    let reads = found.reads_per_1000;
    (found.phase.what == What::InMemory && reads > MOST_READS)
        .then(|| format!("not all was in memory: {reads:.1} reads per 1000 requests"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reading_late_spoils_an_open_loop_and_no_saturation() {
        let late = Lags { start: 0.5, read: 4.0 };
        assert!(!judged(late, Some(9000.0)).are_small() && judged(late, None).are_small());
        assert!(!judged(Lags { start: 4.0, read: 0.5 }, None).are_small());
    }

    #[test]
    fn what_reads_the_disk_is_not_in_memory() {
        let of = |what: What, reads_per_1000: f64| {
            let phase = Phase { load: Load::Own(0.5), what };
            let found = PhaseOutcome::void(phase, String::new());
            not_in_memory(&PhaseOutcome { reads_per_1000, ..found }).is_some()
        };
        assert!(of(What::InMemory, 0.6) && !of(What::InMemory, 0.4) && !of(What::Set, 9.0));
    }
}

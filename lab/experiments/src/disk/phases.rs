//! The phases of one server: each at its rate, again where the machine disturbed it, and the search for
//! the highest rate at which the server keeps up. The run of a cell goes through them.

use weir_peers::{Error, Result};

use super::bench::{Bench, Seen, Trial};
use super::{capacity, figures};
use crate::cell::{Files, Load, Phase, TRIAL, What};
use crate::figures as common;
use crate::outcome::{FilesOutcome, PhaseOutcome};

/// A phase that does not count is run so often, if it is no quick one: the phases before it are worth
/// more than its time.
const TRIES: usize = 3;
const QUICK: f64 = 10.0;
/// Seeds of phases, of phases that are run again, and of trials are so far apart.
const RETRIED: usize = 100;
const TRIALS: usize = 1000;

/// The phases of a server so far.
pub(super) struct Phases<'a> {
    bench: &'a Bench<'a>,
    files: &'a Files,
    seed: u64,
    /// What they showed.
    pub(super) found: FilesOutcome,
    /// The last one of all the set, undisturbed by a scan or a look.
    pub(super) last: Option<Seen>,
}

impl<'a> Phases<'a> {
    /// None yet, of a server that has been warmed. Equal seeds ask for the same files.
    pub(super) fn of(bench: &'a Bench<'a>, files: &'a Files, seed: u64) -> Phases<'a> {
        let found =
            FilesOutcome { capacity: None, nginx: None, hot_share: 0.0, phases: Vec::new() };
        Phases { bench, files, seed, found, last: None }
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
        let rate = self.rate(phase.load)?;
        let in_memory = |found: &PhaseOutcome| found.phase.what == What::InMemory;
        let is_first = !self.found.phases.iter().any(in_memory);
        if phase.what == What::InMemory && is_first {
            self.bench.read_in_memory()?;
            self.bench.warm(What::InMemory, self.seed)?;
        }
        let (seconds, place) = (self.files.length(phase), self.found.phases.len());
        let tries = self.tries();
        for tried in 1..=tries {
            // Not the same files again: the cache has them.
            let seed = self.seed_of(place + RETRIED * (tried - 1));
            let seen = self.bench.phase(phase.what, rate, seconds, seed)?;
            let reasons = why_invalid(&seen);
            if tried < tries && !reasons.is_empty() {
                continue;
            }
            self.keep(figures::phase(phase, rate, seconds, &seen), reasons, seen);
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

    /// Requests per second of a load; none in saturation.
    fn rate(&mut self, load: Load) -> Result<Option<f64>> {
        let rate = match load {
            Load::Saturated => return Ok(None),
            Load::Rate(rate) => rate,
            Load::Own(share) => share * self.capacity()?,
            Load::Nginx(share) => {
                let nginx = self.found.nginx.ok_or("nginx's capacity was not measured")?;
                share * nginx
            }
        };
        Ok(Some(rate))
    }

    /// The highest rate at which the server keeps up and the clients are on time; searched for at the
    /// first call.
    ///
    /// # Errors
    ///
    /// When there was no saturation before, or those of [`Phases::go_through`].
    pub(super) fn capacity(&mut self) -> Result<f64> {
        if let Some(known) = self.found.capacity {
            return Ok(known);
        }
        let saturated = self.found.phase(Load::Saturated, What::Set);
        let saturated = saturated.map(|phase| phase.per_second).filter(|rate| *rate > 0.0);
        let saturated = saturated.ok_or_else(|| {
            Error("a share of the server's capacity needs a phase of saturation before it".into())
        })?;
        let found = {
            let mut trial = TRIALS;
            capacity::search(saturated, |rate| self.keeps_up(rate, &mut trial))?
        };
        self.found.capacity = Some(found);
        Ok(found)
    }

    /// Whether the server keeps up with a rate. A trial of which the clients were late says nothing of
    /// the server, so it is tried again; if they are late each time, the rate is more than they can send.
    fn keeps_up(&self, rate: f64, trial: &mut usize) -> Result<bool> {
        let seconds = TRIAL * self.files.seconds;
        for _ in 0..self.tries() {
            *trial += 1;
            let Trial { requests, answered, lag_ms } =
                self.bench.trial(rate, seconds, self.seed_of(*trial))?;
            let kept_up = capacity::kept_up(requests, answered, self.files.connections);
            if lag_ms <= common::MOST_LAG_MS {
                return Ok(kept_up);
            }
        }
        Ok(false)
    }

    fn tries(&self) -> usize {
        if self.files.seconds < QUICK { 1 } else { TRIES }
    }

    /// Other requests in each phase, the same for all systems.
    fn seed_of(&self, place: usize) -> u64 {
        self.seed.wrapping_mul(10_000).wrapping_add(place as u64)
    }
}

/// Why a phase does not count.
fn why_invalid(seen: &Seen) -> Vec<String> {
    let report = &seen.report;
    let mut reasons = common::why_invalid(report.lag[1] * 1e3, report.steal, &seen.records, None);
    let lost = seen.observed.as_ref().map_or(0, |observed| observed.lost_events);
    if lost > 0 {
        reasons.push(format!("the server was not watched all the time: {lost} events were lost"));
    }
    reasons
}

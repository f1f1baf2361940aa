//! How many jobs the disk takes at once, learned: the least number with which it does hardly less work
//! than with the next higher one (each step down may lose 3 %).
//! The helpers ask before each start and report every job that ends.
//!
//! What is below the gate is served in an order that the gate did not choose, so as little as
//! possible should be there; but a disk with several channels is to have work for each. Only work
//! tells the two apart: expected disk time that is finished per second, while as many jobs run as
//! may. So the limit now and then tries the next lower or higher number, in windows of jobs that
//! alternate with as many at the number in force, and moves down if the disk does as much and up if
//! it does more, as far as the spread of the ratios allows. Nothing is learned while fewer run than
//! may, and nothing from jobs that cannot have reached the disk.

use std::time::Duration;

use super::DiskConfig;
use crate::time::Time;

/// The limit begins at the highest of its levels up to here: enough for most disks until more is
/// known, and no long queue at any.
const FIRST: usize = 8;
/// A job that took no longer was answered from memory.
const FROM_MEMORY: Duration = Duration::from_micros(100);
/// Jobs in a window, at least; also so many times as many as run.
const WINDOW: u32 = 24;
const ROUNDS: u32 = 6;
/// Work that a lower number may lose (logarithms of ratios), and that a higher one must gain. They
/// are apart, so that neither is undone by the other.
const MAY_LOSE: f64 = 0.03;
const MUST_GAIN: f64 = 0.05;
/// Pairs of windows that say anything, and after which means decide, however uncertain they are.
const LEAST_PAIRS: u32 = 3;
const MOST_PAIRS: u32 = 12;
/// Jobs between trials that changed nothing: while a trial lasts, the disk may do less. They double
/// each time, up to the most.
const REST: u32 = 256;
const MOST_REST: u32 = 16_384;

/// The limit of one disk.
#[derive(Debug)]
pub(super) struct Limit {
    /// The numbers that are tried, ascending: at least one.
    levels: Vec<usize>,
    /// The level in force.
    level: usize,
    /// Whether the next higher and the next lower level are known to be no better.
    tried: Tried,
    trial: Option<Trial>,
    /// Jobs until the next trial, and how many there will be after that one.
    rest: u32,
    next_rest: u32,
    window: Window,
}

#[derive(Clone, Copy, Debug, Default)]
struct Tried {
    up: bool,
    down: bool,
}

/// A comparison of the level in force with the next one.
#[derive(Debug)]
struct Trial {
    up: bool,
    /// Whether the other level applies just now.
    away: bool,
    /// Work per second in the last window at the level in force.
    before: f64,
    pairs: u32,
    /// Of the logarithms of the ratios, and of their squares.
    sum: f64,
    squares: f64,
}

/// Jobs that ended while as many ran as may.
#[derive(Debug, Default)]
struct Window {
    /// When the last of them ended; `None`: fewer have run since.
    last: Option<Time>,
    /// Jobs that were started under another number and are not counted.
    skipped: u32,
    jobs: u32,
    /// Nanoseconds of expected disk time, and of time.
    work: f64,
    time: f64,
}

impl Limit {
    pub(super) fn new(config: &DiskConfig) -> Limit {
        let most = config.under_way.max(1);
        let mut levels = Vec::new();
        let mut level = config.least_under_way.max(1);
        while level < most {
            levels.push(level);
            level += (level / 2).max(1);
        }
        levels.push(most);
        let first = levels.iter().rposition(|level| *level <= FIRST).unwrap_or(0);
        let mut limit = Limit {
            levels,
            level: first,
            tried: Tried::default(),
            trial: None,
            rest: 0,
            next_rest: REST,
            window: Window::default(),
        };
        limit.begin_trial();
        limit
    }

    /// Jobs that may be under way just now.
    pub(super) fn allowed(&self) -> usize {
        self.levels[self.level_in_force()]
    }

    /// The number that was learned, whether or not another one is tried just now.
    pub(super) fn learned(&self) -> usize {
        self.levels[self.level]
    }

    /// Fewer are under way than may, or not all of those wait for the disk.
    pub(super) fn slack(&mut self) {
        self.window.last = None;
    }

    /// A job ended that was expected to take so many nanoseconds and took so long.
    pub(super) fn done(&mut self, now: Time, expected: u64, took: Duration) {
        if self.levels.len() == 1 {
            return;
        }
        if took <= FROM_MEMORY {
            return;
        }
        let Some(before) = self.window.last.replace(now) else { return };
        if self.rest > 0 {
            self.rest -= 1;
            if self.rest == 0 {
                self.begin_trial();
            }
            return;
        }
        if self.window.skipped > 0 {
            self.window.skipped -= 1;
            return;
        }
        self.window.jobs += 1;
        self.window.work += expected as f64;
        self.window.time += now.since(before).as_nanos() as f64;
        let full = WINDOW.max(ROUNDS * u32::try_from(self.allowed()).unwrap_or(u32::MAX));
        if self.window.jobs >= full {
            let rate = self.window.work / self.window.time.max(1.0);
            self.window_is_full(rate);
        }
    }

    fn level_in_force(&self) -> usize {
        match &self.trial {
            Some(Trial { up: true, away: true, .. }) => self.level + 1,
            Some(Trial { up: false, away: true, .. }) => self.level - 1,
            _ => self.level,
        }
    }

    fn window_is_full(&mut self, rate: f64) {
        let Some(trial) = &mut self.trial else { return };
        if !trial.away {
            trial.before = rate;
            trial.away = true;
            return self.begin_window();
        }
        trial.away = false;
        trial.pairs += 1;
        let ratio = (rate / trial.before).ln();
        trial.sum += ratio;
        trial.squares += ratio * ratio;
        match trial.is_better() {
            Some(true) => self.move_on(),
            Some(false) => self.stay(),
            None => {}
        }
        self.begin_window();
    }

    /// The other level is taken, and the one beyond it is tried next.
    fn move_on(&mut self) {
        let up = self.trial.take().is_some_and(|trial| trial.up);
        self.level = if up { self.level + 1 } else { self.level - 1 };
        self.tried = Tried { up: !up, down: up };
        self.next_rest = REST;
        self.begin_trial();
    }

    /// The other level is not taken.
    fn stay(&mut self) {
        match self.trial.take() {
            Some(trial) if trial.up => self.tried.up = true,
            _ => self.tried.down = true,
        }
        self.begin_trial();
    }

    /// Tries what has not been tried, or rests.
    fn begin_trial(&mut self) {
        let up = !self.tried.up && self.level + 1 < self.levels.len();
        let down = !self.tried.down && self.level > 0;
        if !up && !down {
            self.tried = Tried::default();
            self.rest = self.next_rest;
            self.next_rest = (2 * self.next_rest).min(MOST_REST);
            return;
        }
        let (away, before, pairs, sum, squares) = Default::default();
        self.trial = Some(Trial { up, away, before, pairs, sum, squares });
        self.begin_window();
    }

    fn begin_window(&mut self) {
        // So many may end that were started when another number ran.
        let most = self.levels[(self.level + 1).min(self.levels.len() - 1)];
        let (skipped, last) = (u32::try_from(most).unwrap_or(u32::MAX), self.window.last);
        self.window = Window { last, skipped, ..Window::default() };
    }
}

impl Trial {
    /// Whether the other level is the one to take; `None`: not known yet.
    fn is_better(&self) -> Option<bool> {
        let pairs = f64::from(self.pairs);
        let mean = self.sum / pairs;
        let bar = if self.up { MUST_GAIN } else { -MAY_LOSE };
        if self.pairs < LEAST_PAIRS {
            return None;
        }
        // Twice the standard error of the mean, and more where few pairs say how large that is.
        let variance = (self.squares / pairs - mean * mean).max(0.0);
        let error = (2.0 + 4.0 / pairs) * (variance / (pairs - 1.0)).sqrt();
        if self.pairs >= MOST_PAIRS {
            // A higher number is taken only for a gain that is one.
            return Some(mean > bar && !(self.up && mean < error));
        }
        ((mean - bar).abs() > error).then_some(mean > bar)
    }
}

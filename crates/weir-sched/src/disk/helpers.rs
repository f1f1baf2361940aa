//! The helper threads that do disk work: how many are busy, and which are lost for the time being
//! because their job is stuck. The gate asks here whether another job may start.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use super::DiskConfig;
use super::limit::Limit;
use crate::time::Time;

/// A disk that finishes nothing for so many times the usual while between two ends may hang.
const SILENCE: u32 = 16;
/// Weight of the last while in that usual one.
const WEIGHT: u32 = 8;

/// A job that was started and is not stuck.
#[derive(Debug)]
struct Running {
    since: Time,
    slot: u32,
    place: u64,
    /// Jobs that were started later and have ended.
    overtaken: usize,
}

/// Counts started jobs, those that count against the limits and those that are stuck.
#[derive(Debug)]
pub(super) struct Helpers {
    config: DiskConfig,
    limit: Limit,
    /// In order of their start. Short, so a job that ends is found by looking through it.
    running: VecDeque<Running>,
    /// When a job last ended, or was started with none under way.
    progress: Time,
    /// From one such moment to the next, on average, but each no longer than the job took that ended: a
    /// time in which nothing ran but what hangs does not count.
    gap: Duration,
    stuck: usize,
    /// Stuck jobs by place; places without one are absent.
    stuck_at: HashMap<u64, usize>,
}

impl Helpers {
    pub(super) fn new(config: DiskConfig) -> Helpers {
        let (running, gap, stuck, stuck_at) = Default::default();
        let limit = Limit::new(&config);
        Helpers { config, limit, running, progress: Time::ZERO, gap, stuck, stuck_at }
    }

    pub(super) fn under_way(&self) -> usize {
        self.running.len()
    }

    pub(super) fn stuck(&self) -> usize {
        self.stuck
    }

    /// Jobs that the disk takes at once, as learned.
    pub(super) fn learned(&self) -> usize {
        self.limit.learned()
    }

    /// As many run as may.
    pub(super) fn full(&self, now: Time) -> bool {
        let most = self.config.under_way.max(1);
        self.running.len() >= most || self.running.len() - self.late(now) >= self.limit.allowed()
    }

    /// Jobs that seem to wait for something else than the disk. Later starts are late no earlier.
    fn late(&self, now: Time) -> usize {
        self.running.partition_point(|job| self.late_at(job) <= now)
    }

    /// When a job counts as late, unless one ends before: once it has run for long and others have passed
    /// it, or nothing has ended for long. By its time alone a job would be late that waits its turn at a
    /// slow disk.
    fn late_at(&self, job: &Running) -> Time {
        let ran = job.since + self.config.late_after;
        if job.overtaken >= self.limit.allowed() {
            return ran;
        }
        ran.max(self.progress + self.config.late_after.max(self.gap * SILENCE))
    }

    /// When a start may be possible that is not now, unless a job ends before: one is late by then, or
    /// written off. `None`: no more may be.
    pub(super) fn until(&self, now: Time) -> Option<Time> {
        let below_most = self.running.len() < self.config.under_way.max(1);
        let next_late = self.running.get(self.late(now)).filter(|_| below_most);
        let next_late = next_late.map(|job| self.late_at(job));
        next_late.into_iter().chain(self.next_write_off()).min()
    }

    /// Too much is stuck at `place` to send more helpers there.
    pub(super) fn blocked(&self, place: u64) -> bool {
        self.stuck_at.get(&place).is_some_and(|stuck| *stuck >= self.config.stuck_per_place.max(1))
    }

    pub(super) fn start(&mut self, now: Time, slot: u32, place: u64) {
        if self.running.is_empty() {
            self.progress = now;
        }
        self.running.push_back(Running { since: now, slot, place, overtaken: 0 });
    }

    /// Nothing is queued: fewer may run than could.
    pub(super) fn nobody_waits(&mut self, now: Time) {
        if !self.full(now) {
            self.limit.slack();
        }
    }

    /// When the next job is written off, unless it ends before. `None`: no more may be.
    fn next_write_off(&self) -> Option<Time> {
        if self.stuck >= self.config.most_stuck {
            return None;
        }
        self.running.front().map(|oldest| oldest.since + self.config.stuck_after)
    }

    /// Takes one job that has run for too long to be stuck from now on.
    pub(super) fn write_off(&mut self, now: Time) -> Option<u32> {
        self.next_write_off().filter(|at| *at <= now)?;
        let Running { slot, place, .. } = self.running.pop_front()?;
        self.stuck += 1;
        *self.stuck_at.entry(place).or_default() += 1;
        self.limit.slack();
        Some(slot)
    }

    /// A job that was not stuck ended; it was expected to take so many nanoseconds.
    pub(super) fn ended(&mut self, now: Time, slot: u32, expected: u64) {
        let Some(at) = self.running.iter().position(|job| job.slot == slot) else { return };
        if self.late(now) > 0 {
            // More run than the limit says, and what they wait for is not known.
            self.limit.slack();
        }
        let took = self.running.remove(at).map_or(Duration::ZERO, |job| now.since(job.since));
        self.running.iter_mut().take(at).for_each(|job| job.overtaken += 1);
        self.gap = (self.gap * (WEIGHT - 1) + now.since(self.progress).min(took)) / WEIGHT;
        self.progress = now;
        self.limit.done(now, expected, took);
    }

    /// A stuck job ended after all.
    pub(super) fn came_back(&mut self, place: u64) {
        self.stuck = self.stuck.saturating_sub(1);
        if let Some(stuck) = self.stuck_at.get_mut(&place) {
            *stuck -= 1;
            if *stuck == 0 {
                self.stuck_at.remove(&place);
            }
        }
    }
}

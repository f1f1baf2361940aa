//! The helper threads that do disk work: how many are busy, and which are lost for the time being
//! because their job is stuck. The gate asks here whether another job may start.

use std::collections::{HashMap, VecDeque};

use super::DiskConfig;
use crate::time::Time;

/// A job that was started and is not stuck.
#[derive(Debug)]
struct Running {
    since: Time,
    slot: u32,
    place: u64,
}

/// Counts started jobs, those that count against the limit and those that are stuck.
#[derive(Debug)]
pub(super) struct Helpers {
    limits: DiskConfig,
    /// In order of their start. Short, so a job that ends is found by looking through it.
    running: VecDeque<Running>,
    stuck: usize,
    /// Stuck jobs by place; places without one are absent.
    stuck_at: HashMap<u64, usize>,
}

impl Helpers {
    pub(super) fn new(limits: DiskConfig) -> Helpers {
        Helpers { limits, running: VecDeque::new(), stuck: 0, stuck_at: HashMap::new() }
    }

    pub(super) fn under_way(&self) -> usize {
        self.running.len()
    }

    pub(super) fn stuck(&self) -> usize {
        self.stuck
    }

    pub(super) fn full(&self) -> bool {
        self.running.len() >= self.limits.under_way.max(1)
    }

    /// Too much is stuck at `place` to send more helpers there.
    pub(super) fn blocked(&self, place: u64) -> bool {
        self.stuck_at.get(&place).is_some_and(|stuck| *stuck >= self.limits.stuck_per_place.max(1))
    }

    pub(super) fn start(&mut self, now: Time, slot: u32, place: u64) {
        self.running.push_back(Running { since: now, slot, place });
    }

    /// When the next job is written off, unless it ends before. `None`: no more may be.
    pub(super) fn next_write_off(&self) -> Option<Time> {
        if self.stuck >= self.limits.most_stuck {
            return None;
        }
        self.running.front().map(|oldest| oldest.since + self.limits.stuck_after)
    }

    /// Takes one job that has run for too long to be stuck from now on.
    pub(super) fn write_off(&mut self, now: Time) -> Option<u32> {
        self.next_write_off().filter(|at| *at <= now)?;
        let Running { slot, place, .. } = self.running.pop_front()?;
        self.stuck += 1;
        *self.stuck_at.entry(place).or_default() += 1;
        Some(slot)
    }

    /// A job that was not stuck ended.
    pub(super) fn ended(&mut self, slot: u32) {
        if let Some(at) = self.running.iter().position(|job| job.slot == slot) {
            self.running.remove(at);
        }
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

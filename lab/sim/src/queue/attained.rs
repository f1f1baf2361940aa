//! Least attained service without a quantum: those who have had the least share the server equally
//! (foreground-background; Kleinrock, "Queueing Systems" II, section 4.6). It is what the policy
//! `las` comes to as its grants become small.

use std::collections::BinaryHeap;

use super::job::Job;
use super::server::{Ranked, Server};

/// Jobs that have had the same, by size.
#[derive(Debug, Default)]
struct Group {
    /// What each has had.
    attained: f64,
    jobs: BinaryHeap<Ranked>,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct LeastAttained {
    /// Those who have had the least are last.
    groups: Vec<Group>,
    /// Emptied heaps, whose memory is used again.
    spare: Vec<BinaryHeap<Ranked>>,
    now: f64,
}

impl LeastAttained {
    fn pass(&mut self, until: f64, left: &mut impl FnMut(u32, f64)) {
        while let Some(mut group) = self.groups.pop() {
            let Some(smallest) = group.jobs.peek() else {
                self.spare.push(group.jobs);
                continue;
            };
            let sharing = group.jobs.len() as f64;
            let next_group = self.groups.last().map_or(f64::INFINITY, |next| next.attained);
            let target = smallest.key().min(next_group);
            let end = self.now + (target - group.attained) * sharing;
            if end > until {
                group.attained += (until - self.now) / sharing;
                self.now = until;
                self.groups.push(group);
                return;
            }
            self.now = end;
            group.attained = target;
            while let Some(job) = group.jobs.peek().filter(|job| job.key() <= target).copied() {
                group.jobs.pop();
                left(job.place(), end);
            }
            if target < next_group {
                self.groups.push(group);
            } else if let Some(next) = self.groups.last_mut() {
                // The smaller heap goes into the larger one.
                next.jobs.append(&mut group.jobs);
                self.spare.push(group.jobs);
            }
        }
    }
}

impl Server for LeastAttained {
    fn arrive(&mut self, job: Job, place: u32, left: &mut impl FnMut(u32, f64)) {
        self.pass(job.arrival, left);
        self.now = job.arrival;
        let arrived = Ranked::new(job.size, place);
        match self.groups.last_mut() {
            Some(group) if group.attained == 0.0 => group.jobs.push(arrived),
            _ => {
                let mut jobs = self.spare.pop().unwrap_or_default();
                jobs.push(arrived);
                self.groups.push(Group { attained: 0.0, jobs });
            }
        }
    }

    fn end(&mut self, left: &mut impl FnMut(u32, f64)) {
        self.pass(f64::INFINITY, left);
    }
}

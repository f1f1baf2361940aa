//! Starvation relief: a segment now and then for responses that the policy puts off, so that no
//! intermediary cuts their connection. The gate asks here before it asks its policy.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use slab::Slab;

use super::flows::Job;
use crate::time::Time;

/// How soon to look again at a job that is due but cannot be sent.
const AGAIN: Duration = Duration::from_secs(1);

/// The starved get at most one part in so many of the link, however many they are.
const PART: u32 = 20;

/// Remembers when to look at each job; a job that was served meanwhile is looked at later.
#[derive(Debug)]
pub(super) struct StarvationRelief {
    every: Option<Duration>,
    /// When, the job's place, its number.
    looks: BinaryHeap<Reverse<(Time, usize, u64)>>,
    /// Nobody gets anything before.
    not_before: Time,
}

impl StarvationRelief {
    pub(super) fn new(every: Option<Duration>) -> StarvationRelief {
        StarvationRelief { every, looks: BinaryHeap::new(), not_before: Time::ZERO }
    }

    pub(super) fn watch(&mut self, now: Time, place: usize, number: u64, jobs: &Slab<Job>) {
        let Some(every) = self.every else { return };
        if self.looks.len() > 2 * jobs.len() + 1024 {
            self.looks.retain(|Reverse((_, place, number))| is_here(jobs, *place, *number));
        }
        self.looks.push(Reverse((now + every, place, number)));
    }

    /// Somebody got what the link needs `span` for.
    pub(super) fn given(&mut self, now: Time, span: Duration) {
        self.not_before = now + span * PART;
    }

    /// A job that can be sent and has had nothing for the interval.
    pub(super) fn due(&mut self, now: Time, jobs: &Slab<Job>) -> Option<usize> {
        let every = self.every?;
        if now < self.not_before {
            return None;
        }
        while let Some(&Reverse((at, place, number))) = self.looks.peek() {
            if at > now {
                return None;
            }
            self.looks.pop();
            if !is_here(jobs, place, number) {
                continue;
            }
            let job = &jobs[place];
            let due = job.last_grant + every;
            if due > now {
                self.looks.push(Reverse((due, place, number)));
            } else if job.queued {
                self.looks.push(Reverse((now + AGAIN, place, number)));
                return Some(place);
            } else {
                self.looks.push(Reverse((now + AGAIN, place, number)));
            }
        }
        None
    }
}

fn is_here(jobs: &Slab<Job>, place: usize, number: u64) -> bool {
    jobs.get(place).is_some_and(|job| job.number == number)
}

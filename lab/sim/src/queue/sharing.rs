//! Exact processor sharing: all present share the server equally. The reference that others are
//! held against; the policy `fair` approaches it by quanta.

use std::collections::BinaryHeap;

use super::job::Job;
use super::server::{Ranked, Server};

/// Virtual time is the work that each present job has had since the server was last empty, so a job
/// leaves when that reaches what it was at its arrival plus its size.
#[derive(Debug, Default)]
pub(super) struct Sharing {
    present: BinaryHeap<Ranked>,
    now: f64,
    attained: f64,
}

impl Sharing {
    fn pass(&mut self, until: f64, left: &mut impl FnMut(u32, f64)) {
        while let Some(&next) = self.present.peek() {
            let sharing = self.present.len() as f64;
            let end = self.now + (next.key() - self.attained) * sharing;
            if end > until {
                self.attained += (until - self.now) / sharing;
                self.now = until;
                return;
            }
            self.now = end;
            self.attained = next.key();
            self.present.pop();
            left(next.place(), end);
        }
        self.attained = 0.0;
    }
}

impl Server for Sharing {
    fn arrive(&mut self, job: Job, place: u32, left: &mut impl FnMut(u32, f64)) {
        self.pass(job.arrival, left);
        self.now = job.arrival;
        self.present.push(Ranked::new(self.attained + job.size, place));
    }

    fn end(&mut self, left: &mut impl FnMut(u32, f64)) {
        self.pass(f64::INFINITY, left);
    }
}

//! What every server in virtual time does, and the simplest one. It does not know what becomes of
//! the jobs that leave.

use super::Job;

/// A server of speed 1 that is told of jobs in order of arrival.
pub(super) trait Server {
    /// Time passes to the arrival of `job`, and it joins. `left` is told of jobs that have left, by
    /// the place they came with and the time; one that leaves at the very arrival leaves before it.
    fn arrive(&mut self, job: Job, place: u32, left: &mut impl FnMut(u32, f64));

    /// Nobody comes any more; all leave.
    fn end(&mut self, left: &mut impl FnMut(u32, f64));
}

/// First come first served. A job's departure is known when it arrives (Lindley 1952), so nobody
/// has to be kept.
#[derive(Debug, Default)]
pub(super) struct Fifo {
    free_at: f64,
}

impl Server for Fifo {
    fn arrive(&mut self, job: Job, place: u32, left: &mut impl FnMut(u32, f64)) {
        self.free_at = self.free_at.max(job.arrival) + job.size;
        left(place, self.free_at);
    }

    fn end(&mut self, _: &mut impl FnMut(u32, f64)) {}
}

/// A job in a heap by a number; equal ones leave in order of arrival.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Ranked {
    pub(super) key: f64,
    pub(super) order: u64,
    pub(super) place: u32,
}

impl Eq for Ranked {}

impl Ord for Ranked {
    /// The least key is the greatest, for a heap that gives the greatest first.
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        other.key.total_cmp(&self.key).then(other.order.cmp(&self.order))
    }
}

impl PartialOrd for Ranked {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

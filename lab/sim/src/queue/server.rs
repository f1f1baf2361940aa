//! What every server in virtual time does, and the simplest one, first come first served.
//! [`super::Queue`] runs one of them.

use super::job::Job;

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

/// A job in a heap that gives the least number first. Jobs with equal numbers leave such a server
/// at the same time, so their order does not matter.
///
/// It is one integer, the number's bits (those of positive floats ascend with them) and the place:
/// a comparison then needs no branch, which is most of the time of a short heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Ranked(std::cmp::Reverse<u128>);

impl Ranked {
    /// `key` is 0 or more.
    pub(super) fn new(key: f64, place: u32) -> Ranked {
        Ranked(std::cmp::Reverse((u128::from(key.to_bits()) << 32) | u128::from(place)))
    }

    pub(super) fn key(self) -> f64 {
        f64::from_bits((self.0.0 >> 32) as u64)
    }

    pub(super) fn place(self) -> u32 {
        self.0.0 as u32
    }
}

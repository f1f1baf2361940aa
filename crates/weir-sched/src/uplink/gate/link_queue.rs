//! The queue on the link: bytes that were granted and that the link is still sending. The virtual
//! fair server is told of them from here.
//!
//! It is told of them as they pass, not when they are granted. Otherwise a job
//! that arrives meanwhile would miss its share of them, and a share that is missed while few are
//! here takes long to make up when many are: the promise would be off by many grants, not by one.

use std::collections::VecDeque;
use std::time::Duration;

use crate::time::Time;

/// A stretch of time in which the link sends so many bytes of stream.
#[derive(Clone, Copy, Debug)]
pub(super) struct Transmission {
    pub(super) begin: Time,
    pub(super) end: Time,
    pub(super) bytes: u64,
}

impl Transmission {
    /// When `bytes` of it have passed.
    pub(super) fn after(&self, bytes: u64) -> Time {
        let span = u128::from(self.end.as_nanos() - self.begin.as_nanos());
        let nanos = span * u128::from(bytes) / u128::from(self.bytes.max(1));
        self.begin + Duration::from_nanos(nanos as u64)
    }
}

/// Grants in the order in which the link sends them. Whatever changes for all of them at once takes
/// O(1): their own times stay, and are read with a shift.
#[derive(Debug, Default)]
pub(super) struct LinkQueue {
    transmissions: VecDeque<Transmission>,
    /// Nanoseconds by which all pass later than their own times say; below zero: sooner.
    shift: i64,
    bytes: u64,
    free_at: Time,
    /// What has not passed yet does not pass before.
    not_before: Time,
}

impl LinkQueue {
    /// Bytes that have not passed.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// When the last of them will have passed.
    pub(super) fn free_at(&self) -> Time {
        self.free_at
    }

    /// `bytes` follow at `now`, or once the link is free; they take it `span`.
    pub(super) fn add(&mut self, now: Time, bytes: u64, span: Duration) {
        let begin = self.free_at.max(now);
        self.free_at = begin + span;
        self.bytes += bytes;
        let (begin, end) = (moved(begin, -self.shift), moved(self.free_at, -self.shift));
        self.transmissions.push_back(Transmission { begin, end, bytes });
    }

    /// The link is busy for `span` from `now` on with what is no response's; all that has not passed
    /// waits for it.
    pub(super) fn delay(&mut self, now: Time, span: Duration) {
        self.shift = self.shift.saturating_add(nanos(span));
        self.free_at = self.free_at.max(now) + span;
    }

    /// The link is free by `at`, which is not before `now`. If it was not to be, all that has not
    /// passed at `now` passes that much sooner: what would have passed by now does so at once.
    pub(super) fn free_by(&mut self, now: Time, at: Time) {
        let sooner = self.free_at.since(at);
        if sooner.is_zero() {
            return;
        }
        self.shift = self.shift.saturating_sub(nanos(sooner));
        self.free_at = at;
        self.not_before = self.not_before.max(now);
    }

    /// `bytes` of what was added last do not follow after all. Returns how many of them have passed.
    pub(super) fn take_back(&mut self, mut bytes: u64) -> u64 {
        while let Some(last) = self.transmissions.back_mut().filter(|_| bytes > 0) {
            let less = last.bytes.min(bytes);
            let end = last.after(last.bytes - less);
            (last.end, last.bytes) = (end, last.bytes - less);
            if last.bytes == 0 {
                self.transmissions.pop_back();
            }
            self.free_at = moved(end, self.shift);
            self.bytes -= less;
            bytes -= less;
        }
        bytes
    }

    /// The next stretch that has passed at `now`, if there is one.
    pub(super) fn pass(&mut self, now: Time) -> Option<Transmission> {
        let until = moved(now, -self.shift);
        let first = self.transmissions.front_mut()?;
        let passed = if first.end <= until {
            let whole = *first;
            self.transmissions.pop_front();
            whole
        } else {
            let elapsed = u128::from(until.since(first.begin).as_nanos() as u64);
            let span = u128::from(first.end.since(first.begin).as_nanos() as u64);
            let bytes = (u128::from(first.bytes) * elapsed / span.max(1)) as u64;
            if bytes == 0 {
                return None;
            }
            let part = Transmission { begin: first.begin, end: until, bytes };
            first.begin = until;
            first.bytes -= bytes;
            part
        };
        self.bytes -= passed.bytes;
        let begin = moved(passed.begin, self.shift).max(self.not_before);
        let end = moved(passed.end, self.shift).max(begin);
        Some(Transmission { begin, end, bytes: passed.bytes })
    }
}

/// So many nanoseconds after `at`, or before it if they are below zero.
fn moved(at: Time, nanos: i64) -> Time {
    Time::from_nanos(at.as_nanos().saturating_add_signed(nanos))
}

fn nanos(span: Duration) -> i64 {
    i64::try_from(span.as_nanos()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn bytes_pass_in_proportion_to_time() {
        let at = Time::from_nanos;
        let mut link_queue = LinkQueue::default();
        link_queue.add(at(100), 1000, Duration::from_nanos(500));
        link_queue.add(at(200), 100, Duration::from_nanos(50));
        assert_eq!(link_queue.free_at(), at(650));
        assert!(link_queue.pass(at(100)).is_none());
        assert_eq!(link_queue.pass(at(200)).map(|p| p.bytes), Some(200));
        assert_eq!(link_queue.bytes(), 900);
        let rest = link_queue.pass(at(650)).unwrap();
        assert_eq!((rest.begin, rest.end, rest.bytes), (at(200), at(600), 800));
        assert_eq!(rest.after(400), at(400));
        assert_eq!(link_queue.pass(at(650)).map(|p| p.bytes), Some(100));
        assert!(link_queue.pass(at(650)).is_none());
        assert_eq!(link_queue.bytes(), 0);
    }

    #[test]
    fn what_is_no_responses_goes_before_all_that_waits() {
        let at = Time::from_nanos;
        let mut link_queue = LinkQueue::default();
        link_queue.add(at(0), 1000, Duration::from_nanos(1000));
        link_queue.add(at(0), 300, Duration::from_nanos(300));
        assert_eq!(link_queue.pass(at(400)).map(|p| p.bytes), Some(400));
        link_queue.delay(at(400), Duration::from_nanos(50));
        assert!(link_queue.pass(at(450)).is_none());
        assert_eq!(link_queue.pass(at(1050)).map(|p| p.bytes), Some(600));
        assert_eq!(link_queue.pass(at(1350)).map(|p| p.bytes), Some(300));
        link_queue.delay(at(2000), Duration::from_nanos(50));
        assert_eq!(link_queue.free_at(), at(2050));
    }

    #[test]
    fn what_comes_sooner_passes_in_less_time_and_not_before_now() {
        let at = Time::from_nanos;
        let mut link_queue = LinkQueue::default();
        link_queue.add(at(0), 1000, Duration::from_nanos(1000));
        link_queue.add(at(0), 300, Duration::from_nanos(300));
        assert_eq!(link_queue.pass(at(400)).map(|p| p.bytes), Some(400));
        link_queue.free_by(at(400), at(1500));
        assert_eq!(link_queue.free_at(), at(1300));
        link_queue.free_by(at(400), at(1100));
        assert_eq!((link_queue.bytes(), link_queue.free_at()), (900, at(1100)));
        let mut pass = |now| link_queue.pass(at(now)).map(|p| (p.begin, p.end, p.bytes));
        assert_eq!(pass(500), Some((at(400), at(500), 300)));
        assert_eq!(pass(800), Some((at(500), at(800), 300)));
        assert_eq!(pass(1100), Some((at(800), at(1100), 300)));
        // What follows takes its usual time.
        link_queue.add(at(1100), 100, Duration::from_nanos(100));
        assert_eq!(link_queue.free_at(), at(1200));
        assert_eq!(link_queue.pass(at(1150)).map(|p| p.bytes), Some(50));
    }

    #[test]
    fn what_is_taken_back_never_passes() {
        let at = Time::from_nanos;
        let mut link_queue = LinkQueue::default();
        link_queue.add(at(0), 1000, Duration::from_nanos(1000));
        link_queue.add(at(0), 300, Duration::from_nanos(300));
        assert_eq!(link_queue.take_back(500), 0);
        assert_eq!((link_queue.bytes(), link_queue.free_at()), (800, at(800)));
        assert_eq!(link_queue.pass(at(600)).map(|p| p.bytes), Some(600));
        assert_eq!(link_queue.take_back(500), 300);
        assert_eq!((link_queue.bytes(), link_queue.free_at()), (0, at(600)));
    }

    proptest! {
        /// Whatever holds it up or lets it go on sooner: every byte passes once, in order of time, not
        /// before it was known that it may, and by when the link is free.
        #[test]
        fn every_byte_passes_once_and_time_never_goes_back(
            steps in prop::collection::vec((0u8..7, 0u64..1000), 1..400),
        ) {
            let mut now = Time::from_nanos(1_000_000_000);
            let mut link_queue = LinkQueue::default();
            let (mut there, mut passed) = (0, now);
            for (kind, number) in steps {
                let span = Duration::from_nanos(number);
                match kind {
                    0 | 1 => {
                        link_queue.add(now, number, span * (1 + u32::from(kind)));
                        there += number;
                    }
                    2 => link_queue.delay(now, span),
                    3 => {
                        let at = now + span;
                        if link_queue.free_at() > at {
                            passed = now;
                        }
                        link_queue.free_by(now, at);
                        prop_assert!(link_queue.free_at() <= at);
                    }
                    4 => there -= number - link_queue.take_back(number),
                    _ => now += span,
                }
                while let Some(part) = link_queue.pass(now) {
                    prop_assert!(passed <= part.begin && part.begin <= part.end && part.end <= now);
                    passed = part.end;
                    there -= part.bytes;
                }
                prop_assert_eq!(link_queue.bytes(), there);
            }
            let end = link_queue.free_at().max(now);
            while let Some(part) = link_queue.pass(end) {
                there -= part.bytes;
            }
            prop_assert_eq!((link_queue.bytes(), there), (0, 0));
        }
    }
}

//! Processor sharing on paper: when would each job have finished had the link been shared equally?
//! Used by the gate for its fairness ledger and for policies that look at fair finishes, by `fair`,
//! and by the simulator.
//!
//! It moves by bytes, never by a clock: a link is slower than its name at times, and a virtual
//! server that ran on would make every job look late.

use std::collections::BTreeSet;

const FRACTION: u32 = 32;

/// Service that a job present from the beginning would have had, in 2^-32 byte.
///
/// With processor sharing every job present gains the same, so a job of `s` bytes that joins at
/// level `l` finishes when the level reaches `l + s`: the order of finishing never changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Level(u128);

impl Level {
    /// This level and `bytes` more.
    pub fn plus(self, bytes: u64) -> Level {
        Level(self.0 + (u128::from(bytes) << FRACTION))
    }

    /// This level less `bytes`, at least zero.
    pub fn minus(self, bytes: u64) -> Level {
        Level(self.0.saturating_sub(u128::from(bytes) << FRACTION))
    }

    /// Service from `earlier` to this level, in 2^-32 byte; zero if it is not above.
    pub(crate) fn above(self, earlier: Level) -> u128 {
        self.0.saturating_sub(earlier.0)
    }

    /// This level and `service` in 2^-32 byte.
    pub(crate) fn raised(self, service: u128) -> Level {
        Level(self.0 + service)
    }

    /// Whole bytes, rounded down.
    pub(crate) fn bytes(self) -> u64 {
        u64::try_from(self.0 >> FRACTION).unwrap_or(u64::MAX)
    }

    pub(crate) fn raw(self) -> u128 {
        self.0
    }
}

/// Whole bytes in a number of 2^-32 bytes, rounded down.
pub(crate) fn whole_bytes(fixed: i128) -> i64 {
    i64::try_from(fixed >> FRACTION).unwrap_or(if fixed < 0 { i64::MIN } else { i64::MAX })
}

/// A processor-sharing server that is told how many bytes were sent.
///
/// Jobs that left the real server stay until they would have finished here; otherwise the promise
/// to the others would not hold (sizes 10 and 11 at time 0, the first leaves at 9).
#[derive(Debug, Default)]
pub struct VirtualFair {
    level: Level,
    /// What a division left over, in 2^-32 byte: no service is ever lost.
    remainder: u128,
    /// Bytes that were told as sent and came back.
    credit: u64,
    order: BTreeSet<(Level, u32)>,
}

impl VirtualFair {
    /// Where the virtual server stands.
    pub fn level(&self) -> Level {
        self.level
    }

    /// Whether it has nothing to do.
    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// A job of `bytes` joins; returns the level at which it will have finished.
    pub fn join(&mut self, id: u32, bytes: u64) -> Level {
        let finish = self.level.plus(bytes);
        self.order.insert((finish, id));
        finish
    }

    /// A job turns out to be longer by `bytes`; `finish` is what [`VirtualFair::join`] returned.
    pub fn grow(&mut self, id: u32, finish: Level, bytes: u64) -> Level {
        self.order.remove(&(finish, id));
        let longer = finish.max(self.level).plus(bytes);
        self.order.insert((longer, id));
        longer
    }

    /// A job shares until `level`, where [`VirtualFair::serve`] asks whether it goes on.
    pub fn share_until(&mut self, id: u32, level: Level) {
        self.order.insert((level, id));
    }

    /// Forgets a job as if it had finished.
    pub fn forget(&mut self, id: u32, finish: Level) {
        self.order.remove(&(finish, id));
    }

    /// `bytes` bytes were sent, by whichever job. `stopped` is told of every job that has come to
    /// where it stops, with the part of `bytes` after which it did, and may say where it stops next.
    pub fn serve(&mut self, bytes: u64, mut stopped: impl FnMut(u32, u64) -> Option<Level>) {
        let credited = self.credit.min(bytes);
        self.credit -= credited;
        let mut left = (u128::from(bytes - credited) << FRACTION) + self.remainder;
        self.remainder = 0;
        while let Some(&(finish, id)) = self.order.first() {
            let sharing = self.order.len() as u128;
            let needed = finish.above(self.level) * sharing;
            if needed > left {
                // Both fit a machine word for all but idle periods of minutes.
                let (each, rest) = match u64::try_from(left) {
                    Ok(left) => {
                        let sharing = sharing as u64;
                        (u128::from(left / sharing), u128::from(left % sharing))
                    }
                    Err(_) => (left / sharing, left % sharing),
                };
                self.level.0 += each;
                self.remainder = rest;
                return;
            }
            left -= needed;
            self.level = self.level.max(finish);
            self.order.pop_first();
            let next = stopped(id, bytes - whole_bytes(left as i128).max(0) as u64);
            self.order.extend(next.map(|level| (level, id)));
        }
    }

    /// Bytes that were told as sent, came back, and have not been set off against others yet.
    pub fn credit(&self) -> u64 {
        self.credit
    }

    /// `bytes` that were told as sent were not.
    pub fn take_back(&mut self, bytes: u64) {
        self.credit += bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sharing_finishes_the_worked_case_in_its_order() {
        // Jobs (arrival, size) (0,4) (1,2) (2,1) finish at 7, 6, 5 on a unit server.
        let unit = 1_000_000;
        let mut server = VirtualFair::default();
        let mut finished = Vec::new();
        let mut serve = |server: &mut VirtualFair, from: u64, bytes| {
            server.serve(bytes, |id, after| {
                finished.push((id, from + after));
                None
            });
        };
        server.join(0, 4 * unit);
        serve(&mut server, 0, unit);
        server.join(1, 2 * unit);
        serve(&mut server, unit, unit);
        server.join(2, unit);
        serve(&mut server, 2 * unit, 5 * unit);
        let rounded: Vec<_> =
            finished.iter().map(|(id, at)| (*id, (at + unit / 2) / unit)).collect();
        assert_eq!(rounded, [(2, 5), (1, 6), (0, 7)]);
        assert!(server.is_empty());
    }

    #[test]
    fn no_service_is_lost_to_rounding() {
        let mut server = VirtualFair::default();
        for id in 0..7 {
            server.join(id, 1000);
        }
        let mut finished = 0;
        for _ in 0..6999 {
            server.serve(1, |_, _| {
                finished += 1;
                None
            });
        }
        assert_eq!(finished, 0);
        server.serve(1, |_, _| {
            finished += 1;
            None
        });
        assert_eq!(finished, 7);
    }

    #[test]
    fn what_comes_back_is_not_service() {
        let mut server = VirtualFair::default();
        server.join(0, 100);
        server.serve(60, |_, _| None);
        server.take_back(30);
        let mut done = false;
        server.serve(69, |_, _| {
            done = true;
            None
        });
        assert!(!done);
        server.serve(1, |_, _| {
            done = true;
            None
        });
        assert!(done);
    }
}

//! The age of a response at the disks. A response that needs several pieces of a disk's work, one
//! after the other, does not begin to wait anew with each: all have the age of the first. Used by
//! whoever sends a file, once part of it was not in memory.

use std::time::Duration;

use weir_sched::Time;

/// So many pieces of work have one age. Without end, large downloads that began long ago would come
/// before everybody who has begun to wait since.
const PIECES: u32 = 8;

/// A response that wanted nothing of a disk for so long begins to wait anew: it was its client, or
/// the uplink, that it waited for.
const REST: Duration = Duration::from_secs(1);

/// See the module.
#[derive(Debug)]
pub(crate) struct Age {
    since: Time,
    /// When it last got what it had asked for.
    served: Time,
    pieces: u32,
}

impl Age {
    /// Of a response whose first piece was asked for at `since` and has come at `now`.
    pub(crate) fn new(since: Time, now: Time) -> Age {
        Age { since, served: now, pieces: 1 }
    }

    /// The age of the next piece of work, which is asked for at `now`.
    pub(crate) fn of_next(&mut self, now: Time) -> Time {
        if self.pieces >= PIECES || now.since(self.served) > REST {
            *self = Age { since: now, served: now, pieces: 0 };
        }
        self.pieces += 1;
        self.since
    }

    /// What was asked for has come.
    pub(crate) fn served(&mut self, now: Time) {
        self.served = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Time {
        Time::from_nanos(millis * 1_000_000)
    }

    #[test]
    fn pieces_have_the_age_of_the_first() {
        let mut age = Age::new(at(100), at(900));
        for piece in 1..8 {
            assert_eq!(age.of_next(at(1000 + piece)), at(100));
            // However long it takes, it was the disk that was waited for.
            age.served(at(10_000));
        }
        assert_eq!(
            age.of_next(at(10_500)),
            at(10_500),
            "a large file is several requests in a row"
        );
        assert_eq!(age.of_next(at(10_600)), at(10_500));
    }

    #[test]
    fn who_did_not_wait_for_the_disk_has_not_waited() {
        let mut age = Age::new(at(100), at(900));
        assert_eq!(age.of_next(at(1_901)), at(1_901));
        age.served(at(1_950));
        assert_eq!(age.of_next(at(2_950)), at(1_901));
    }
}

//! The machine's monotonic clock in nanoseconds, which all processes read alike: the application and
//! the load generator are two.

use rustix::thread::clock_nanosleep_absolute;
use rustix::time::{ClockId, Timespec, clock_gettime};

/// Nanoseconds of a second.
const SECOND: u64 = 1_000_000_000;

/// Nanoseconds since some moment that is the same for all processes.
pub(crate) fn now() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * SECOND + time.tv_nsec as u64
}

/// Sleep until then, if that is still to come: no earlier, and later by a wake-up.
pub(crate) fn sleep_until(at: u64) {
    let request = Timespec { tv_sec: (at / SECOND) as i64, tv_nsec: ((at % SECOND) as u32).into() };
    while now() < at {
        // A signal ends it early.
        let _ = clock_nanosleep_absolute(ClockId::Monotonic, &request);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_wakes_early() {
        let at = now() + 300_000;
        sleep_until(at);
        assert!(now() >= at);
        // What has passed is not waited for.
        sleep_until(0);
    }
}

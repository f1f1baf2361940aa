//! The monotonic clock, the date as HTTP writes it, and an alarm that is precise to some tens of
//! microseconds. Used wherever the time is needed; what runs within a turn asks [`crate::runtime::turn`]
//! instead, which costs no system call.

use std::cell::Cell;
use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::time::{
    ClockId, Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, clock_gettime,
    timerfd_create, timerfd_settime,
};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use weir_sched::Time;

use crate::sys;

/// Nanoseconds of the monotonic clock, the same for all threads.
pub(crate) fn now() -> Time {
    let now = clock_gettime(ClockId::Monotonic);
    Time::from_nanos(now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64)
}

/// Processor time that this thread has taken so far.
pub(crate) fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// The time since 1970.
pub(crate) fn since_1970() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO)
}

/// Seconds since 1970.
pub(crate) fn unix_seconds() -> i64 {
    i64::try_from(since_1970().as_secs()).unwrap_or(i64::MAX)
}

/// The date as HTTP writes it, made anew once a second.
#[derive(Debug)]
pub(crate) struct DateLine {
    line: Cell<[u8; 29]>,
    /// When the next second begins.
    until: Cell<Time>,
}

impl DateLine {
    pub(crate) fn new() -> DateLine {
        let line = Cell::new(weir_http::message::date::format(0));
        DateLine { line, until: Cell::new(Time::ZERO) }
    }

    /// The date at `now`. A clock that is set is noticed within a second.
    pub(crate) fn at(&self, now: Time) -> [u8; 29] {
        if now >= self.until.get() {
            let since = since_1970();
            let seconds = i64::try_from(since.as_secs()).unwrap_or(i64::MAX);
            self.line.set(weir_http::message::date::format(seconds));
            let rest = Duration::from_nanos(1_000_000_000 - u64::from(since.subsec_nanos()));
            self.until.set(now + rest);
        }
        self.line.get()
    }
}

/// An alarm that is good to some tens of microseconds; the runtime's own timers have 1 ms steps.
#[derive(Debug)]
pub(crate) struct Alarm(AsyncFd<OwnedFd>);

impl Alarm {
    pub(crate) fn new() -> io::Result<Alarm> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        Ok(Alarm(sys::watch(timer, Interest::READABLE)?))
    }

    /// Waits until `at`.
    pub(crate) async fn sleep_until(&self, at: Time) -> io::Result<()> {
        let zero = Timespec { tv_sec: 0, tv_nsec: 0 };
        // A time of zero would disarm the timer.
        let nanos = at.as_nanos().max(1);
        let at = Timespec {
            tv_sec: (nanos / 1_000_000_000) as i64,
            tv_nsec: (nanos % 1_000_000_000) as i64,
        };
        let once = Itimerspec { it_interval: zero, it_value: at };
        timerfd_settime(self.0.get_ref(), TimerfdTimerFlags::ABSTIME, &once)?;
        loop {
            let mut guard = self.0.readable().await?;
            let mut count = [0; 8];
            match guard.try_io(|fd| Ok(rustix::io::read(fd, &mut count)?)) {
                Ok(read) => return read.map(drop),
                Err(_would_block) => {}
            }
        }
    }
}

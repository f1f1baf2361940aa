//! A timer that epoll can wait for with the precision of an hrtimer:
//! microseconds, where epoll's own timeout and tokio's timers have milliseconds.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};

/// A timerfd on the monotonic clock.
pub(crate) struct Timer(OwnedFd);

impl Timer {
    /// A timer that is not set.
    pub(crate) fn new() -> rustix::io::Result<Timer> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        timerfd_create(TimerfdClockId::Monotonic, flags).map(Timer)
    }

    /// Fire once, `wait` seconds from now; at once if that is past.
    pub(crate) fn set(&self, wait: f64) -> rustix::io::Result<()> {
        // Zero would disarm it. A second at most: the caller sets it again.
        let wait = Duration::from_secs_f64(wait.clamp(0.0, 1.0)).max(Duration::from_nanos(1));
        let zero = Timespec { tv_sec: 0, tv_nsec: 0 };
        let once = Itimerspec {
            it_interval: zero,
            it_value: Timespec {
                tv_sec: wait.as_secs() as i64,
                tv_nsec: wait.subsec_nanos().into(),
            },
        };
        timerfd_settime(&self.0, TimerfdTimerFlags::empty(), &once).map(|_| ())
    }

    /// Take note that it has fired, so that epoll is quiet until the next time.
    pub(crate) fn quiet(&self) {
        let mut count = [0; 8];
        let _ = rustix::io::read(&self.0, &mut count);
    }
}

impl AsFd for Timer {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

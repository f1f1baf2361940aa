//! A timer that epoll can wait for with the precision of an hrtimer: microseconds, where epoll's
//! own timeout has milliseconds. The engine sleeps by it.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::io::Result;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};

/// A timerfd on the monotonic clock. Watch it edge-triggered: then it need not be read.
pub(crate) struct Timer {
    descriptor: OwnedFd,
    /// When it fires next, in seconds of the run.
    fires: f64,
}

impl Timer {
    /// A timer that is not set.
    pub(crate) fn new() -> Result<Timer> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let descriptor = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        Ok(Timer { descriptor, fires: f64::INFINITY })
    }

    /// Fire at `at` or before, `now` being the time.
    pub(crate) fn set(&mut self, at: f64, now: f64) -> Result<()> {
        // One that fires too early is cheaper than one more system call for each event.
        if self.fires > now && self.fires <= at {
            return Ok(());
        }
        // Zero would disarm it. A second at most: the caller sets it again.
        let wait = (at - now).clamp(0.0, 1.0);
        let wait = Duration::from_secs_f64(wait).max(Duration::from_nanos(1));
        let zero = Timespec { tv_sec: 0, tv_nsec: 0 };
        let once = Itimerspec {
            it_interval: zero,
            it_value: Timespec {
                tv_sec: wait.as_secs() as i64,
                tv_nsec: wait.subsec_nanos().into(),
            },
        };
        timerfd_settime(&self.descriptor, TimerfdTimerFlags::empty(), &once)?;
        self.fires = now + wait.as_secs_f64();
        Ok(())
    }

    /// It has fired.
    pub(crate) fn fired(&mut self) {
        self.fires = f64::INFINITY;
    }
}

impl AsFd for Timer {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

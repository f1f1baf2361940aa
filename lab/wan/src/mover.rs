//! The thread that moves packets between the two devices. It waits for a device to have packets,
//! for the next packet to be due, or to be told to stop; the lines decide what happens to each
//! packet.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::{self, Errno};
use rustix::time::{
    ClockId, Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, clock_gettime,
    timerfd_create, timerfd_settime,
};

use crate::client::{Towards, client};
use crate::device::Device;
use crate::line::Line;
use crate::{Error, Statistics};

/// Packets read from one device before the other direction and the clock have their turn.
const BATCH: usize = 32;
/// Packet buffers kept for use again.
const SPARE: usize = 8192;

/// What the thread tells others.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    statistics: Mutex<Statistics>,
}

impl Shared {
    pub(crate) fn statistics(&self) -> Statistics {
        *self.statistics.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn publish(&self, statistics: Statistics) {
        *self.statistics.lock().unwrap_or_else(PoisonError::into_inner) = statistics;
    }
}

/// Both directions, and what wakes the thread.
pub(crate) struct Mover {
    left: Arc<Device>,
    right: Arc<Device>,
    down: Line<Vec<u8>>,
    up: Line<Vec<u8>>,
    wake: Wake,
    spare: Vec<Vec<u8>>,
    room: usize,
    shared: Arc<Shared>,
}

/// What the thread waits for.
struct Wake {
    epoll: OwnedFd,
    timer: OwnedFd,
    /// Kept so that it stays in the epoll set.
    _stop: Arc<OwnedFd>,
    /// The clock at the origin of the lines' time.
    origin: Duration,
    armed: Option<Duration>,
}

/// What woke the thread.
#[derive(Clone, Copy, Debug, Default)]
struct Ready {
    left: bool,
    right: bool,
    stop: bool,
}

const STOP: u64 = 0;
const TIMER: u64 = 1;
const LEFT: u64 = 2;
const RIGHT: u64 = 3;

impl Mover {
    pub(crate) fn new(
        (left, right): (Arc<Device>, Arc<Device>),
        (down, up): (Line<Vec<u8>>, Line<Vec<u8>>),
        stop: Arc<OwnedFd>,
        shared: Arc<Shared>,
    ) -> Result<Mover, Error> {
        let wake = Wake::new(&left, &right, stop)
            .map_err(|error| Error::new(format!("cannot wait for packets: {error}")))?;
        let room = left.mtu().max(right.mtu());
        Ok(Mover { left, right, down, up, wake, spare: Vec::new(), room, shared })
    }

    /// Move packets until told to stop.
    ///
    /// # Errors
    ///
    /// A device that vanished (its namespace was removed, say) ends the link.
    pub(crate) fn run(mut self) -> Result<(), Error> {
        loop {
            let ready = self.wake.wait()?;
            if ready.left {
                self.take(Towards::Clients)?;
            }
            if ready.right {
                self.take(Towards::Server)?;
            }
            self.give(Towards::Clients);
            self.give(Towards::Server);
            let due = [self.down.next_due(), self.up.next_due()].into_iter().flatten().min();
            self.wake.arm(due)?;
            self.publish();
            if ready.stop {
                return Ok(());
            }
        }
    }

    fn publish(&self) {
        self.shared.publish(Statistics { down: self.down.counts(), up: self.up.counts() });
    }

    /// Read a batch from the sending device. If there is more, the next wait says so at once.
    fn take(&mut self, towards: Towards) -> Result<(), Error> {
        let (from, line) = match towards {
            Towards::Clients => (&self.left, &mut self.down),
            Towards::Server => (&self.right, &mut self.up),
        };
        for _ in 0..BATCH {
            let mut packet = self.spare.pop().unwrap_or_else(|| Vec::with_capacity(self.room));
            match io::read(from.as_fd(), spare_capacity(&mut packet)) {
                Ok(0) => break,
                Ok(bytes) => {
                    let client = client(&packet, towards);
                    let back = line.push(self.wake.now(), client, bytes, packet);
                    self.spare.extend(back.map(emptied));
                }
                Err(Errno::AGAIN) => {
                    self.spare.push(packet);
                    break;
                }
                Err(Errno::INTR) => self.spare.push(packet),
                Err(error) => {
                    return Err(Error::new(format!(
                        "cannot read packets from {}: {error}",
                        from.place()
                    )));
                }
            }
        }
        Ok(())
    }

    /// Write what is due to the receiving device.
    fn give(&mut self, towards: Towards) {
        let (to, line) = match towards {
            Towards::Clients => (&self.right, &mut self.down),
            Towards::Server => (&self.left, &mut self.up),
        };
        while let Some(packet) = line.pop_due(self.wake.now()) {
            // A device that is down or short of memory does not take it; that is counted.
            if io::write(to.as_fd(), &packet).is_err() {
                line.refused(packet.len());
            }
            if self.spare.len() < SPARE {
                self.spare.push(emptied(packet));
            }
        }
    }
}

fn emptied(mut packet: Vec<u8>) -> Vec<u8> {
    packet.clear();
    packet
}

impl Wake {
    fn new(left: &Device, right: &Device, stop: Arc<OwnedFd>) -> io::Result<Wake> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        // The timer is never read: setting it again resets it, and edges tell when it fires.
        let edge = EventFlags::IN | EventFlags::ET;
        epoll::add(&epoll, &timer, EventData::new_u64(TIMER), edge)?;
        epoll::add(&epoll, &stop, EventData::new_u64(STOP), EventFlags::IN)?;
        epoll::add(&epoll, left, EventData::new_u64(LEFT), EventFlags::IN)?;
        epoll::add(&epoll, right, EventData::new_u64(RIGHT), EventFlags::IN)?;
        Ok(Wake { epoll, timer, _stop: stop, origin: clock(), armed: None })
    }

    /// Time on the lines' clock.
    fn now(&self) -> Duration {
        clock().saturating_sub(self.origin)
    }

    /// Wait for anything.
    fn wait(&mut self) -> Result<Ready, Error> {
        let mut events = Vec::with_capacity(4);
        match epoll::wait(&self.epoll, spare_capacity(&mut events), None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(Error::new(format!("cannot wait for packets: {error}"))),
        }
        let mut ready = Ready::default();
        for event in events {
            match event.data.u64() {
                STOP => ready.stop = true,
                TIMER => self.armed = None,
                LEFT => ready.left = true,
                _ => ready.right = true,
            }
        }
        Ok(ready)
    }

    /// Wake up at this time on the lines' clock, too.
    fn arm(&mut self, due: Option<Duration>) -> Result<(), Error> {
        // Waking once too often for a time that is past costs less than stopping the timer.
        let Some(due) = due.filter(|&due| self.armed != Some(due)) else {
            return Ok(());
        };
        let at = self.origin.saturating_add(due);
        let it_value = Timespec {
            tv_sec: i64::try_from(at.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(at.subsec_nanos()),
        };
        let it_interval = Timespec { tv_sec: 0, tv_nsec: 0 };
        let when = Itimerspec { it_interval, it_value };
        timerfd_settime(&self.timer, TimerfdTimerFlags::ABSTIME, &when)
            .map_err(|error| Error::new(format!("cannot set the link's timer: {error}")))?;
        self.armed = Some(due);
        Ok(())
    }
}

/// The monotonic clock, as the timer counts it.
fn clock() -> Duration {
    let now = clock_gettime(ClockId::Monotonic);
    Duration::new(now.tv_sec.unsigned_abs(), u32::try_from(now.tv_nsec).unwrap_or_default())
}

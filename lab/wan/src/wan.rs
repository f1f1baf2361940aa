//! The link as callers use it: made, asked for its statistics, stopped. The mover carries the
//! packets.

use std::fmt;
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread::JoinHandle;

use rustix::event::{EventfdFlags, eventfd};

use crate::device::Device;
use crate::line::Line;
use crate::mover::{Mover, Shared};
use crate::{End, Error, Options, Statistics};

/// A link between two namespaces. Its devices exist, and its thread runs, as long as this value.
pub struct Wan {
    left: Arc<Device>,
    right: Arc<Device>,
    shared: Arc<Shared>,
    stop: Arc<OwnedFd>,
    thread: Option<JoinHandle<Result<(), Error>>>,
}

impl Wan {
    /// Make the devices at both ends and let packets through: from left (the server) to right (the
    /// clients) is `down`, back is `up`. Each end gets routes to the networks of the other's
    /// addresses. Needs root; the namespaces must exist.
    ///
    /// The thread gets the round-robin real-time class if `chrt` may give it, so that a busy machine
    /// does not make packets late.
    ///
    /// # Errors
    ///
    /// Says which option cannot be, or which device could not be made, and why. Nothing is left
    /// behind then.
    pub fn start(left: &End, right: &End, options: &Options) -> Result<Wan, Error> {
        let Options { down, up, classes, seed } = options;
        let lines = (Line::new(down, classes, *seed, 0)?, Line::new(up, classes, *seed, 1)?);
        let devices = (Arc::new(Device::make(left, right)?), Arc::new(Device::make(right, left)?));
        let failed =
            |error: &dyn fmt::Display| Error::new(format!("cannot start the link: {error}"));
        let stop = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK);
        let stop = Arc::new(stop.map_err(|error| failed(&error))?);
        let shared = Arc::new(Shared::default());
        let mover = Mover::new(devices.clone(), lines, stop.clone(), shared.clone())?;
        let (ready, is_ready) = channel();
        let work = move || {
            go_first();
            // Whoever waits for this has not gone away.
            let _ = ready.send(());
            mover.run()
        };
        let thread = std::thread::Builder::new().name("weir-wan".into()).spawn(work);
        let thread = Some(thread.map_err(|error| failed(&error))?);
        // A thread that cannot even say so has ended: that is asked for later.
        let _ = is_ready.recv();
        let (left, right) = devices;
        Ok(Wan { left, right, shared, stop, thread })
    }

    /// What the link did so far; what the thread is just doing may be missing.
    pub fn stats(&self) -> Statistics {
        let mut statistics = self.shared.statistics();
        statistics.down.overrun = self.left.overrun();
        statistics.up.overrun = self.right.overrun();
        statistics
    }

    /// Whether the thread has ended by itself; [`Wan::stop`] says why.
    pub fn has_failed(&self) -> bool {
        self.thread.as_ref().is_some_and(JoinHandle::is_finished)
    }

    /// Stop, remove the devices, and say what the link did in all.
    ///
    /// # Errors
    ///
    /// Says why the thread had ended before, if it had: a device was removed by someone else.
    pub fn stop(mut self) -> Result<Statistics, Error> {
        self.join()?;
        Ok(self.stats())
    }

    fn join(&mut self) -> Result<(), Error> {
        let Some(thread) = self.thread.take() else {
            return Ok(());
        };
        rustix::io::write(&*self.stop, &1u64.to_ne_bytes())
            .map_err(|error| Error::new(format!("cannot stop the link's thread: {error}")))?;
        thread.join().unwrap_or_else(|_| Err(Error::new("the link's thread panicked")))
    }
}

impl Drop for Wan {
    fn drop(&mut self) {
        // Whoever drops the link does not want to know.
        let _ = self.join();
    }
}

impl fmt::Debug for Wan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = format!("Wan({} to {})", self.left.place(), self.right.place());
        f.debug_struct(&name).field("statistics", &self.stats()).finish_non_exhaustive()
    }
}

/// Give this thread the round-robin class, if that is allowed here.
fn go_first() {
    let thread = rustix::thread::gettid().as_raw_nonzero().to_string();
    let mut command = Command::new("chrt");
    command.args(["--rr", "-p", "1", &thread]).stdin(Stdio::null());
    // Without it the link works, only later on a busy machine: that is in the statistics.
    let _ = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
}

//! The generator's thread before all ordinary work on its core. In the ordinary class a thread that wakes
//! waits until whoever runs has used up its slice, some milliseconds, and kernel threads run for as long:
//! starts of requests would be late by it. Experiments and `weir-costs` send with it.

use weir_peers::{Result, tool};

/// The priority of load generators in the round-robin class (sched(7)): before servers, which experiments
/// on links start in this class with 1, and after slow disks, which have 3.
const GENERATOR: u8 = 2;

/// The calling thread is in the round-robin class until this is dropped.
#[derive(Debug)]
pub struct BeforeOrdinary {
    thread: i32,
}

impl BeforeOrdinary {
    /// Put the calling thread there. What it starts meanwhile is there, too.
    ///
    /// # Errors
    ///
    /// Without `chrt`, or when it may not.
    pub fn begin() -> Result<BeforeOrdinary> {
        let thread = rustix::thread::gettid().as_raw_pid();
        tool::run(&format!("chrt --rr -p {GENERATOR} {thread}"))?;
        Ok(BeforeOrdinary { thread })
    }
}

impl Drop for BeforeOrdinary {
    fn drop(&mut self) {
        // It was allowed to rise, so it may come down.
        let _ = tool::run(&format!("chrt --other -p 0 {}", self.thread));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_thread_comes_first_until_it_is_done() {
        assert!(
            rustix::process::geteuid().is_root(),
            "real-time priorities need root: run it with sudo"
        );
        let class = || {
            let thread = rustix::thread::gettid().as_raw_pid();
            tool::run(&format!("chrt -p {thread}")).expect("chrt shows the class")
        };
        let first = BeforeOrdinary::begin().expect("root may raise its priority");
        assert!(class().contains("SCHED_RR"), "{}", class());
        drop(first);
        assert!(class().contains("SCHED_OTHER"), "{}", class());
    }
}

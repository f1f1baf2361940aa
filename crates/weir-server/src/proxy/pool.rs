//! Connections to one backend that are kept between calls, one pool to a worker.

use std::cell::RefCell;
use std::time::Duration;

use super::conn::Conn;
use crate::clock;
use weir_sched::Time;

/// Connections that are kept at most.
const MAX_IDLE: usize = 1024;

/// See the module.
#[derive(Default)]
pub(super) struct Pool(RefCell<Vec<(Conn, Time)>>);

impl Pool {
    /// The connection that was used last, of those the backend has not closed.
    pub(super) fn take(&self) -> Option<Conn> {
        loop {
            let (mut conn, _) = self.0.borrow_mut().pop()?;
            if conn.is_ready() {
                return Some(conn);
            }
        }
    }

    /// Keeps a connection whose answer was read whole, if it can be used again.
    pub(super) fn keep(&self, mut conn: Conn) {
        if !conn.is_ready() {
            return;
        }
        let mut idle = self.0.borrow_mut();
        if idle.len() < MAX_IDLE {
            idle.push((conn, clock::now()));
        }
    }

    /// Closes those that nobody has used for `longest`.
    pub(super) fn sweep(&self, max_idle: Duration) {
        let now = clock::now();
        let mut idle = self.0.borrow_mut();
        let old = idle.iter().take_while(|(_, since)| now.since(*since) >= max_idle).count();
        idle.drain(..old);
    }
}

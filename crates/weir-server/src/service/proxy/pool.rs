//! Idle connections of one worker to one backend, kept for later calls. Used by [`super::attempt`] and
//! [`super::call`], and swept by [`super::route`].

use std::cell::RefCell;
use std::time::Duration;

use super::connection::Conn;
use crate::runtime::turn;
use crate::sys::clock;
use weir_sched::Time;

/// The most connections that are kept.
const MAX_IDLE: usize = 1024;

/// See the module.
#[derive(Default)]
pub(super) struct Pool(RefCell<Vec<(Conn, Time)>>);

impl Pool {
    /// The most recently used connection that the backend has not closed.
    pub(super) fn take(&self) -> Option<Conn> {
        loop {
            let (mut conn, _) = self.0.borrow_mut().pop()?;
            if conn.is_ready() {
                return Some(conn);
            }
        }
    }

    /// Keeps a connection whose response was read to its end, if it can be used again.
    pub(super) fn keep(&self, mut conn: Conn) {
        if !conn.is_ready() {
            return;
        }
        let mut idle = self.0.borrow_mut();
        if idle.len() < MAX_IDLE {
            idle.push((conn, turn::began()));
        }
    }

    /// Closes those that have been idle for `max_idle`.
    pub(super) fn sweep(&self, max_idle: Duration) {
        let now = clock::now();
        let mut idle = self.0.borrow_mut();
        let old = idle.iter().take_while(|(_, since)| now.since(*since) >= max_idle).count();
        idle.drain(..old);
    }
}

//! How long a request waits at a gate, if that is collected for the access log. Used by the exchange, by
//! `send` and by the proxy, around whatever waits, and by `content` for what is no such wait.

use std::cell::Cell;

use weir_sched::Time;

use super::turn;
use crate::logs::access_log::{Details, GateKind};

/// A wait that is under way. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Wait<'a> {
    details: &'a Details,
    gate: GateKind,
    /// When it began, later by how long it was no wait.
    since: Cell<Time>,
}

/// A time within a wait in which something else is waited for. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Pause<'w> {
    wait: &'w Wait<'w>,
    since: Time,
}

impl<'a> Wait<'a> {
    /// Begins to wait; `None`: nothing is collected.
    pub(crate) fn at(gate: GateKind, details: Option<&'a Details>) -> Option<Wait<'a>> {
        details.map(|details| Wait { details, gate, since: Cell::new(turn::began()) })
    }

    /// Waits for something else for a while.
    pub(crate) fn pause(&self) -> Pause<'_> {
        Pause { wait: self, since: turn::began() }
    }
}

impl Drop for Wait<'_> {
    fn drop(&mut self) {
        self.details.has_waited(self.gate, turn::began().since(self.since.get()));
    }
}

impl Drop for Pause<'_> {
    fn drop(&mut self) {
        let since = &self.wait.since;
        since.set(since.get() + turn::began().since(self.since));
    }
}

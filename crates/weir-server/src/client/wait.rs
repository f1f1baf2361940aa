//! How long a request waits at a gate, if that is collected for the access log. Used by the exchange, by
//! `send` and by the proxy, around whatever waits.

use weir_sched::Time;

use crate::logs::access_log::{Details, GateKind};
use crate::runtime::turn;

/// A wait that is under way. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Wait<'a> {
    details: &'a Details,
    gate: GateKind,
    since: Time,
}

impl<'a> Wait<'a> {
    /// Begins to wait; `None`: nothing is collected.
    pub(crate) fn at(gate: GateKind, details: Option<&'a Details>) -> Option<Wait<'a>> {
        details.map(|details| Wait { details, gate, since: turn::began() })
    }
}

impl Drop for Wait<'_> {
    fn drop(&mut self) {
        self.details.has_waited(self.gate, turn::began().since(self.since));
    }
}

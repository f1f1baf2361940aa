//! Messages about connections that are refused before their first request: one line for the first, then
//! a count every ten seconds, so that nobody fills the log by connecting. Used for connections without a
//! valid PROXY header.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use crate::identity::PeerAddress;

/// How often a line says how many were refused since the last.
const PERIOD: Duration = Duration::from_secs(10);

/// The refusals of one worker.
#[derive(Debug, Default)]
pub(crate) struct Refusals(Rc<Tally>);

#[derive(Debug, Default)]
struct Tally {
    /// Refusals are counted instead of logged one by one.
    counting: Cell<bool>,
    count: Cell<u64>,
    last: RefCell<String>,
}

impl Refusals {
    /// Logs, or counts, that `peer` was refused.
    pub(crate) fn tell(&self, peer: PeerAddress, why: &str) {
        if self.0.take_note(peer, why) {
            return;
        }
        tracing::warn!("connection from {peer} refused: {why}");
        let tally = self.0.clone();
        tokio::task::spawn_local(async move {
            loop {
                tokio::time::sleep(PERIOD).await;
                let Some(summary) = tally.summary() else { break };
                tracing::warn!("{summary}");
            }
            tally.counting.set(false);
        });
    }

    /// Logs the count of those that were only counted so far.
    pub(crate) fn flush(&self) {
        if let Some(summary) = self.0.summary() {
            tracing::warn!("{summary}");
        }
    }
}

impl Tally {
    /// Counts a refusal; false if it is to be logged.
    fn take_note(&self, peer: PeerAddress, why: &str) -> bool {
        if !self.counting.replace(true) {
            return false;
        }
        self.count.set(self.count.get() + 1);
        *self.last.borrow_mut() = format!("{peer}: {why}");
        true
    }

    /// The line about those that were counted since the last time; `None`: there were none.
    fn summary(&self) -> Option<String> {
        let count = self.count.take();
        let last = self.last.take();
        (count > 0).then(|| format!("{count} more connections refused, the last from {last}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_is_told_and_the_others_are_counted() {
        let tally = Tally::default();
        let note =
            |port: u16| tally.take_note(PeerAddress::Ip(([192, 0, 2, 1], port).into()), "why");
        assert!(!note(1));
        assert_eq!(tally.summary(), None);
        assert!(note(2) && note(3));
        let expected = "2 more connections refused, the last from 192.0.2.1:3: why";
        assert_eq!(tally.summary().as_deref(), Some(expected));
        assert_eq!(tally.summary(), None);
        tally.counting.set(false);
        assert!(!note(4));
    }
}

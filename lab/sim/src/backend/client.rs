//! Somebody who wants something of the application, and one request of theirs, as a run keeps them.

use std::time::Duration;

use weir_sched::{Call, Time};

/// For what a client counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Counted {
    /// Nothing: it came in the warm-up, or after what is watched.
    Not,
    /// It came in the window.
    InWindow,
    /// It came after the load had dropped.
    Newcomer,
}

/// Somebody who wants something.
#[derive(Clone, Copy, Debug)]
pub(super) struct Client {
    /// Its address, as the gate sees it.
    pub(super) address: u64,
    /// When it came for the first time.
    pub(super) came: Time,
    /// What it asks for, in bytes.
    pub(super) size: f64,
    /// How long a worker takes for this.
    pub(super) service: Duration,
    /// How often it will ask again.
    pub(super) retries: u32,
    /// For what it counts.
    pub(super) counted: Counted,
}

impl Client {
    /// The client as it asks again; `None` if it has asked often enough.
    pub(super) fn again(self) -> Option<Client> {
        Some(Client { retries: self.retries.checked_sub(1)?, ..self })
    }

    /// Whether it came in the window.
    pub(super) fn in_window(&self) -> bool {
        self.counted == Counted::InWindow
    }
}

/// One request of a client.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    /// Who asks.
    pub(super) client: Client,
    /// When it asked.
    pub(super) asked: Time,
    /// The gate's name for it.
    pub(super) call: Call,
}

//! A call of a backend as its gate sees it, and what the gate answers. Used by whoever owns a
//! [`BackendGate`](super::BackendGate): the server's proxy and the simulator.

use std::time::Duration;

use crate::time::Time;

/// What is known of a call when it arrives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallSpec {
    /// The owner's name for it, handed back with every decision.
    pub tag: u64,
    /// Its route: patience and service times are learned for each.
    pub route: u32,
    /// Strict: while calls of a lesser number wait, those of greater ones do.
    pub priority: u8,
    /// Who asks; equal for one client.
    pub client: u64,
    /// What is asked, as a hash: service times are learned for each. 0: unknown.
    pub kind: u64,
    /// For [`BackendOrder::Edf`](super::BackendOrder::Edf). `None`: its arrival and the patience of
    /// its route.
    pub deadline: Option<Time>,
}

/// One call. The name of one that has gone is never taken for its successor's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Call {
    pub(super) slot: u32,
    pub(super) number: u64,
}

/// What a client's departure means for its call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Abandoned {
    /// It waited and is forgotten: nothing else is to do.
    Waiting,
    /// The backend works on it: report its end with
    /// [`BackendGate::ended`](super::BackendGate::ended) or
    /// [`BackendGate::failed`](super::BackendGate::failed). Its slot stays taken until then, or
    /// until the backend shows that it serves others meanwhile. If the backend then stops its owner
    /// closes the connection to the backend, and reports the end when the backend has closed it
    /// too.
    UnderWay,
    /// The gate does not know it: it has ended, was refused, or was another gate's.
    Unknown,
}

/// What the owner does now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallNext {
    /// Give this call to the backend.
    Start {
        /// The call.
        call: Call,
        /// Its owner's name.
        tag: u64,
    },
    /// Answer this call with 503: nearly nobody waits longer than it has, with the adaptive order it
    /// would go last from now on, or too many wait. It has left the gate.
    Refuse {
        /// The call.
        call: Call,
        /// Its owner's name.
        tag: u64,
        /// After how long to try again, 1 to 60 s: the longer of the time that what waits takes at
        /// the rate at which calls end just now, and the time for which calls have waited without
        /// a break. (Of an overload of unknown length the best guess is that it is half over.)
        retry_after: Duration,
    },
    /// No waiting call may start now. Ask again when one under way has been answered or has ended.
    Full {
        /// When to ask again even if nothing has happened: someone has waited too long then, or a
        /// call under way has lasted so long that its slot may go to another.
        until: Option<Time>,
    },
    /// Nothing waits.
    Idle,
}

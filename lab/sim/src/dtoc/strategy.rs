//! What the server does about clients that left: the paper's two strategies and some beyond it.

use std::fmt;
use std::str::FromStr;

/// How the server treats its queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// First come first served, and nobody is asked whether they still wait (the paper's).
    Regular,
    /// First come first served; the dead are dropped when they are taken from the queue (the
    /// paper's DTOC).
    Check,
    /// As [`Strategy::Check`], and a request in service stops at the moment its client leaves.
    Abort,
    /// Shortest first, in the order of [`weir_sched::policy::PSJF`]; of equal ones the newest,
    /// because the oldest of the size that just does not fit any more is always about to leave.
    /// Those whose clients leave go from the queue, and from service, at once. The request in
    /// service is not put back for a shorter one: like the paper's, the server does one at a time.
    SrptPurge,
    /// Newest first; the dead are dropped when they are taken from the queue. They keep their
    /// places until then, so a newcomer can find the queue full.
    Lifo,
    /// As [`Strategy::Check`], and what cannot be finished before its client leaves is dropped too
    /// (the server knows how long a request will take). The client is not told: it waits for its
    /// timeout.
    Drop,
}

impl Strategy {
    /// Every strategy, in the order of the documentation.
    pub const ALL: [Strategy; 6] = [
        Strategy::Regular,
        Strategy::Check,
        Strategy::Abort,
        Strategy::SrptPurge,
        Strategy::Lifo,
        Strategy::Drop,
    ];

    /// The name on the command line and in results.
    pub fn name(self) -> &'static str {
        match self {
            Strategy::Regular => "regular",
            Strategy::Check => "check",
            Strategy::Abort => "abort",
            Strategy::SrptPurge => "srpt-purge",
            Strategy::Lifo => "lifo",
            Strategy::Drop => "drop",
        }
    }

    /// Whether a request is looked at when it is taken from the queue.
    pub(super) fn checks(self) -> bool {
        self != Strategy::Regular
    }

    /// Whether a request in service stops when its client leaves.
    pub(super) fn aborts(self) -> bool {
        matches!(self, Strategy::Abort | Strategy::SrptPurge)
    }

    /// Whether a request leaves the queue when its client does.
    pub(super) fn purges(self) -> bool {
        self == Strategy::SrptPurge
    }

    /// Whether the check also drops what cannot be finished in time.
    pub(super) fn drops_late(self) -> bool {
        self == Strategy::Drop
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Strategy {
    type Err = String;

    fn from_str(name: &str) -> Result<Strategy, String> {
        Strategy::ALL.into_iter().find(|strategy| strategy.name() == name).ok_or_else(|| {
            let names = Strategy::ALL.map(Strategy::name).join(", ");
            format!("no strategy is called \"{name}\"; there are {names}")
        })
    }
}

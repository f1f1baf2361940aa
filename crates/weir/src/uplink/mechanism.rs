//! Which of the kernel's queues make the bands: `ets` or `prio` under a shaper where the kernel has them,
//! otherwise classes of HTB. Chosen by `install`, recognised by `queues`, shown by `show`.

use std::fmt;

use serde::{Deserialize, Serialize};

use weir_server::bands::QUEUE_HANDLE;

use super::tool::{self, Trouble};

/// Handle of the queue of `ets` or `prio` under the shaper, and the first of those of the bands.
pub(super) const ORDER_HANDLE: u16 = QUEUE_HANDLE + 1;
pub(super) const FIRST_BAND_HANDLE: u16 = QUEUE_HANDLE + 11;

/// What orders the bands below HTB's rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(super) enum Mechanism {
    /// The queue `ets`: strict bands, and the last two in shares.
    Ets,
    /// The queue `prio`: strict bands.
    Prio,
    /// A class of HTB for each band: what HTB guarantees goes before what it lends, and it lends by
    /// priority.
    Htb,
}

impl Mechanism {
    /// Its name, which is that of the kernel's queue.
    pub(super) fn name(self) -> &'static str {
        match self {
            Mechanism::Ets => "ets",
            Mechanism::Prio => "prio",
            Mechanism::Htb => "htb",
        }
    }

    /// Whether packets reach their bands by rules of nftables; the others read SO_PRIORITY themselves.
    pub(super) fn needs_rules(self) -> bool {
        self == Mechanism::Htb
    }

    /// What the queue of a band hangs from: a class of HTB, or a band of `ets` or `prio`.
    pub(super) fn parent_of(self, band: usize) -> String {
        match self {
            Mechanism::Htb => class(band),
            _ => format!("{ORDER_HANDLE:x}:{:x}", band + 1),
        }
    }

    /// The best that this kernel has. Each is tried in a network namespace of its own, which most
    /// machines let everybody make; where none may be made, it is HTB, which shapes in any case.
    pub(super) fn of_this_kernel() -> Mechanism {
        let tried = [Mechanism::Ets, Mechanism::Prio].into_iter().find(|&one| one.works());
        tried.unwrap_or(Mechanism::Htb)
    }

    fn works(self) -> bool {
        let add = ["tc", "qdisc", "add", "dev", "lo", "root", self.name(), "bands", "3"];
        let within = |namespace: &[&str]| tool::output("unshare", &[namespace, &add].concat());
        match within(&["--net"]) {
            Err(Trouble::Denied(_)) => within(&["--map-root-user", "--net"]).is_ok(),
            result => result.is_ok(),
        }
    }
}

/// The class of HTB of a band, as `tc` and `nft` write it.
pub(super) fn class(band: usize) -> String {
    format!("{QUEUE_HANDLE:x}:{:x}", 0x10 + band)
}

impl fmt::Display for Mechanism {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

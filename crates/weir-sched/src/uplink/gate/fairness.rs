//! The fairness ledger: how much sooner or later each response was sent than under virtual
//! processor sharing. Read by the server's metrics and by the simulator's tests of the promise.

use std::time::Duration;

use crate::time::Time;

/// A client that did not read explains lateness of so many times as long: each time that it reads
/// again it waits for its turn, with less to lose than the ledger counts, for it still has what it
/// was sent before.
const EXPLAINED: u32 = 4;

/// A response that both the real and the virtual fair server have finished.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FairnessRecord {
    /// Bytes of the response; of all of them if several ranges counted as one.
    pub size: u64,
    /// Seconds by which it was sent before fair sharing would have; negative if after.
    pub won: f64,
    /// It was sent after, and its client took nothing for so long, beyond what its path explains,
    /// that nobody can say whether it was kept waiting.
    pub client_was_slow: bool,
}

/// A response was sent at `real` and by fair sharing at `fair`; its client did not read for `own`.
pub(super) fn record(size: u64, real: Time, fair: Time, own: Duration) -> FairnessRecord {
    let late = real.since(fair);
    let won = fair.since(real).as_secs_f64() - late.as_secs_f64();
    FairnessRecord { size, won, client_was_slow: !late.is_zero() && own * EXPLAINED >= late }
}

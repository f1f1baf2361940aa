//! The fairness ledger: what each response won or lost against virtual processor sharing.

use crate::time::Time;

/// A response that both the real and the virtual fair server have finished.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settled {
    /// Bytes of the response; of all of them if several ranges counted as one.
    pub size: u64,
    /// Seconds by which it was sent before fair sharing would have; negative if after.
    pub won: f64,
}

pub(super) fn settle(size: u64, real: Time, fair: Time) -> Settled {
    Settled { size, won: fair.since(real).as_secs_f64() - real.since(fair).as_secs_f64() }
}

//! What the gate of a backend has done so far, as totals. Read by the server's metrics and by the
//! simulator's results.

use std::time::Duration;

/// Totals since the gate was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Calls whose client left while they waited: forgotten at once.
    pub abandoned_waiting: u64,
    /// Calls whose client left while the backend worked on them.
    pub abandoned_under_way: u64,
    /// Calls refused: they had waited too long, or too many waited.
    pub refused: u64,
    /// Calls given to the backend; one that was put back and given again counts again.
    pub started: u64,
    /// Calls that the backend is done with.
    pub ended: u64,
    /// Calls that the backend gave no answer to.
    pub failed: u64,
    /// Started calls that were put back into the queue, or dropped then as their client had left.
    pub requeued: u64,
    /// Expected service time of the calls that were forgotten while they waited: work the backend
    /// was spared. Nothing is added where nothing is known of a call's route.
    pub dead_work_saved: Duration,
    /// Time from a client's departure to the end of its call at the backend, over all calls that
    /// were under way: while it lasted a slot was held for nobody.
    pub dead_work_wasted: Duration,
}

//! How long calls may wait: when the newest goes first, and which call is refused. Used by the gate
//! for each decision; what it goes by is learned in [`crate::backend::patience`].

use std::collections::BTreeMap;
use std::time::Duration;

use super::{BackendGate, MOST_ROUTES};
use crate::backend::config::BackendOrder;
use crate::backend::patience::{Patience, PatienceEstimate};
use crate::backend::queue::{Band, Oldest};
use crate::time::Time;

/// Nobody is refused sooner, whatever is learned of patience: when a network breaks, thousands of
/// clients leave at once after whatever time, and those who come next must not pay for it.
const SHORTEST_LIMIT: Duration = Duration::from_secs(1);

/// With the adaptive order the newest goes first from when the oldest has waited so much of what
/// clients endure, or half of it while the newest would have to wait so much: then more come than the
/// backend can do, and it is no peak that would end by itself. ...
const TURN: f64 = 0.8;
/// ... until the oldest has waited less than so much. Once the newest goes first the oldest goes last,
/// and what had gathered is lost. In overload some always wait for long, so the order stays.
const TURN_BACK: f64 = 0.25;

/// Who has waited [`TURN`] of it is refused, if somebody was seen to leave so lately: else it may wait
/// on, or nobody would ever be seen to endure more than before.
const FRESH: Duration = Duration::from_secs(60);

impl BackendGate {
    /// Says of each band whether its greatest key is served first.
    pub(super) fn turn(&mut self, now: Time) {
        let BackendGate { config, queue, patience, drain_rate, .. } = self;
        // Who waits in a later band delays nobody in this.
        let mut ahead = 0;
        for band in queue.bands_mut() {
            ahead += band.len();
            let waits = drain_rate.drained(ahead);
            let backwards = band.backwards;
            let turns = |waited: Duration, endured: Duration| match backwards {
                true => waited >= endured.mul_f64(TURN_BACK),
                false => {
                    let most = endured.mul_f64(TURN);
                    waited >= most || waited >= endured / 2 && waits >= most
                }
            };
            band.backwards = match config.order {
                BackendOrder::NewestFirst => true,
                BackendOrder::Adaptive => band.oldest().any(|oldest| {
                    let median = endurance(patience, oldest.route, oldest.client).median;
                    median.is_some_and(|median| turns(now.since(oldest.arrived), median))
                }),
                BackendOrder::Fifo | BackendOrder::ShortestExpected | BackendOrder::Edf => false,
            };
        }
    }

    /// The waiting call that is the first to have waited too long, and when.
    pub(super) fn earliest_overdue(&self, now: Time) -> Option<(Time, u32)> {
        self.queue
            .bands()
            .flat_map(Band::oldest)
            .map(|oldest| (oldest.arrived + self.time_limit(now, oldest), oldest.slot))
            .min()
    }

    /// How long a call may wait: until nearly all would have left. With the adaptive order only until
    /// it goes last: it is told while its client is there.
    pub(super) fn time_limit(&self, now: Time, call: Oldest) -> Duration {
        let adaptive = self.config.order == BackendOrder::Adaptive;
        let limit = match self.endurance(call.route, call.client) {
            PatienceEstimate { median: Some(median), left, .. }
                if adaptive && now.since(left) < FRESH =>
            {
                median.mul_f64(TURN)
            }
            PatienceEstimate { median: Some(median), nearly_all: Some(nearly_all), .. } => {
                nearly_all.max(median + median / 10)
            }
            PatienceEstimate { median: Some(median), .. } => {
                self.config.queue_timeout.max(median + median / 10)
            }
            _ => self.config.queue_timeout,
        };
        limit.max(SHORTEST_LIMIT.min(self.config.queue_timeout))
    }

    pub(super) fn endurance(&self, route: u32, client: u64) -> PatienceEstimate {
        endurance(&self.patience, route, client)
    }
}

fn endurance(patience: &BTreeMap<u32, Patience>, route: u32, client: u64) -> PatienceEstimate {
    patience.get(&(route % MOST_ROUTES)).map(|it| it.endurance(client)).unwrap_or_default()
}

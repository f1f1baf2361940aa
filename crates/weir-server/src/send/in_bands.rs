//! Sends a response through the kernel's bands: small ones at once, large ones by way of the gate until
//! little is left. Used for connections whose queue the kernel keeps.

use std::time::Duration;

use super::{Outcome, Sending};
use crate::uplink::{Banded, WHOLE};

/// How often it is looked whether a connection's packets have left this host.
const LOOK_EVERY: Duration = Duration::from_millis(1);

impl Sending<'_> {
    /// Sends through the bands of `lane`.
    pub(crate) async fn in_bands(&mut self, lane: &Banded) -> Outcome {
        let size = self.left();
        lane.begins(size);
        if lane.waits(size) {
            let outcome = Box::pin(self.until_little_is_left(lane)).await;
            if outcome != Outcome::Complete {
                return outcome;
            }
        }
        self.directly(Some(lane).filter(|_| size > WHOLE)).await
    }

    /// Sends by way of the gate, which lets the response with the least left go first, until what is left
    /// is small enough to go at once.
    async fn until_little_is_left(&mut self, lane: &Banded) -> Outcome {
        let flow = lane.at_gate();
        let size = self.response.length().map(|length| length - self.sent - WHOLE);
        let mut job = flow.begin(size, self.response.answer.range_of);
        let outcome = self.as_granted(&mut job, Some(lane)).await;
        job.end(outcome == Outcome::Complete);
        outcome
    }

    /// How much of the next `count` bytes goes in one band, which it enters. It waits until packets that it
    /// would overtake have left this host.
    pub(super) async fn to_cutoff(&self, lane: &Banded, count: u64) -> u64 {
        while !lane.enter_band(self.left()) {
            tokio::time::sleep(LOOK_EVERY).await;
        }
        count.min(lane.to_cutoff(self.left()))
    }
}

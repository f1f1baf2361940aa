//! Sends a response through the kernel's bands: small ones at once, large ones by way of the gate until
//! little is left. Used for connections whose queue the kernel keeps.

use std::time::Duration;

use super::{Outcome, Sending};
use crate::uplink::{Banded, WHOLE};

/// When it is looked whether a connection's packets have left this host: after this time, and again
/// whenever it has waited a quarter longer, at the latest after [`LOOK_AT_LEAST`].
const FIRST_LOOK: Duration = Duration::from_millis(1);
const LOOK_AT_LEAST: Duration = Duration::from_millis(32);

/// What waits for the client's window, and not for a device of this host, may do so for ever: after this
/// time the rest goes in the band that it has, and the limits for slow clients hold.
const CLIENT_MAY_HOLD: Duration = Duration::from_secs(1);

impl<'a> Sending<'a> {
    /// Sends through the bands of `lane`.
    pub(crate) async fn in_bands(&mut self, lane: &'a Banded) -> Outcome {
        self.banded = Some(lane);
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
        let mut job = flow.begin(size, self.response.answer.range_of());
        let outcome = self.as_granted(&mut job, Some(lane)).await;
        job.end(outcome == Outcome::Complete);
        outcome
    }

    /// How much of the next `count` bytes goes in one band, which it enters. It waits until what was handed
    /// over for a later band has left this host. The kernel has no event for that.
    pub(super) async fn to_cutoff(&self, lane: &Banded, count: u64) -> u64 {
        let (mut waited, mut held_by_client) = (Duration::ZERO, Duration::ZERO);
        while held_by_client < CLIENT_MAY_HOLD && !lane.enter_band(self.left()) {
            let wait = (waited / 4).clamp(FIRST_LOOK, LOOK_AT_LEAST);
            tokio::time::sleep(wait).await;
            waited += wait;
            let is_queued = lane.has_packets_here();
            held_by_client = if is_queued { Duration::ZERO } else { held_by_client + wait };
        }
        count.min(lane.to_cutoff(self.left()))
    }
}

//! What is sent ahead of the policy's order: a few bytes to a client that may have gone, and a segment
//! to a response that has had nothing for long. The gate asks here before it asks its policy.

use super::Gate;
use super::leases::Grant;
use crate::time::Time;

/// What a half-closed client is sent ahead of its turn: one that has left answers with a reset.
const PROBE: u64 = 64;

impl Gate {
    pub(super) fn next_probe(&mut self, now: Time) -> Option<Grant> {
        while let Some(id) = self.probes.pop_front() {
            if let Some(place) = self.job_place(id)
                && self.jobs[place].remaining > 0
            {
                return Some(self.give(now, place, PROBE));
            }
        }
        None
    }

    /// A job that has had nothing for long and a segment of it, unless that would make others late.
    /// Whole segments: a packet more than fair sharing needs would be everybody's loss.
    pub(super) fn next_starved(&mut self, now: Time) -> Option<(usize, u64)> {
        let place = self.relief.due(now, &self.jobs)?;
        let job = &self.jobs[place];
        let packets = self.flows[job.flow].packets;
        let segment = self.whole_segments(packets.mss).min(u64::from(packets.mss.max(1)));
        let wire = packets.wire(segment);
        if !self.policy.can_spare(job.entry, self.fair_state(), wire) {
            return None;
        }
        self.relief.given(now, self.pacer.rate().time_for(wire));
        Some((place, segment))
    }
}

//! Grants and their leases: how much of a job may be sent, what comes back unused, and what was sent.
//! The gate gives one for each decision; its owner reports each with [`Gate::used`].

use std::time::Duration;

use super::{Gate, UNKNOWN};
use crate::time::Time;
use crate::uplink::ids::{FlowId, JobId};
use crate::uplink::wire::Packets;

/// How long a grant may stay unused before it goes to somebody else.
pub const LEASE: Duration = Duration::from_millis(2);

/// Leave to send so many bytes of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant {
    /// The response.
    pub job: JobId,
    /// Its connection.
    pub flow: FlowId,
    /// The owner's number for the response.
    pub tag: u64,
    /// Bytes of its stream, head included.
    pub bytes: u64,
    /// More of the response follows, and `bytes` fills whole segments: the kernel may wait for it.
    pub more: bool,
    packets: Packets,
    lease: usize,
    number: u64,
}

#[derive(Debug)]
pub(super) struct Lease {
    pub(super) number: u64,
    /// `None` when the job went while the grant was out.
    pub(super) job: Option<usize>,
    packets: Packets,
    pub(super) bytes: u64,
}

impl Gate {
    /// `bytes` of `grant` were sent. Fewer than granted: the rest goes back to the gate.
    pub fn used(&mut self, now: Time, grant: &Grant, bytes: u64) {
        let bytes = bytes.min(grant.bytes);
        let current = self.leases.get(grant.lease).is_some_and(|l| l.number == grant.number);
        if current {
            return self.end_lease(now, grant.lease, bytes);
        }
        // The lease ran out before its receipt came: what was sent must be counted all the same.
        self.pacer.charge(now, grant.packets.wire(bytes));
        if let Some(place) = self.job_place(grant.job) {
            let bytes = bytes.min(self.jobs[place].remaining);
            self.take(now, place, bytes, grant.packets);
            self.account(now, place, bytes);
        }
    }

    /// Largest multiple of a segment in a grant, at least one; a segment that is much longer than
    /// a grant (loopback) is cut.
    pub(super) fn whole_segments(&self, mss: u32) -> u64 {
        let mss = u64::from(mss.max(1));
        if mss > 2 * self.grant {
            self.grant.max(1448).min(mss)
        } else {
            (self.grant / mss).max(1) * mss
        }
    }

    /// Grants up to `size` bytes of the job at `place`.
    pub(super) fn give(&mut self, now: Time, place: usize, size: u64) -> Grant {
        let job = &self.jobs[place];
        let flow = &self.flows[job.flow];
        let (packets, tag) = (flow.packets, job.tag);
        let flow_id = FlowId { place: job.flow, number: flow.number };
        let bytes = size.min(job.remaining);
        let more = bytes < job.remaining && bytes.is_multiple_of(u64::from(packets.mss.max(1)));
        let id = JobId { place, number: job.number };
        self.pacer.charge(now, packets.wire(bytes));
        self.take(now, place, bytes, packets);
        let number = self.issue();
        let lease = self.leases.insert(Lease { number, job: Some(place), packets, bytes });
        self.lease_ends.push_back((now + LEASE, lease, number));
        let job = &mut self.jobs[place];
        job.leases += 1;
        job.last_grant = now;
        self.refresh(place);
        Grant { job: id, flow: flow_id, tag, bytes, more, packets, lease, number }
    }

    /// Moves `bytes` of a job from waiting to granted, and puts them on the link.
    fn take(&mut self, now: Time, place: usize, bytes: u64, packets: Packets) {
        let job = &mut self.jobs[place];
        let work = packets.wire(job.remaining) - packets.wire(job.remaining - bytes);
        job.remaining -= bytes;
        let entry = job.entry;
        self.entries.get_mut(entry).remaining -= work;
        let span = self.pacer.rate().time_for(packets.wire(bytes));
        self.link_queue.add(now, work, span);
        self.policy.served(entry, work);
    }

    pub(super) fn end_lease(&mut self, now: Time, place: usize, used: u64) {
        let lease = self.leases.remove(place);
        let back = lease.bytes - used;
        // What the link does not send after all; of one that has gone, without what is left of it.
        let left = lease.job.map_or(0, |place| self.jobs[place].remaining);
        let work = lease.packets.wire(left + back) - lease.packets.wire(left);
        if back > 0 {
            self.pacer.refund(lease.packets.wire(lease.bytes) - lease.packets.wire(used));
            let passed = self.link_queue.take_back(work);
            self.fair.take_back(passed);
        }
        let Some(job_place) = lease.job else { return };
        let job = &mut self.jobs[job_place];
        job.leases -= 1;
        if back > 0 {
            job.remaining += back;
            let id = job.entry;
            self.policy.returned(id, work);
            let entry = self.entries.get_mut(id);
            entry.remaining += work;
            if entry.share.stalled {
                self.share_anew(id);
            }
        }
        self.account(now, job_place, used);
    }

    /// Counts what a job was really sent; one that has had everything departs.
    pub(super) fn account(&mut self, now: Time, place: usize, sent: u64) {
        let job = &mut self.jobs[place];
        job.attained += sent;
        if !job.known {
            let (entry, more) =
                (job.entry, UNKNOWN.max(job.attained).saturating_sub(job.remaining));
            let packets = self.flows[job.flow].packets;
            let work = packets.wire(job.remaining + more) - packets.wire(job.remaining);
            job.remaining += more;
            self.grow_entry(entry, more, work);
        }
        if self.jobs[place].remaining == 0 && self.jobs[place].leases == 0 {
            self.leave(now, place, true);
        } else {
            self.refresh(place);
        }
    }
}

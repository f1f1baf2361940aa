//! The gate of a scarce thing: holds the waiting jobs and says which is sent next, and how much.
//!
//! Contract. Calls in: [`Gate::open`], [`Gate::arrive`], [`Gate::ready`], [`Gate::blocked`],
//! [`Gate::used`], [`Gate::finished`], [`Gate::gone`], [`Gate::close`]. Calls out: [`Gate::next`] returns grants. A
//! grant is a lease: what was not used comes back when the socket is full, all of it after
//! [`LEASE`]. The gate has no sockets, clock or threads; it belongs to one owner.

mod departed;
mod entries;
mod fair_share;
mod fair_sharing;
mod fairness;
mod flows;
mod link_queue;
mod short_queue;
mod starvation;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use slab::Slab;

use crate::policy::{Policy, PolicyKind};
use crate::time::Time;
use crate::uplink::ids::{EntryId, FlowId, JobId};
use crate::uplink::pacer::Pacer;
use crate::uplink::wire::Packets;
use crate::virtual_fair::VirtualFair;
use entries::Entries;
use fair_sharing::Agenda;
use flows::{Flow, Job};
use link_queue::Transit;
use starvation::Relief;

pub use fairness::Settled;
pub use flows::{FlowSpec, JobSpec};

/// How long a grant may stay unused before it goes to somebody else.
pub const LEASE: Duration = Duration::from_millis(2);

/// A response of unknown length counts as having left this much, or what it has had if that is
/// more.
const UNKNOWN: u64 = 16 * 1024;

/// What a half-closed client is sent ahead of its turn: one that has left answers with a reset.
const PROBE: u64 = 64;

/// How a gate schedules.
#[derive(Clone, Copy, Debug)]
pub struct GateConfig {
    /// Which job goes next.
    pub policy: PolicyKind,
    /// The link's time that one grant is worth; at least one segment is granted.
    pub grant: Duration,
    /// A response that has had nothing for this long gets a segment, so that intermediaries do not
    /// cut it. `None`: the policy alone decides.
    pub relief: Option<Duration>,
}

impl GateConfig {
    /// `policy` with grants of 1 ms and a segment every 10 s for those who starve.
    pub fn new(policy: PolicyKind) -> GateConfig {
        GateConfig {
            policy,
            grant: Duration::from_millis(1),
            relief: Some(Duration::from_secs(10)),
        }
    }
}

/// Leave to send so many bytes of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant {
    /// The response.
    pub job: JobId,
    /// Its connection.
    pub flow: FlowId,
    /// The owner's number for the connection.
    pub tag: u64,
    /// Bytes of its stream, head included.
    pub bytes: u64,
    /// More of the response follows, and `bytes` fills whole segments: the kernel may wait for it.
    pub more: bool,
    packets: Packets,
    lease: usize,
    number: u64,
}

/// What the owner does now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Send this, then report [`Gate::used`].
    Grant(Grant),
    /// The link is busy until then; ask again.
    Wait(Time),
    /// The job that goes next still holds a grant; ask after its receipt, at the latest then.
    Receipt(Time),
    /// Nobody who waits can take data.
    Idle,
}

#[derive(Debug)]
struct Lease {
    number: u64,
    /// `None` when the job went while the grant was out.
    job: Option<usize>,
    packets: Packets,
    bytes: u64,
}

/// The waiting jobs of one scarce thing.
#[derive(Debug)]
pub struct Gate {
    config: GateConfig,
    pacer: Arc<Pacer>,
    policy: Box<dyn Policy>,
    fair: VirtualFair,
    transit: Transit,
    flows: Slab<Flow>,
    jobs: Slab<Job>,
    entries: Entries,
    leases: Slab<Lease>,
    /// Leases in order of their end: end, place, number.
    lease_ends: VecDeque<(Time, usize, u64)>,
    relief: Relief,
    probes: VecDeque<JobId>,
    settled: Vec<Settled>,
    /// Numbers flows, jobs and leases, so that a number of one that has gone is never taken for
    /// its successor's.
    issued: u64,
    /// Since when nothing could be sent: the virtual server goes on at the rate of the link.
    idle_since: Option<Time>,
    /// Bytes that the virtual server was told of since the beginning: of responses, ...
    sent: u64,
    /// ... and what the link could have sent while nobody took anything.
    idle: u64,
    /// What is due for shares.
    agenda: Agenda,
    /// Up to when the virtual server has been told.
    passed: Time,
    /// Up to where [`Pacer::ungranted`] has held the link up.
    ungranted: Duration,
    grant: u64,
    /// Wire bytes of the largest grant that any connection was ever given.
    widest: u64,
}

impl Gate {
    /// A gate without jobs. `pacer` may be shared with others who send over the same link.
    pub fn new(config: GateConfig, pacer: Arc<Pacer>) -> Gate {
        let grant = pacer.rate().bytes_in(config.grant).max(1);
        Gate {
            config,
            policy: config.policy.build(pacer.rate()),
            fair: VirtualFair::default(),
            transit: Transit::default(),
            flows: Slab::new(),
            jobs: Slab::new(),
            entries: Entries::default(),
            leases: Slab::new(),
            lease_ends: VecDeque::new(),
            relief: Relief::new(config.relief),
            probes: VecDeque::new(),
            settled: Vec::new(),
            issued: 0,
            idle_since: Some(Time::ZERO),
            sent: 0,
            idle: 0,
            agenda: Agenda::default(),
            passed: Time::ZERO,
            ungranted: pacer.ungranted(),
            grant,
            widest: grant,
            pacer,
        }
    }

    /// Jobs that are here, whether or not they can be sent.
    pub fn jobs(&self) -> usize {
        self.jobs.len()
    }

    /// Jobs that are here or that the virtual fair server still counts; ranges that count as one are
    /// one.
    pub fn virtual_jobs(&self) -> usize {
        self.entries.len()
    }

    /// Grants that are out.
    pub fn leases(&self) -> usize {
        self.leases.len()
    }

    /// Bytes that were granted and neither reported nor returned.
    pub fn leased_bytes(&self) -> u64 {
        self.leases.iter().map(|(_, lease)| lease.bytes).sum()
    }

    /// What one grant is worth in bytes before it is cut to whole segments.
    pub fn grant_size(&self) -> u64 {
        self.grant
    }

    /// Counts bytes on the wire that no job asked for: handshakes, acknowledgements,
    /// retransmissions ([`Pacer::charge_extra`]).
    pub fn charge(&mut self, now: Time, wire_bytes: u64) {
        self.pacer.charge_extra(now, wire_bytes);
        self.pass_time(now);
    }

    /// How far ahead or behind fair sharing responses finished since the last call.
    pub fn settled(&mut self) -> impl Iterator<Item = Settled> + '_ {
        self.settled.drain(..)
    }

    /// Takes back grants that were never reported and lets the virtual server pass idle time.
    pub fn tick(&mut self, now: Time) {
        while let Some(&(end, place, number)) = self.lease_ends.front() {
            let out = self.leases.get(place).is_some_and(|lease| lease.number == number);
            if out && end > now {
                break;
            }
            self.lease_ends.pop_front();
            if out {
                self.end_lease(now, place, 0);
            }
        }
        self.pass_time(now);
    }

    /// What to do at `now`: the next grant, or what to wait for.
    pub fn next(&mut self, now: Time) -> Next {
        self.pass_time(now);
        let next = self.decide(now);
        match next {
            Next::Idle => {
                self.idle_since.get_or_insert(now.max(self.transit.free_at()));
            }
            Next::Grant(_) => self.idle_since = None,
            // The link is busy with what is nobody's.
            Next::Wait(_) | Next::Receipt(_) if !self.jobs.is_empty() => self.idle_since = None,
            Next::Wait(_) | Next::Receipt(_) => {}
        }
        next
    }

    fn decide(&mut self, now: Time) -> Next {
        let free_at = self.pacer.free_at();
        if free_at > now {
            return Next::Wait(free_at);
        }
        if let Some(grant) = self.next_probe(now) {
            return Next::Grant(grant);
        }
        if let Some((place, segment)) = self.next_starved(now) {
            return Next::Grant(self.give(now, place, segment));
        }
        let Some(id) = self.policy.pick(self.fair_state(), self.widest) else {
            return Next::Idle;
        };
        match self.entries.next_member(id) {
            Some(place) => {
                let mss = self.flows[self.jobs[place].flow].packets.mss;
                let size = self.whole_segments(mss);
                Next::Grant(self.give(now, place, size))
            }
            None => {
                let end = self.lease_ends.front().map_or(now + LEASE, |(end, ..)| *end);
                Next::Receipt(end)
            }
        }
    }

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
    fn whole_segments(&self, mss: u32) -> u64 {
        let mss = u64::from(mss.max(1));
        if mss > 2 * self.grant {
            self.grant.max(1448).min(mss)
        } else {
            (self.grant / mss).max(1) * mss
        }
    }

    /// Grants up to `size` bytes of the job at `place`.
    fn give(&mut self, now: Time, place: usize, size: u64) -> Grant {
        let job = &self.jobs[place];
        let flow = &self.flows[job.flow];
        let (packets, tag) = (flow.packets, flow.tag);
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
        self.transit.add(now, work, span);
        self.policy.served(entry, work);
    }

    fn end_lease(&mut self, now: Time, place: usize, used: u64) {
        let lease = self.leases.remove(place);
        let back = lease.bytes - used;
        // What the link does not send after all; of one that has gone, without what is left of it.
        let left = lease.job.map_or(0, |place| self.jobs[place].remaining);
        let work = lease.packets.wire(left + back) - lease.packets.wire(left);
        if back > 0 {
            self.pacer.refund(lease.packets.wire(lease.bytes) - lease.packets.wire(used));
            let passed = self.transit.take_back(work);
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
            if entry.share.held {
                self.share_anew(id);
            }
        }
        self.account(now, job_place, used);
    }

    /// Counts what a job was really sent; one that has had everything departs.
    fn account(&mut self, now: Time, place: usize, sent: u64) {
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

    fn next_probe(&mut self, now: Time) -> Option<Grant> {
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
    fn next_starved(&mut self, now: Time) -> Option<(usize, u64)> {
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

    fn grow_entry(&mut self, id: EntryId, bytes: u64, work: u64) {
        if work == 0 {
            return;
        }
        let level = self.fair.level();
        let entry = self.entries.get_mut(id);
        entry.size += bytes;
        entry.remaining += work;
        entry.share.lengthen(level, work);
        self.share_anew(id);
        let finish = self.entries.get_mut(id).share.finish;
        self.policy.grow(id, work, self.fair_state(), finish);
    }

    /// `work` wire bytes of the entry will never be sent.
    fn shorten_entry(&mut self, id: EntryId, work: u64) {
        let level = self.fair.level();
        let entry = self.entries.get_mut(id);
        entry.remaining -= work;
        entry.share.shorten(level, work);
        self.share_anew(id);
        let finish = self.entries.get_mut(id).share.finish;
        self.policy.shrink(id, work, self.fair_state(), finish);
    }

    fn issue(&mut self) -> u64 {
        self.issued += 1;
        self.issued
    }
}

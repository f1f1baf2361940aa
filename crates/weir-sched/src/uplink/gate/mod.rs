//! The gate of the uplink: holds the waiting responses and says which is sent next, and how much of
//! it. Used by the server's uplink task, which owns one, and by the simulator's link.
//!
//! Contract. Calls in, for a connection: [`Gate::open`], [`Gate::flow_ready`], [`Gate::flow_blocked`],
//! [`Gate::path_changed`], [`Gate::close`]; for a response: [`Gate::arrive`], [`Gate::job_ready`],
//! [`Gate::job_blocked`], [`Gate::finished`], [`Gate::abandoned`]; for a grant: [`Gate::used`]; for another
//! rate or policy: [`Gate::replace`]. Calls
//! out: [`Gate::next`] returns grants, each for one response. A grant is a lease: what was not used
//! comes back with its receipt, all of it after [`LEASE`]. A gate belongs to one owner.

mod ahead_of_turn;
mod departed;
mod entries;
mod fair_share;
mod fair_sharing;
mod fairness;
mod flow_jobs;
mod flows;
mod follow_pacer;
mod leases;
mod link_queue;
mod place_queue;
mod replace;
mod short_queue;
mod starvation;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use slab::Slab;

use crate::policy::{Policy, PolicyKind};
use crate::time::Time;
use crate::uplink::ids::JobId;
use crate::uplink::pacer::Pacer;
use crate::virtual_fair::VirtualFair;
use entries::Entries;
use fair_sharing::Timers;
use flows::{Flow, Job};
use leases::Lease;
use link_queue::LinkQueue;
use starvation::StarvationRelief;

pub use fairness::FairnessRecord;
pub use flows::{FlowSpec, JobSpec};
pub use leases::{Grant, LEASE};

/// A response of unknown length counts as having left this much, or what it has had if that is
/// more.
const UNKNOWN: u64 = 16 * 1024;

/// How a gate schedules.
#[derive(Clone, Copy, Debug)]
pub struct GateConfig {
    /// Which job goes next.
    pub policy: PolicyKind,
    /// The link's time that one grant is worth; at least one segment is granted.
    pub grant: Duration,
    /// A response that has had nothing for this long gets a segment, so that intermediaries do not
    /// cut it. `None`: the policy alone decides.
    pub starvation_interval: Option<Duration>,
}

impl GateConfig {
    /// `policy` with grants of 1 ms and a segment every 10 s for those who starve.
    pub fn new(policy: PolicyKind) -> GateConfig {
        GateConfig {
            policy,
            grant: Duration::from_millis(1),
            starvation_interval: Some(Duration::from_secs(10)),
        }
    }
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

/// The waiting jobs of one scarce thing.
#[derive(Debug)]
pub struct Gate {
    config: GateConfig,
    pacer: Arc<Pacer>,
    policy: Box<dyn Policy>,
    fair: VirtualFair,
    link_queue: LinkQueue,
    flows: Slab<Flow>,
    jobs: Slab<Job>,
    entries: Entries,
    leases: Slab<Lease>,
    /// Leases in order of their end: end, place, number.
    lease_ends: VecDeque<(Time, usize, u64)>,
    relief: StarvationRelief,
    probes: VecDeque<JobId>,
    fairness_records: Vec<FairnessRecord>,
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
    timers: Timers,
    /// Up to when the virtual server has been told.
    passed: Time,
    /// Up to where [`Pacer::ungranted`] has held the link up.
    ungranted: Duration,
    grant: u64,
    /// Wire bytes of the largest grant that any connection was ever given.
    largest_grant: u64,
}

impl Gate {
    /// A gate without jobs. `pacer` may be shared with others who send over the same link.
    pub fn new(config: GateConfig, pacer: Arc<Pacer>) -> Gate {
        let grant = pacer.rate().bytes_in(config.grant).max(1);
        Gate {
            config,
            policy: config.policy.build(pacer.rate()),
            fair: VirtualFair::default(),
            link_queue: LinkQueue::default(),
            flows: Slab::new(),
            jobs: Slab::new(),
            entries: Entries::default(),
            leases: Slab::new(),
            lease_ends: VecDeque::new(),
            relief: StarvationRelief::new(config.starvation_interval),
            probes: VecDeque::new(),
            fairness_records: Vec::new(),
            issued: 0,
            idle_since: Some(Time::ZERO),
            sent: 0,
            idle: 0,
            timers: Timers::default(),
            passed: Time::ZERO,
            ungranted: pacer.ungranted(),
            grant,
            largest_grant: grant,
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

    /// What it is paced by.
    pub fn pacer(&self) -> &Arc<Pacer> {
        &self.pacer
    }

    /// From now on one grant is worth so many bytes: for an owner that goes by a queue, not by a rate.
    pub fn set_grant(&mut self, bytes: u64) {
        self.grant = bytes.max(1);
        self.largest_grant = self.largest_grant.max(self.grant);
    }

    /// Counts bytes on the wire that no job asked for: handshakes, acknowledgements,
    /// retransmissions ([`Pacer::charge_extra`]).
    pub fn charge(&mut self, now: Time, wire_bytes: u64) {
        self.pacer.charge_extra(now, wire_bytes);
        self.pass_time(now);
    }

    /// How far ahead or behind fair sharing responses finished since the last call.
    pub fn fairness_records(&mut self) -> impl Iterator<Item = FairnessRecord> + '_ {
        self.fairness_records.drain(..)
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
                self.idle_since.get_or_insert(now.max(self.link_queue.free_at()));
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
        let Some(id) = self.policy.pick(self.fair_state(), self.largest_grant) else {
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

    fn issue(&mut self) -> u64 {
        self.issued += 1;
        self.issued
    }
}

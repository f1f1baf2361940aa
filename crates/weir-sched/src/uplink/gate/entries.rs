//! What the policy ranks: usually one response, or all ranges of an object that a client asks at
//! the same time. The gate enters, lengthens, shortens and removes them here.

use std::collections::HashMap;
use std::time::Duration;

use slab::Slab;

use super::departed::Departed;
use super::fair_share::{FairShare, State};
use super::fairness::{self, FairnessRecord};
use super::flows::JobSpec;
use super::place_queue::PlaceQueue;
use super::{Gate, LEASE};
use crate::policy::Arrival;
use crate::time::Time;
use crate::uplink::ids::{ClientId, EntryId, Group, ObjectId};
use crate::virtual_fair::Level;

/// Entries that have departed are remembered in the virtual server up to this many, and as many
/// again as jobs are here; then those it would finish last are forgotten, which only weakens
/// promises.
const DEPARTED: usize = 10_000;

/// Round trips in which a client takes nothing before it counts as slow.
const PATIENCE: u32 = 2;

#[derive(Debug)]
pub(super) struct Entry {
    /// Tells it from others that have had its place.
    pub(super) number: u64,
    pub(super) client: ClientId,
    /// Responses that are here.
    pub(super) members: u32,
    /// Bytes of stream.
    pub(super) size: u64,
    /// Wire bytes of its responses that are neither sent nor granted.
    pub(super) remaining: u64,
    pub(super) share: FairShare,
    /// Places of the jobs that can be sent, in turn.
    pub(super) waiting: PlaceQueue,
    /// Jobs that could be sent but for a grant that is out.
    pub(super) pending: u32,
    /// All its responses were sent whole.
    pub(super) complete: bool,
    /// To its client and back.
    pub(super) round_trip: Duration,
    pub(super) blocked: Blocked,
    /// All its responses have been sent or have gone.
    departed: bool,
    /// Its rank among the departed: where it would have finished when it departed.
    rank: Level,
    virtually: Option<Time>,
    /// What its responses are ranges of.
    ranges_of: Option<ObjectId>,
}

/// When the client of an entry took no data, and what that means for its share.
#[derive(Debug, Default)]
pub(super) struct Blocked {
    /// Since when it takes none.
    pub(super) since: Option<Time>,
    /// How long that was before, of what it is asked for now.
    pub(super) before: Duration,
    /// How much of that its path explains.
    pub(super) explained: Duration,
    /// What its share was still to have when it last stopped, in 2^-32 byte.
    pub(super) left: u128,
    /// [`Gate::sent`] and [`Gate::idle`] then.
    pub(super) served: (u64, u64),
    /// A timer is set for when that has lasted too long.
    pub(super) watched: bool,
}

impl Entry {
    /// A client that takes nothing for so long does so of its own accord: in a round trip it would
    /// have acknowledged what is under way.
    pub(super) fn patience(&self) -> Duration {
        (self.round_trip * PATIENCE).max(LEASE)
    }

    /// How long its client did not read, beyond what its path explains.
    fn not_read(&self) -> Duration {
        self.blocked.before.saturating_sub(self.blocked.explained)
    }

    /// The virtual server has not finished it after all.
    pub(super) fn revive(&mut self) {
        self.virtually = None;
    }

    pub(super) fn ready(&self) -> bool {
        !self.waiting.is_empty() || self.pending > 0
    }
}

#[derive(Debug, Default)]
pub(super) struct Entries {
    all: Slab<Entry>,
    groups: HashMap<Group, EntryId>,
    /// Entries that have departed and are still in the virtual server.
    departed: Departed,
}

impl Entries {
    pub(super) fn get_mut(&mut self, id: EntryId) -> &mut Entry {
        &mut self.all[id as usize]
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// All entries, those that have departed included, in the order in which they arrived.
    pub(super) fn in_order(&self) -> Vec<EntryId> {
        let numbered = self.all.iter().map(|(id, entry)| (entry.number, id as EntryId));
        let mut all: Vec<_> = numbered.collect();
        all.sort_unstable();
        all.into_iter().map(|(_, id)| id).collect()
    }

    /// The entry, if it is still the one with this number.
    pub(super) fn numbered(&mut self, id: EntryId, number: u64) -> Option<&mut Entry> {
        self.all.get_mut(id as usize).filter(|entry| entry.number == number)
    }

    pub(super) fn group(&self, group: Group) -> Option<EntryId> {
        self.groups.get(&group).copied()
    }

    /// The job of the entry whose turn it is.
    pub(super) fn next_member(&self, id: EntryId) -> Option<usize> {
        self.all[id as usize].waiting.first()
    }

    /// The virtual server has finished the entry at `at`.
    pub(super) fn virtually_finished(&mut self, id: EntryId, at: Time) {
        let entry = &mut self.all[id as usize];
        entry.virtually = Some(at);
        if entry.departed {
            self.come_back(id);
            self.all.remove(id as usize);
        }
    }

    /// The last response of the entry has been sent or has gone.
    fn depart(&mut self, id: EntryId, now: Time, fairness_records: &mut Vec<FairnessRecord>) {
        let entry = &mut self.all[id as usize];
        entry.waiting = PlaceQueue::default();
        if let Some(object) = entry.ranges_of.take() {
            self.groups.remove(&(entry.client, object));
        }
        if entry.share.state == State::Finished {
            if let (true, Some(fair)) = (entry.complete, entry.virtually) {
                fairness_records.push(fairness::record(entry.size, now, fair, entry.not_read()));
            }
            self.all.remove(id as usize);
            return;
        }
        if entry.complete {
            entry.share.sent(entry.size, now, entry.not_read());
        }
        (entry.departed, entry.rank) = (true, entry.share.finish);
        self.departed.insert(entry.client, entry.rank, id);
    }

    /// A departed entry is one no more.
    fn come_back(&mut self, id: EntryId) {
        let entry = &mut self.all[id as usize];
        if std::mem::take(&mut entry.departed) {
            self.departed.remove(entry.client, entry.rank, id);
        }
    }

    /// The entry whose share a client's next response takes over: the one that its connection had
    /// last, or the first of the client's that the virtual server finishes.
    fn followed(&self, client: ClientId, last: Option<(EntryId, u64)>) -> Option<EntryId> {
        let last = last.filter(|&(id, number)| {
            let entry = self.all.get(id as usize);
            entry.is_some_and(|entry| entry.number == number && entry.departed)
        });
        last.map(|(id, _)| id).or_else(|| self.departed.first_of(client))
    }
}

impl Gate {
    /// Enters a job that is not part of another.
    ///
    /// It takes over the share of a response that its client has been sent and that fair sharing
    /// would still be at: requests that follow each other are one at a time.
    pub(super) fn enter(
        &mut self,
        now: Time,
        order: u64,
        spec: &JobSpec,
        size: u64,
        group: Option<Group>,
    ) -> EntryId {
        let flow = &self.flows[spec.flow.place];
        let (client, path, packets) = (flow.client, flow.path, flow.packets);
        let work = packets.wire(size);
        let level = self.fair.level();
        let id = match self.entries.followed(client, flow.last) {
            Some(id) => {
                self.policy.virtually_finished(id);
                self.entries.come_back(id);
                self.follow(now, id, size, work);
                id
            }
            None => {
                let entry = Entry {
                    number: order,
                    client,
                    members: 1,
                    size,
                    remaining: work,
                    share: FairShare::new(level, work, path, packets, self.pacer.rate()),
                    waiting: PlaceQueue::default(),
                    pending: 0,
                    complete: true,
                    round_trip: path.round_trip,
                    blocked: Blocked::default(),
                    departed: false,
                    rank: level,
                    virtually: None,
                    ranges_of: None,
                };
                let id = self.entries.all.insert(entry) as EntryId;
                self.begin_sharing(id);
                id
            }
        };
        let waits = path.slow_start_time(self.pacer.rate(), work);
        let entry = self.entries.get_mut(id);
        entry.ranges_of = group.map(|(_, object)| object);
        (entry.blocked.before, entry.blocked.explained) = (Duration::ZERO, waits);
        let finish = entry.share.finish;
        let paused = match entry.share.state {
            State::Paused { left } => Some(left),
            State::Sharing { .. } | State::Finished => None,
        };
        if let Some(group) = group {
            self.entries.groups.insert(group, id);
        }
        let finish = paused.map_or(finish, |left| level.raised(left));
        let arrival = Arrival { order, at: now, size: work, fair: self.fair_state(), finish, path };
        self.policy.arrive(id, &arrival);
        if paused.is_some() {
            self.policy.pause(id, level);
        }
        id
    }

    fn follow(&mut self, now: Time, id: EntryId, size: u64, work: u64) {
        let level = self.fair.level();
        let entry = self.entries.get_mut(id);
        entry.members = 1;
        entry.size = size;
        entry.remaining = work;
        entry.complete = true;
        entry.virtually = None;
        if let Some(part) = entry.share.follow(level, work) {
            self.fairness_records.push(fairness::record(part.size, part.sent, now, part.own));
        }
        self.share_anew(id);
    }

    /// The entry is `bytes` of stream longer, `work` on the wire.
    pub(super) fn grow_entry(&mut self, id: EntryId, bytes: u64, work: u64) {
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
    pub(super) fn shorten_entry(&mut self, id: EntryId, work: u64) {
        let level = self.fair.level();
        let entry = self.entries.get_mut(id);
        entry.remaining -= work;
        entry.share.shorten(level, work);
        self.share_anew(id);
        let finish = self.entries.get_mut(id).share.finish;
        self.policy.shrink(id, work, self.fair_state(), finish);
    }

    /// The last response of an entry has been sent or has gone.
    pub(super) fn depart(&mut self, now: Time, id: EntryId) {
        self.client_reads(id);
        self.policy.depart(id);
        self.entries.depart(id, now, &mut self.fairness_records);
    }

    /// Forgets entries that the virtual server would finish last, if too many have departed.
    pub(super) fn bound_the_departed(&mut self) {
        while self.entries.departed.len() > DEPARTED + self.jobs.len() {
            let Some(id) = self.entries.departed.last() else { return };
            if let State::Sharing { until } = self.entries.get_mut(id).share.state {
                self.fair.forget(id, until);
            }
            self.policy.virtually_finished(id);
            self.entries.come_back(id);
            self.entries.all.remove(id as usize);
        }
    }
}

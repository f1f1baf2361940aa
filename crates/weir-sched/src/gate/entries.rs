//! What the policy ranks: usually one response, or all ranges of an object that a client asks.

use std::collections::{BTreeSet, HashMap, VecDeque};

use slab::Slab;

use super::Gate;
use super::ids::{EntryId, Group};
use super::ledger::{self, Settled};
use crate::policy::Arrival;
use crate::time::Time;
use crate::virtual_fair::Level;

/// Jobs that left early are remembered in the virtual server up to this many, and as many again
/// as are here; then those it would finish last are forgotten, which only weakens promises.
const DEPARTED: usize = 10_000;

#[derive(Debug)]
pub(super) struct Entry {
    /// Responses that are here.
    pub(super) members: u32,
    /// Bytes of stream.
    pub(super) size: u64,
    pub(super) finish: Level,
    /// The virtual server has not finished it.
    pub(super) sharing: bool,
    /// Places of the jobs that can be sent, in turn.
    pub(super) waiting: VecDeque<usize>,
    /// Jobs that could be sent but for a grant that is out.
    pub(super) pending: u32,
    /// All its responses were sent whole.
    pub(super) complete: bool,
    departed: Option<Time>,
    virtually: Option<Time>,
    group: Option<Group>,
}

impl Entry {
    pub(super) fn ready(&self) -> bool {
        !self.waiting.is_empty() || self.pending > 0
    }
}

#[derive(Debug, Default)]
pub(super) struct Entries {
    all: Slab<Entry>,
    groups: HashMap<Group, EntryId>,
    /// Entries that have departed and are still in the virtual server.
    departed: BTreeSet<(Level, EntryId)>,
}

impl Entries {
    pub(super) fn get_mut(&mut self, id: EntryId) -> &mut Entry {
        &mut self.all[id as usize]
    }

    pub(super) fn group(&self, group: Group) -> Option<EntryId> {
        self.groups.get(&group).copied()
    }

    /// The job of the entry whose turn it is.
    pub(super) fn next_member(&self, id: EntryId) -> Option<usize> {
        self.all[id as usize].waiting.front().copied()
    }

    /// The virtual server has finished the entry at `at`.
    pub(super) fn virtually_finished(&mut self, id: EntryId, at: Time, settled: &mut Vec<Settled>) {
        let entry = &mut self.all[id as usize];
        entry.sharing = false;
        entry.virtually = Some(at);
        if entry.departed.is_some() {
            self.departed.remove(&(entry.finish, id));
            self.release(id, settled);
        }
    }

    /// The last response of the entry has been sent or has gone.
    pub(super) fn depart(&mut self, id: EntryId, now: Time, settled: &mut Vec<Settled>) {
        let entry = &mut self.all[id as usize];
        entry.departed = Some(now);
        entry.waiting = VecDeque::new();
        if let Some(group) = entry.group.take() {
            self.groups.remove(&group);
        }
        if entry.sharing {
            self.departed.insert((entry.finish, id));
        } else {
            self.release(id, settled);
        }
    }

    fn release(&mut self, id: EntryId, settled: &mut Vec<Settled>) {
        let entry = self.all.remove(id as usize);
        if let (true, Some(real), Some(fair)) = (entry.complete, entry.departed, entry.virtually) {
            settled.push(ledger::settle(entry.size, real, fair));
        }
    }
}

impl Gate {
    /// Enters a job that is not part of another.
    pub(super) fn enter(
        &mut self,
        now: Time,
        order: u64,
        size: u64,
        work: u64,
        group: Option<Group>,
    ) -> EntryId {
        let entry = Entry {
            members: 1,
            size,
            finish: self.fair.level(),
            sharing: true,
            waiting: VecDeque::new(),
            pending: 0,
            complete: true,
            departed: None,
            virtually: None,
            group,
        };
        let id = self.entries.all.insert(entry) as EntryId;
        let finish = self.fair.join(id, work);
        self.entries.all[id as usize].finish = finish;
        if let Some(group) = group {
            self.entries.groups.insert(group, id);
        }
        let arrival = Arrival { order, at: now, size: work, fair: self.fair_state(), finish };
        self.policy.arrive(id, &arrival);
        id
    }

    /// Forgets early leavers that the virtual server would finish last, if there are too many.
    pub(super) fn bound_the_departed(&mut self) {
        while self.entries.departed.len() > DEPARTED + self.jobs.len() {
            let Some((finish, id)) = self.entries.departed.pop_last() else { return };
            self.fair.forget(id, finish);
            self.policy.virtually_finished(id);
            self.entries.all.remove(id as usize);
        }
    }
}

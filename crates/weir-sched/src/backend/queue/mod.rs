//! The calls that wait, by priority, and what their clients have had. The gate takes the next call
//! from here, and tells it of every slot that is given or comes back.

mod account;
mod active_clients;
mod band;
mod clients;

use std::collections::BTreeMap;
use std::time::Duration;

use crate::time::Time;
use clients::Clients;

pub(super) use band::{Band, Key, Oldest, Waiting};

/// Charged for a call of which nothing is known.
const UNKNOWN: Duration = Duration::from_millis(1);
/// Clients of a band that are looked at for one whose call may start.
const LOOKED_AT: usize = 256;

/// All waiting calls of a backend, and what its clients have and have had. Changes take O(log n).
#[derive(Debug, Default)]
pub(super) struct Queue {
    bands: BTreeMap<u8, Band>,
    clients: Clients,
    waiting: usize,
}

impl Queue {
    pub(super) fn len(&self) -> usize {
        self.waiting
    }

    pub(super) fn bands(&self) -> impl Iterator<Item = &Band> {
        self.bands.values()
    }

    pub(super) fn bands_mut(&mut self) -> impl Iterator<Item = &mut Band> {
        self.bands.values_mut()
    }

    pub(super) fn clients(&self) -> &Clients {
        &self.clients
    }

    pub(super) fn insert(&mut self, now: Time, call: &Waiting) {
        self.clients.wait(now, call.client);
        self.bands.entry(call.priority).or_default().insert(call, &self.clients);
        self.waiting += 1;
    }

    /// Takes out a call that waits.
    pub(super) fn remove(&mut self, now: Time, call: &Waiting) {
        self.clients.leave(now, call.client);
        self.take(call);
    }

    /// Takes out a call because it gets a slot. Returns what is counted for it against its client.
    pub(super) fn start(
        &mut self,
        now: Time,
        call: &Waiting,
        expected: Option<Duration>,
    ) -> Duration {
        let charged = expected.unwrap_or(UNKNOWN);
        if self.next() == Some(call.slot) {
            self.clients.advance_to(call.client);
        }
        self.clients.start(now, call.client, charged);
        self.clients.leave(now, call.client);
        self.take(call);
        // It may have calls of other priorities.
        self.refile(call.client);
        self.advance();
        charged
    }

    /// A call gets a slot that has not waited. Nothing is counted until it ends.
    pub(super) fn start_at_once(&mut self, now: Time, client: u64) {
        self.clients.start(now, client, Duration::ZERO);
    }

    /// A call's slot comes back; see [`Clients::end`].
    pub(super) fn end(
        &mut self,
        now: Time,
        client: u64,
        took: Duration,
        charged: Duration,
        aside: bool,
    ) {
        self.clients.end(now, client, took, charged, aside);
        self.refile(client);
        self.advance();
    }

    /// See [`Clients::aside_ended`].
    pub(super) fn aside_ended(&mut self, client: u64) {
        self.clients.aside_ended(client);
    }

    /// A call's slot comes back unused; see [`Clients::undo`].
    pub(super) fn undo(&mut self, now: Time, client: u64, charged: Duration) {
        self.clients.undo(now, client, charged);
        self.refile(client);
    }

    /// The call that is served next.
    pub(super) fn next(&self) -> Option<u32> {
        self.bands.first_key_value()?.1.in_order().next()
    }

    /// The first call in that order that is `wanted`, of the next one of each client and of some
    /// hundred clients of a priority.
    pub(super) fn find(&self, wanted: impl Fn(u32) -> bool) -> Option<u32> {
        let mut next = self.bands.values().flat_map(|band| band.in_order().take(LOOKED_AT));
        next.find(|slot| wanted(*slot))
    }

    /// The call that would be served last.
    pub(super) fn last(&self) -> Option<u32> {
        self.bands.last_key_value()?.1.last()
    }

    fn take(&mut self, call: &Waiting) {
        let Some(band) = self.bands.get_mut(&call.priority) else { return };
        band.remove(call, &self.clients);
        self.waiting -= 1;
        if band.is_empty() {
            self.bands.remove(&call.priority);
        }
    }

    /// What a client has had has changed.
    fn refile(&mut self, client: u64) {
        for band in self.bands.values_mut() {
            band.refile(client, &self.clients);
        }
    }

    fn advance(&mut self) {
        for band in self.bands.values_mut() {
            band.advance(&self.clients);
        }
    }
}

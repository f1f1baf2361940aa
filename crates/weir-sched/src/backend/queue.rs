//! The calls that wait: bands by priority, clients inside a band, calls inside a client. It knows
//! nothing of limits and patience.
//!
//! Between clients start-time fair queueing (Goyal, Vin & Cheng 1996): each start moves its client's
//! tag on by the call's expected service, and the band's virtual time by that over the number of
//! clients that wait. Clients whose tag is not after the virtual time have had no more than their
//! share, and are all alike: the order of their calls decides. With one call for each client, or
//! all calls from one client, that is the order alone.
//!
//! A client that has nothing waiting is forgotten, whatever it was served: one with a call at a time
//! keeps nobody from anything. Were it remembered, its next call would wait for all newcomers until
//! the queue is empty, and below overload some would leave for that alone.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use crate::time::Time;

/// Rank of a call in the configured order; no two are equal.
pub(super) type Key = (u64, u64);

/// Charged for a call of which nothing is known.
const UNKNOWN: Duration = Duration::from_millis(1);

/// A call as the queue sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    pub(super) priority: u8,
    pub(super) client: u64,
    pub(super) route: u32,
    pub(super) key: Key,
    /// Of two calls the earlier has the lesser.
    pub(super) number: u64,
    pub(super) arrived: Time,
    pub(super) slot: u32,
}

/// The oldest waiting call of a route in a band.
#[derive(Clone, Copy, Debug)]
pub(super) struct Oldest {
    pub(super) route: u32,
    pub(super) arrived: Time,
    pub(super) slot: u32,
}

#[derive(Debug, Default)]
struct Client {
    /// Virtual time from which it has had no more than its share, in nanoseconds.
    tag: u64,
    calls: BTreeSet<(Key, u32)>,
}

/// Calls of one priority.
#[derive(Debug, Default)]
pub(super) struct Band {
    /// Those that wait.
    clients: HashMap<u64, Client>,
    /// Clients that may be next, by the key of their first call.
    by_first: BTreeSet<(Key, u64)>,
    /// The same clients by the key of their last call.
    by_last: BTreeSet<(Key, u64)>,
    /// Clients with waiting calls whose tag is ahead of the virtual time.
    later: BTreeSet<(u64, u64)>,
    /// Waiting calls by route, in the order of their arrival.
    ages: BTreeMap<u32, BTreeMap<u64, (Time, u32)>>,
    virtual_time: u64,
    /// The greatest key is served first.
    pub(super) backwards: bool,
}

impl Band {
    /// The oldest call of each route that has any.
    pub(super) fn oldest(&self) -> impl Iterator<Item = Oldest> {
        self.ages.iter().filter_map(|(&route, calls)| {
            calls.values().next().map(|&(arrived, slot)| Oldest { route, arrived, slot })
        })
    }

    /// Calls that wait.
    pub(super) fn len(&self) -> usize {
        self.ages.values().map(BTreeMap::len).sum()
    }

    /// The call that is served next.
    fn next(&self) -> Option<u32> {
        let ends = if self.backwards { self.by_last.last() } else { self.by_first.first() };
        self.call_of(ends?.1, self.backwards)
    }

    /// The call that would be served last.
    fn last(&self) -> Option<u32> {
        let most_served = self.later.last().map(|(_, client)| *client);
        let of_order = || {
            let ends = if self.backwards { self.by_first.first() } else { self.by_last.last() };
            ends.map(|(_, client)| *client)
        };
        self.call_of(most_served.or_else(of_order)?, !self.backwards)
    }

    fn call_of(&self, client: u64, last: bool) -> Option<u32> {
        let calls = &self.clients.get(&client)?.calls;
        let call = if last { calls.last() } else { calls.first() };
        call.map(|(_, slot)| *slot)
    }

    fn insert(&mut self, call: &Waiting) {
        let now = self.virtual_time;
        self.change(call.client, |client| {
            if client.calls.is_empty() {
                client.tag = now;
            }
            client.calls.insert((call.key, call.slot));
        });
        let calls = self.ages.entry(call.route).or_default();
        calls.insert(call.number, (call.arrived, call.slot));
        self.settle();
    }

    fn remove(&mut self, call: &Waiting) {
        self.change(call.client, |client| {
            client.calls.remove(&(call.key, call.slot));
        });
        self.forget_age(call);
        self.settle();
    }

    /// Takes out a call and counts so much service against its client.
    fn start(&mut self, call: &Waiting, nanos: u64) {
        self.change(call.client, |client| {
            client.calls.remove(&(call.key, call.slot));
            client.tag = client.tag.saturating_add(nanos);
        });
        self.forget_age(call);
        let waits = self.clients.get(&call.client).is_some_and(|client| !client.calls.is_empty());
        let clients = self.by_first.len() + self.later.len() + usize::from(!waits);
        self.advance(self.virtual_time.saturating_add(nanos / clients.max(1) as u64));
        self.settle();
    }

    fn forget_age(&mut self, call: &Waiting) {
        if let Some(calls) = self.ages.get_mut(&call.route) {
            calls.remove(&call.number);
            if calls.is_empty() {
                self.ages.remove(&call.route);
            }
        }
    }

    /// Undoes what [`Band::start`] counted, but for the virtual time.
    fn refund(&mut self, client: u64, nanos: u64) {
        let now = self.virtual_time;
        self.change(client, |client| {
            // Forgotten meanwhile, it has begun anew and was charged nothing.
            client.tag = client.tag.saturating_sub(nanos).max(now.min(client.tag));
        });
    }

    /// Changes a client and puts it where it then belongs.
    fn change(&mut self, id: u64, change: impl FnOnce(&mut Client)) {
        let now = self.virtual_time;
        let client = self.clients.entry(id).or_default();
        match (client.calls.first(), client.calls.last()) {
            (Some(first), Some(last)) if client.tag <= now => {
                self.by_first.remove(&(first.0, id));
                self.by_last.remove(&(last.0, id));
            }
            (Some(_), _) => {
                self.later.remove(&(client.tag, id));
            }
            _ => {}
        }
        change(client);
        match (client.calls.first(), client.calls.last()) {
            (Some(first), Some(last)) if client.tag <= now => {
                self.by_first.insert((first.0, id));
                self.by_last.insert((last.0, id));
            }
            (Some(_), _) => {
                self.later.insert((client.tag, id));
            }
            _ => {
                self.clients.remove(&id);
            }
        }
    }

    /// Moves the virtual time on, and the clients it passes.
    fn advance(&mut self, to: u64) {
        self.virtual_time = self.virtual_time.max(to);
        while let Some(&(tag, id)) = self.later.first()
            && tag <= self.virtual_time
        {
            self.later.pop_first();
            let Some(client) = self.clients.get(&id) else { continue };
            if let (Some(first), Some(last)) = (client.calls.first(), client.calls.last()) {
                self.by_first.insert((first.0, id));
                self.by_last.insert((last.0, id));
            }
        }
    }

    /// When only clients wait that have had more than their share, the one with the least is next.
    fn settle(&mut self) {
        if self.by_first.is_empty()
            && let Some(&(tag, _)) = self.later.first()
        {
            self.advance(tag);
        }
    }
}

/// All waiting calls of a backend. Changes take O(log n).
#[derive(Debug, Default)]
pub(super) struct Queue {
    bands: BTreeMap<u8, Band>,
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

    pub(super) fn insert(&mut self, call: &Waiting) {
        self.bands.entry(call.priority).or_default().insert(call);
        self.waiting += 1;
    }

    /// Takes out a call that waits.
    pub(super) fn remove(&mut self, call: &Waiting) {
        self.take(call, |band| band.remove(call));
    }

    /// Takes out a call because it is started, which counts against its client's share. Returns
    /// what is counted.
    pub(super) fn start(&mut self, call: &Waiting, expected: Option<Duration>) -> Duration {
        let charged = expected.unwrap_or(UNKNOWN);
        self.take(call, |band| band.start(call, nanos(charged)));
        charged
    }

    fn take(&mut self, call: &Waiting, take: impl FnOnce(&mut Band)) {
        let Some(band) = self.bands.get_mut(&call.priority) else { return };
        take(band);
        self.waiting -= 1;
        if band.ages.is_empty() {
            self.bands.remove(&call.priority);
        }
    }

    /// Takes a started call back; it no longer counts.
    pub(super) fn put_back(&mut self, call: &Waiting, charged: Duration) {
        if let Some(band) = self.bands.get_mut(&call.priority) {
            band.refund(call.client, nanos(charged));
        }
        self.insert(call);
    }

    /// The call that is served next.
    pub(super) fn next(&self) -> Option<u32> {
        self.bands.first_key_value()?.1.next()
    }

    /// The call that would be served last.
    pub(super) fn last(&self) -> Option<u32> {
        self.bands.last_key_value()?.1.last()
    }
}

fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

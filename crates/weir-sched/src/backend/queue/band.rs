//! The waiting calls of one priority: clients, and the calls of each. The queue has one for each
//! priority that waits.
//!
//! Clients that have had no more than their share (see [`Clients`]) are all alike: the order of their
//! calls decides. The others come after them, those first who have had least. With one call for each
//! client, or all calls from one client, the order alone decides.

use std::collections::{BTreeMap, BTreeSet};

use foldhash::HashMap;

use super::clients::Clients;
use crate::time::Time;

/// Rank of a call in the configured order; no two are equal.
pub(crate) type Key = (u64, u64);

/// A call as the queue sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiting {
    pub(crate) priority: u8,
    pub(crate) client: u64,
    pub(crate) route: u32,
    pub(crate) key: Key,
    /// Of two calls the earlier has the lesser.
    pub(crate) number: u64,
    pub(crate) arrived: Time,
    pub(crate) slot: u32,
}

/// The oldest waiting call of a route in a band, or any other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Oldest {
    pub(crate) route: u32,
    pub(crate) arrived: Time,
    pub(crate) client: u64,
    pub(crate) slot: u32,
}

/// The calls of one client in a band.
#[derive(Debug, Default)]
struct Calls {
    calls: BTreeSet<(Key, u32)>,
    /// The tag under which the client stands among those that come later.
    later: Option<u64>,
}

/// Calls of one priority.
#[derive(Debug, Default)]
pub(crate) struct Band {
    clients: HashMap<u64, Calls>,
    /// Clients that have had no more than their share, by the key of their first call.
    by_first: BTreeSet<(Key, u64)>,
    /// The same clients by the key of their last call.
    by_last: BTreeSet<(Key, u64)>,
    /// The others, by their tags.
    later: BTreeSet<(u64, u64)>,
    /// Waiting calls by route, in the order of their arrival.
    ages: BTreeMap<u32, BTreeMap<u64, Oldest>>,
    /// The greatest key is served first.
    pub(crate) backwards: bool,
}

impl Band {
    /// The oldest call of each route that has any.
    pub(crate) fn oldest(&self) -> impl Iterator<Item = Oldest> {
        self.ages.values().filter_map(|calls| calls.values().next().copied())
    }

    /// Nobody waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.ages.is_empty()
    }

    /// Calls that wait.
    pub(crate) fn len(&self) -> usize {
        self.ages.values().map(BTreeMap::len).sum()
    }

    /// The call of each client that is served first, in the order in which they are served.
    pub(crate) fn in_order(&self) -> impl Iterator<Item = u32> {
        let backwards = self.backwards;
        let (first, last) = (self.by_first.iter(), self.by_last.iter().rev());
        let fair = first.take(if backwards { 0 } else { usize::MAX });
        let fair = fair.chain(last.take(if backwards { usize::MAX } else { 0 }));
        let clients = fair.map(|(_, client)| *client).chain(self.later.iter().map(|later| later.1));
        clients.filter_map(move |client| self.call_of(client, backwards))
    }

    /// The call that would be served last.
    pub(crate) fn last(&self) -> Option<u32> {
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

    pub(crate) fn insert(&mut self, call: &Waiting, clients: &Clients) {
        self.change(call.client, clients, |calls| {
            calls.insert((call.key, call.slot));
        });
        let Waiting { route, number, arrived, client, slot, .. } = *call;
        let calls = self.ages.entry(route).or_default();
        calls.insert(number, Oldest { route, arrived, client, slot });
    }

    pub(crate) fn remove(&mut self, call: &Waiting, clients: &Clients) {
        self.change(call.client, clients, |calls| {
            calls.remove(&(call.key, call.slot));
        });
        if let Some(calls) = self.ages.get_mut(&call.route) {
            calls.remove(&call.number);
            if calls.is_empty() {
                self.ages.remove(&call.route);
            }
        }
    }

    /// Changes the calls of a client and puts it where it then belongs.
    fn change(&mut self, id: u64, of: &Clients, change: impl FnOnce(&mut BTreeSet<(Key, u32)>)) {
        let client = self.clients.entry(id).or_default();
        match (client.calls.first(), client.calls.last(), client.later) {
            (_, _, Some(tag)) => {
                self.later.remove(&(tag, id));
            }
            (Some(first), Some(last), None) => {
                self.by_first.remove(&(first.0, id));
                self.by_last.remove(&(last.0, id));
            }
            _ => {}
        }
        change(&mut client.calls);
        let tag = of.tag(id);
        client.later = (tag > of.virtual_time() && !client.calls.is_empty()).then_some(tag);
        match (client.calls.first(), client.calls.last(), client.later) {
            (_, _, Some(tag)) => {
                self.later.insert((tag, id));
            }
            (Some(first), Some(last), None) => {
                self.by_first.insert((first.0, id));
                self.by_last.insert((last.0, id));
            }
            _ => {
                self.clients.remove(&id);
            }
        }
    }

    /// What a client has had has changed: puts it where it then belongs.
    pub(crate) fn refile(&mut self, id: u64, clients: &Clients) {
        if self.clients.contains_key(&id) {
            self.change(id, clients, |_| {});
        }
    }

    /// Moves the clients that the virtual time has passed.
    pub(crate) fn advance(&mut self, clients: &Clients) {
        while let Some(&(tag, id)) = self.later.first()
            && tag <= clients.virtual_time()
        {
            self.change(id, clients, |_| {});
        }
    }
}

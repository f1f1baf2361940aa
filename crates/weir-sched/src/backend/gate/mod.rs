//! The gate of one backend: calls that wait for it, how many may be under way, which goes next.
//! Used by the server's proxy, one gate for each backend, and by the simulator.
//!
//! Contract. Calls in: [`BackendGate::start_at_once`] or [`BackendGate::arrive`], then as things
//! happen [`BackendGate::answered`], [`BackendGate::ended`], [`BackendGate::failed`],
//! [`BackendGate::requeue`] and [`BackendGate::abandoned`]. Calls out: [`BackendGate::next`] returns
//! calls to start or to refuse. A call whose client has left is forgotten if it waits; if it is under way
//! its slot stays taken until the backend is done with it, for the backend is not to get more than it
//! can do, or until it is set aside (`slots.rs`). `now` never goes back. Every decision takes O(log n)
//! in the calls, and a step for each route that has calls waiting; where calls wait that may not
//! start, some hundred of them are looked at, and where calls hang, those that may not be set aside.

mod drain_rate;
mod long_calls;
mod overdue;
mod reports;
mod slot_holders;
mod slots;
mod under_way;

use std::collections::BTreeMap;
use std::time::Duration;

use slab::Slab;

use super::call::{Call, CallNext, CallSpec};
use super::config::{BackendConfig, BackendOrder, CallLimit};
use super::counts::Counts;
use super::limit::Limit;
use super::patience::Patience;
use super::queue::{Key, Queue, Waiting};
use super::service_times::ServiceTimes;
use super::unanswered::Unanswered;
use crate::time::Time;
use drain_rate::DrainRate;
use long_calls::LongCalls;
use slot_holders::SlotHolders;
use under_way::UnderWay;

/// Routes whose patience is told apart; more share.
const MOST_ROUTES: u32 = 1024;

#[derive(Clone, Copy, Debug)]
struct Entry {
    number: u64,
    arrived: Time,
    spec: CallSpec,
    key: Key,
    /// `None`: it waits.
    under_way: Option<UnderWay>,
}

/// The gate of one backend.
#[derive(Debug)]
pub struct BackendGate {
    config: BackendConfig,
    calls: Slab<Entry>,
    queue: Queue,
    under_way: usize,
    dead_under_way: usize,
    /// Calls under way that have no slot any more.
    aside: usize,
    limit: Limit,
    unanswered: Unanswered,
    long_calls: LongCalls,
    /// The calls that have slots, by the numbers of their starts.
    holding: SlotHolders,
    /// How long calls take and have slots.
    service_times: ServiceTimes,
    patience: BTreeMap<u32, Patience>,
    drain_rate: DrainRate,
    counts: Counts,
    /// Numbers the calls.
    issued: u64,
}

impl BackendGate {
    /// A gate without calls that has learned nothing.
    pub fn new(config: BackendConfig) -> BackendGate {
        BackendGate {
            config,
            calls: Slab::new(),
            queue: Queue::default(),
            under_way: 0,
            dead_under_way: 0,
            aside: 0,
            limit: Limit::new(config.limit),
            unanswered: Unanswered::default(),
            long_calls: LongCalls::default(),
            holding: SlotHolders::default(),
            service_times: ServiceTimes::default(),
            patience: BTreeMap::new(),
            drain_rate: DrainRate::default(),
            counts: Counts::default(),
            issued: 0,
        }
    }

    /// A call waits from now on. Then ask [`BackendGate::next`] until it is full or idle.
    pub fn arrive(&mut self, now: Time, spec: CallSpec) -> Call {
        let call = self.enter(now, spec);
        self.queue.insert(now, &self.waiting_call(call.slot));
        self.drain_rate.waiting(now, self.queue.len());
        call
    }

    /// A call is started as it comes, if nobody waits and the backend has room for it: the same as
    /// [`BackendGate::arrive`] and [`BackendGate::next`], without the queue. `None`: it has to
    /// arrive.
    pub fn start_at_once(&mut self, now: Time, spec: CallSpec) -> Option<Call> {
        if !self.has_room() || self.is_reserved(now, &spec) {
            return None;
        }
        let call = self.enter(now, spec);
        self.queue.start_at_once(now, spec.client);
        self.begin(now, call.slot, Duration::ZERO);
        Some(call)
    }

    /// Whether a call would start as it comes, unless its client has a slot and the others are kept
    /// for others.
    pub fn has_room(&self) -> bool {
        self.queue.len() == 0 && !self.is_full()
    }

    fn enter(&mut self, now: Time, spec: CallSpec) -> Call {
        self.issued += 1;
        let number = self.issued;
        let key = self.key(now, number, &spec);
        let entry = Entry { number, arrived: now, spec, key, under_way: None };
        Call { slot: self.calls.insert(entry) as u32, number }
    }

    /// What to do at `now`.
    pub fn next(&mut self, now: Time) -> CallNext {
        self.turn(now);
        let overdue = self.earliest_overdue(now);
        if let Some((at, slot)) = overdue
            && at <= now
        {
            return self.refuse(now, slot);
        }
        if self.queue.len() > self.config.max_queue
            && let Some(slot) = self.queue.last()
        {
            return self.refuse(now, slot);
        }
        if self.queue.len() == 0 {
            return CallNext::Idle;
        }
        match self.choose(now) {
            Some(slot) => self.start(now, slot),
            None => {
                let overdue = overdue.map(|(at, _)| at);
                CallNext::Full { until: overdue.into_iter().chain(self.review(now)).min() }
            }
        }
    }

    /// Calls that wait.
    pub fn waiting(&self) -> usize {
        self.queue.len()
    }

    /// Calls that were started and have not ended, those whose clients have left and those that were
    /// set aside included.
    pub fn under_way(&self) -> usize {
        self.under_way
    }

    /// Calls under way that were set aside: they have lasted for long, and others have their slots.
    /// Below 1024; none with a configured limit.
    pub fn aside(&self) -> usize {
        self.aside
    }

    /// Calls under way whose clients have left.
    pub fn dead_under_way(&self) -> usize {
        self.dead_under_way
    }

    /// Calls that may have slots, as configured or as learned so far. A learned one is at most 1024.
    /// (For short whiles fewer are let through, to learn what the backend takes then; and with a
    /// learned one, one more while one client has them all.)
    pub fn limit(&self) -> u32 {
        self.limit.get()
    }

    /// How long the clients of `route` wait for an answer: the median. `None` while too few have
    /// left, or most of them never do. Of the client that leaves most while too few others do.
    pub fn patience(&self, route: u32) -> Option<Duration> {
        self.patience.get(&(route % MOST_ROUTES))?.of_most().median
    }

    /// How long this client of `route` is taken to wait. `None` as with [`BackendGate::patience`].
    pub fn patience_of_client(&self, route: u32, client: u64) -> Option<Duration> {
        self.endurance(route, client).median
    }

    /// How long the backend is expected at `now` to take for such a call when it is served alone.
    /// `None` while nothing of the route was answered.
    pub fn expected(&self, now: Time, route: u32, kind: u64) -> Option<Duration> {
        self.service_times.of(now, route, kind)
    }

    /// How long such calls had slots so far, whenever that was: what a call is charged to its client
    /// when it is started. `None` while no call of the route has ended.
    pub fn usual(&self, route: u32, kind: u64) -> Option<Duration> {
        self.service_times.slot(route, kind)
    }

    /// Totals so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    fn start(&mut self, now: Time, slot: u32) -> CallNext {
        let waiting = self.waiting_call(slot);
        let Entry { number, spec, .. } = self.calls[slot as usize];
        let expected = self.service_times.slot(spec.route, spec.kind);
        let charged = self.queue.start(now, &waiting, expected);
        self.drain_rate.waiting(now, self.queue.len());
        self.begin(now, slot, charged);
        CallNext::Start { call: Call { slot, number }, tag: spec.tag }
    }

    fn refuse(&mut self, now: Time, slot: u32) -> CallNext {
        let retry_after = self.drain_rate.retry_after(now, self.queue.len());
        self.dequeue(now, slot);
        let entry = self.calls.remove(slot as usize);
        // It would have waited longer.
        let Entry { spec, arrived, .. } = entry;
        self.patience_of(spec.route).answered(spec.client, now.since(arrived));
        self.counts.refused += 1;
        let call = Call { slot, number: entry.number };
        CallNext::Refuse { call, tag: entry.spec.tag, retry_after }
    }

    fn dequeue(&mut self, now: Time, slot: u32) {
        self.queue.remove(now, &self.waiting_call(slot));
        self.drain_rate.waiting(now, self.queue.len());
    }

    fn waiting_call(&self, slot: u32) -> Waiting {
        let Entry { number, arrived, spec, key, .. } = &self.calls[slot as usize];
        Waiting {
            priority: spec.priority,
            client: spec.client,
            route: spec.route,
            key: *key,
            number: *number,
            arrived: *arrived,
            slot,
        }
    }

    /// Where a call stands in the configured order; the numbers make it unique.
    fn key(&self, now: Time, number: u64, spec: &CallSpec) -> Key {
        match self.config.order {
            BackendOrder::Adaptive | BackendOrder::NewestFirst | BackendOrder::Fifo => (number, 0),
            BackendOrder::ShortestExpected => {
                let expected =
                    self.service_times.of(now, spec.route, spec.kind).unwrap_or_default();
                (u64::try_from(expected.as_nanos()).unwrap_or(u64::MAX), !number)
            }
            BackendOrder::Edf => {
                let patience = self.endurance(spec.route, spec.client).median;
                let usual = now + patience.unwrap_or(self.config.queue_timeout);
                (spec.deadline.unwrap_or(usual).as_nanos(), number)
            }
        }
    }

    fn limit_is_learned(&self) -> bool {
        self.config.limit == CallLimit::Auto
    }

    fn patience_of(&mut self, route: u32) -> &mut Patience {
        self.patience.entry(route % MOST_ROUTES).or_insert_with(Patience::new)
    }

    fn entry(&mut self, call: Call) -> Option<&mut Entry> {
        self.calls.get_mut(call.slot as usize).filter(|entry| entry.number == call.number)
    }
}

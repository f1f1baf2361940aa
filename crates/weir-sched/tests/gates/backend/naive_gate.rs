//! The rules of the backend gate as plainly as they can be said: which call starts, which is refused,
//! what clients have had. It looks at all calls each time, and is told what the gate learns.
#![allow(unreachable_pub)]

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use proptest::prelude::*;
use weir_sched::{
    BackendConfig, BackendGate, BackendOrder, Call, CallLimit, CallNext, CallSpec, Time,
};

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum State {
    Waits,
    UnderWay { dead: bool, answered: bool, since: Time, charged: u64 },
    Over,
}

#[derive(Clone, Copy, Debug)]
pub struct Known {
    pub call: Call,
    pub spec: CallSpec,
    pub arrived: Time,
    pub key: (u64, u64),
    pub state: State,
}

/// What a client has had.
#[derive(Clone, Copy, Debug)]
pub struct Account {
    pub tag: u64,
    /// Since when it has nothing waiting.
    pub quiet: Time,
}

pub struct Model {
    pub config: BackendConfig,
    pub gate: BackendGate,
    pub calls: Vec<Known>,
    /// Bands with waiting calls: whether the order is turned round.
    pub bands: BTreeMap<u8, bool>,
    pub accounts: BTreeMap<u64, Account>,
    pub virtual_time: u64,
    /// Mean seconds for which slots were taken, and how many made it.
    pub took: (f64, u32),
    pub now: Time,
    pub starts: u64,
    pub requeued: u64,
    pub over: [u64; 4],
    /// Mean nanoseconds between two ends while calls waited, and how many made it.
    pub between: (f64, u32),
    pub last_end: Option<Time>,
    /// A call was set aside, and it is not known which: whose turn it is cannot be told any more.
    pub lost: bool,
}

impl Model {
    pub fn new(config: BackendConfig) -> Model {
        Model {
            config,
            gate: BackendGate::new(config),
            calls: Vec::new(),
            bands: BTreeMap::new(),
            accounts: BTreeMap::new(),
            virtual_time: 0,
            took: (0.0, 0),
            lost: false,
            now: Time::ZERO,
            starts: 0,
            requeued: 0,
            over: [0; 4],
            between: (0.0, 0),
            last_end: None,
        }
    }

    pub fn waiting(&self, band: u8) -> impl Iterator<Item = &Known> {
        let waits = |known: &&Known| known.state == State::Waits;
        self.calls.iter().filter(waits).filter(move |known| known.spec.priority == band)
    }

    pub fn count(&self, wanted: impl Fn(State) -> bool) -> usize {
        self.calls.iter().filter(|known| wanted(known.state)).count()
    }

    pub fn of_client(&self, client: u64, wanted: impl Fn(State) -> bool) -> usize {
        let of_client = self.calls.iter().filter(|known| known.spec.client == client);
        of_client.filter(|known| wanted(known.state)).count()
    }

    pub fn holds(&self, client: u64) -> bool {
        self.of_client(client, |state| matches!(state, State::UnderWay { .. })) > 0
    }

    /// Clients that wait or have slots.
    pub fn here(&self) -> u64 {
        let here = self.calls.iter().filter(|known| known.state != State::Over);
        here.map(|known| known.spec.client).collect::<BTreeSet<u64>>().len() as u64
    }

    pub fn account(&mut self, client: u64) -> &mut Account {
        let new = Account { tag: self.virtual_time, quiet: self.now };
        self.accounts.entry(client).or_insert(new)
    }

    /// Every change of who waits ends like this.
    pub fn settle(&mut self, spec: &CallSpec) {
        if self.of_client(spec.client, |state| state == State::Waits) == 0 {
            self.account(spec.client).quiet = self.now;
        }
        if self.waiting(spec.priority).count() == 0 {
            self.bands.remove(&spec.priority);
        }
    }

    pub fn nanos(&self, spec: &CallSpec) -> Option<u64> {
        self.gate.expected(self.now, spec.route, spec.kind).map(|span| span.as_nanos() as u64)
    }

    pub fn patience(&self, spec: &CallSpec) -> Option<Duration> {
        self.gate.patience_of_client(spec.route, spec.client)
    }

    pub fn key(&self, number: u64, spec: &CallSpec) -> (u64, u64) {
        match self.config.order {
            BackendOrder::ShortestExpected => (self.nanos(spec).unwrap_or(0), !number),
            BackendOrder::Edf => {
                let usual = self.now + self.patience(spec).unwrap_or(self.config.queue_timeout);
                (spec.deadline.unwrap_or(usual).as_nanos(), number)
            }
            _ => (number, 0),
        }
    }

    pub fn arrive(&mut self, spec: CallSpec) {
        let number = self.calls.len() as u64 + 1;
        let spec = CallSpec { tag: number - 1, ..spec };
        let key = self.key(number, &spec);
        let call = self.gate.arrive(self.now, spec);
        self.comes(&spec);
        self.calls.push(Known { call, spec, arrived: self.now, key, state: State::Waits });
    }

    /// A call of the client will wait from now on.
    pub fn comes(&mut self, spec: &CallSpec) {
        let waits = self.of_client(spec.client, |state| state == State::Waits);
        let (now, time) = (self.now, self.virtual_time);
        let average = Duration::from_secs_f64(self.took.0).as_nanos() as u64;
        let account = self.account(spec.client);
        if waits == 0 {
            let forgiven = average + now.since(account.quiet).as_nanos() as u64 / 4;
            account.tag = account.tag.saturating_sub(forgiven).clamp(time, time + 10_000_000_000);
        }
        self.bands.entry(spec.priority).or_default();
    }

    /// How long the newest of a band would wait in order of arrival.
    pub fn waits(&self, band: u8) -> Duration {
        let waiting: usize =
            self.bands.range(..=band).map(|(&band, _)| self.waiting(band).count()).sum();
        Duration::from_nanos((self.between.0 * waiting as f64) as u64)
    }

    /// A slot came back, before anybody waits again for it.
    pub fn slot_back(&mut self) {
        let (mean, seen) = &mut self.between;
        if let Some(last) = self.last_end {
            *seen = (*seen + 1).min(64);
            *mean += (self.now.since(last).as_nanos() as f64 - *mean) / f64::from(*seen);
        }
        let waits = self.count(|state| state == State::Waits) > 0;
        self.last_end = waits.then_some(self.now);
    }

    /// Turns the order round, or back.
    pub fn turn(&mut self) {
        let bands: Vec<u8> = self.bands.keys().copied().collect();
        for band in bands {
            let (turned, waits) = (self.bands[&band], self.waits(band));
            let oldest = |route| self.waiting(band).find(|known| known.spec.route == route);
            let backwards = match self.config.order {
                BackendOrder::NewestFirst => true,
                BackendOrder::Adaptive => [0, 1].into_iter().filter_map(oldest).any(|known| {
                    let waited = self.now.since(known.arrived);
                    self.patience(&known.spec).is_some_and(|all| match turned {
                        true => waited >= all.mul_f64(0.25),
                        false => {
                            let most = all.mul_f64(0.8);
                            waited >= most || waited >= all / 2 && waits >= most
                        }
                    })
                }),
                _ => false,
            };
            self.bands.insert(band, backwards);
        }
    }

    /// One call of each client and band in the order in which they are served: the least band first,
    /// in it clients that have had no more than their share by the order of their calls, then the
    /// others, those first who have had least.
    pub fn in_order(&self) -> Vec<usize> {
        let mut all = Vec::new();
        for (&band, &backwards) in &self.bands {
            let mut first: BTreeMap<u64, ((u64, u64), usize)> = BTreeMap::new();
            for known in self.waiting(band) {
                let call = (known.key, known.spec.tag as usize);
                let best = first.entry(known.spec.client).or_insert(call);
                *best = if backwards { call.max(*best) } else { call.min(*best) };
            }
            let tag = |client: &u64| self.accounts[client].tag;
            let (fair, later): (Vec<_>, Vec<_>) =
                first.into_iter().partition(|(client, _)| tag(client) <= self.virtual_time);
            let mut fair: Vec<_> = fair.into_iter().map(|(_, call)| call).collect();
            fair.sort();
            if backwards {
                fair.reverse();
            }
            let mut later: Vec<_> =
                later.into_iter().map(|(client, call)| (tag(&client), client, call.1)).collect();
            later.sort();
            all.extend(fair.into_iter().map(|(_, index)| index));
            all.extend(later.into_iter().map(|(_, _, index)| index));
        }
        all
    }

    pub fn next(&mut self) -> Result<bool, TestCaseError> {
        let allowed = self.gate.limit() as usize;
        let held = self.gate.under_way() - self.gate.aside();
        let aside = self.gate.aside();
        self.turn();
        let order = self.in_order();
        let learned = self.config.limit == CallLimit::Auto;
        let patience: Vec<_> = self.calls.iter().map(|it| self.patience(&it.spec)).collect();
        match self.gate.next(self.now) {
            CallNext::Start { call, tag } => {
                self.lost |= self.gate.aside() > aside;
                prop_assert!(learned || !self.lost && held < allowed);
                prop_assert!(self.gate.under_way() - self.gate.aside() <= held.max(allowed) + 1);
                let place = order.iter().position(|index| *index == tag as usize);
                prop_assert!(place.is_some() || self.lost);
                if !self.lost {
                    // Who has no slot is never passed over.
                    let passed = &order[..place.unwrap_or(0)];
                    prop_assert!(passed.iter().all(|it| self.holds(self.calls[*it].spec.client)));
                }
                let known = self.calls[tag as usize];
                prop_assert_eq!(known.call, call);
                let usual = self.gate.usual(known.spec.route, known.spec.kind);
                let charged = usual.map_or(1_000_000, |usual| usual.as_nanos() as u64);
                let since = self.now;
                let state = State::UnderWay { dead: false, answered: false, since, charged };
                self.calls[tag as usize].state = state;
                self.starts += 1;
                let tag = self.account(known.spec.client).tag;
                if place == Some(0) {
                    self.virtual_time = self.virtual_time.max(tag);
                }
                self.account(known.spec.client).tag += charged;
                self.virtual_time += charged / self.here();
                self.settle(&known.spec);
                Ok(true)
            }
            CallNext::Refuse { call, tag, retry_after } => {
                let known = self.calls[tag as usize];
                prop_assert_eq!((known.call, known.state), (call, State::Waits));
                let adaptive = self.config.order == BackendOrder::Adaptive;
                let least = patience[tag as usize].map_or(self.config.queue_timeout, |it| {
                    // Not above 0.8 times: departures may have become rare.
                    if adaptive { it.mul_f64(0.8) } else { it * 11 / 10 }
                });
                let old = self.now.since(known.arrived) + Duration::from_nanos(1) >= least;
                prop_assert!(old || self.gate.waiting() >= self.config.max_queue);
                prop_assert!((1..=60).contains(&retry_after.as_secs()));
                self.over(tag as usize, 0);
                self.settle(&known.spec);
                Ok(true)
            }
            CallNext::Full { until } => {
                prop_assert!(held > 0 && !order.is_empty());
                prop_assert!(until.is_some_and(|until| until > self.now));
                let all_hold = order.iter().all(|it| self.holds(self.calls[*it].spec.client));
                prop_assert!(learned || held >= allowed || all_hold);
                Ok(false)
            }
            CallNext::Idle => {
                prop_assert!(order.is_empty());
                Ok(false)
            }
        }
    }

    /// A slot comes back, for which so many nanoseconds count.
    pub fn give_back(&mut self, spec: &CallSpec, used: u64, charged: u64) {
        let (time, here) = (self.virtual_time, self.here().max(1));
        let account = self.account(spec.client);
        let tag = account.tag + used.saturating_sub(charged);
        account.tag = tag.saturating_sub(charged.saturating_sub(used)).max(time.min(tag));
        self.virtual_time += used.saturating_sub(charged) / here;
    }

    pub fn over(&mut self, index: usize, how: usize) {
        self.calls[index].state = State::Over;
        self.over[how] += 1;
    }
}

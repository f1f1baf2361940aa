//! The backend gate under random calls, against a naive model of its rules.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use proptest::prelude::*;
use weir_sched::{
    BackendConfig, BackendGate, BackendOrder, Call, CallLimit, CallNext, CallSpec, Left, Time,
};

const LONGEST: Duration = Duration::from_millis(400);

#[derive(Clone, Copy, Debug)]
enum Step {
    Arrive(CallSpec),
    /// It is started at once if that can be.
    Come(CallSpec),
    /// These name some call that ever was.
    Gone(usize),
    Answered(usize),
    Ended(usize),
    Failed(usize),
    Requeue(usize),
    Next,
    Pass(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let spec = (0u32..2, 0u8..2, 0u64..4, 0u64..3, prop::option::of(0u64..600));
    let any_call = || any::<prop::sample::Index>().prop_map(|index| index.index(1 << 20));
    let spec = spec.prop_map(|(route, priority, client, kind, deadline)| {
        let deadline = deadline.map(|ms| Time::from_nanos(ms * 1_000_000));
        CallSpec { tag: 0, route, priority, client, kind, deadline }
    });
    let step = prop_oneof![
        5 => spec.clone().prop_map(Step::Arrive),
        2 => spec.prop_map(Step::Come),
        2 => any_call().prop_map(Step::Gone),
        2 => any_call().prop_map(Step::Answered),
        3 => any_call().prop_map(Step::Ended),
        1 => any_call().prop_map(Step::Failed),
        1 => any_call().prop_map(Step::Requeue),
        7 => Just(Step::Next),
        3 => (1u64..40).prop_map(Step::Pass),
    ];
    prop::collection::vec(step, 1..500)
}

fn configs() -> impl Strategy<Value = BackendConfig> {
    let limit = prop_oneof![(0u32..4).prop_map(CallLimit::Fixed), Just(CallLimit::Auto)];
    (limit, prop::sample::select(BackendOrder::ALL.to_vec()), 3usize..40).prop_map(
        |(limit, order, most_waiting)| BackendConfig {
            limit,
            order,
            most_waiting,
            longest_wait: LONGEST,
        },
    )
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Waits,
    UnderWay { dead: bool, answered: bool, since: Time, charged: u64 },
    Over,
}

#[derive(Clone, Copy, Debug)]
struct Known {
    call: Call,
    spec: CallSpec,
    arrived: Time,
    key: (u64, u64),
    state: State,
}

/// What a client has had.
#[derive(Clone, Copy, Debug)]
struct Account {
    tag: u64,
    /// Since when it has nothing waiting.
    quiet: Time,
}

struct Model {
    config: BackendConfig,
    gate: BackendGate,
    calls: Vec<Known>,
    /// Bands with waiting calls: whether the order is turned round.
    bands: BTreeMap<u8, bool>,
    accounts: BTreeMap<u64, Account>,
    virtual_time: u64,
    /// Mean seconds for which slots were taken, and how many made it.
    took: (f64, u32),
    now: Time,
    starts: u64,
    requeued: u64,
    over: [u64; 4],
    /// Mean nanoseconds between two ends while calls waited, and how many made it.
    between: (f64, u32),
    last_end: Option<Time>,
    /// A call was set aside, and it is not known which: whose turn it is cannot be told any more.
    lost: bool,
}

impl Model {
    fn waiting(&self, band: u8) -> impl Iterator<Item = &Known> {
        let waits = |known: &&Known| known.state == State::Waits;
        self.calls.iter().filter(waits).filter(move |known| known.spec.priority == band)
    }

    fn count(&self, wanted: impl Fn(State) -> bool) -> usize {
        self.calls.iter().filter(|known| wanted(known.state)).count()
    }

    fn of_client(&self, client: u64, wanted: impl Fn(State) -> bool) -> usize {
        let of_client = self.calls.iter().filter(|known| known.spec.client == client);
        of_client.filter(|known| wanted(known.state)).count()
    }

    fn holds(&self, client: u64) -> bool {
        self.of_client(client, |state| matches!(state, State::UnderWay { .. })) > 0
    }

    /// Clients that wait or have slots.
    fn here(&self) -> u64 {
        let here = self.calls.iter().filter(|known| known.state != State::Over);
        here.map(|known| known.spec.client).collect::<BTreeSet<u64>>().len() as u64
    }

    fn account(&mut self, client: u64) -> &mut Account {
        let new = Account { tag: self.virtual_time, quiet: self.now };
        self.accounts.entry(client).or_insert(new)
    }

    /// Every change of who waits ends like this.
    fn settle(&mut self, spec: &CallSpec) {
        if self.of_client(spec.client, |state| state == State::Waits) == 0 {
            self.account(spec.client).quiet = self.now;
        }
        if self.waiting(spec.priority).count() == 0 {
            self.bands.remove(&spec.priority);
        }
    }

    fn nanos(&self, spec: &CallSpec) -> Option<u64> {
        self.gate.expected(self.now, spec.route, spec.kind).map(|span| span.as_nanos() as u64)
    }

    fn patience(&self, spec: &CallSpec) -> Option<Duration> {
        self.gate.patience_of_client(spec.route, spec.client)
    }

    fn key(&self, number: u64, spec: &CallSpec) -> (u64, u64) {
        match self.config.order {
            BackendOrder::ShortestExpected => (self.nanos(spec).unwrap_or(0), !number),
            BackendOrder::Edf => {
                let usual = self.now + self.patience(spec).unwrap_or(LONGEST);
                (spec.deadline.unwrap_or(usual).as_nanos(), number)
            }
            _ => (number, 0),
        }
    }

    fn arrive(&mut self, spec: CallSpec) {
        let number = self.calls.len() as u64 + 1;
        let spec = CallSpec { tag: number - 1, ..spec };
        let key = self.key(number, &spec);
        let call = self.gate.arrive(self.now, spec);
        self.comes(&spec);
        self.calls.push(Known { call, spec, arrived: self.now, key, state: State::Waits });
    }

    /// A call of the client will wait from now on.
    fn comes(&mut self, spec: &CallSpec) {
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
    fn waits(&self, band: u8) -> Duration {
        let waiting: usize =
            self.bands.range(..=band).map(|(&band, _)| self.waiting(band).count()).sum();
        Duration::from_nanos((self.between.0 * waiting as f64) as u64)
    }

    /// A slot came back, before anybody waits again for it.
    fn slot_back(&mut self) {
        let (mean, seen) = &mut self.between;
        if let Some(last) = self.last_end {
            *seen = (*seen + 1).min(64);
            *mean += (self.now.since(last).as_nanos() as f64 - *mean) / f64::from(*seen);
        }
        let waits = self.count(|state| state == State::Waits) > 0;
        self.last_end = waits.then_some(self.now);
    }

    /// Turns the order round, or back.
    fn turn(&mut self) {
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
    fn in_order(&self) -> Vec<usize> {
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

    fn next(&mut self) -> Result<bool, TestCaseError> {
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
                let least = patience[tag as usize].map_or(LONGEST, |it| {
                    // Not above 0.8 times: departures may have become rare.
                    if adaptive { it.mul_f64(0.8) } else { it * 11 / 10 }
                });
                let old = self.now.since(known.arrived) + Duration::from_nanos(1) >= least;
                prop_assert!(old || self.gate.waiting() >= self.config.most_waiting);
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
    fn give_back(&mut self, spec: &CallSpec, used: u64, charged: u64) {
        let (time, here) = (self.virtual_time, self.here().max(1));
        let account = self.account(spec.client);
        let tag = account.tag + used.saturating_sub(charged);
        account.tag = tag.saturating_sub(charged.saturating_sub(used)).max(time.min(tag));
        self.virtual_time += used.saturating_sub(charged) / here;
    }

    fn over(&mut self, index: usize, how: usize) {
        self.calls[index].state = State::Over;
        self.over[how] += 1;
    }

    fn step(&mut self, step: Step) -> Result<(), TestCaseError> {
        let pick = |index: usize| (!self.calls.is_empty()).then(|| index % self.calls.len());
        match step {
            Step::Pass(ms) => self.now += Duration::from_millis(ms),
            Step::Arrive(spec) => self.arrive(spec),
            Step::Come(spec) => {
                let waiting = self.count(|state| state == State::Waits);
                let index = self.calls.len();
                let tagged = CallSpec { tag: index as u64, ..spec };
                let Some(call) = self.gate.start_at_once(self.now, tagged) else {
                    let full = self.gate.under_way() >= self.gate.limit() as usize;
                    let probes = self.config.limit == CallLimit::Auto;
                    prop_assert!(waiting > 0 || full || probes || self.holds(spec.client));
                    self.arrive(spec);
                    return Ok(());
                };
                prop_assert_eq!(waiting, 0);
                let held = self.gate.under_way() - self.gate.aside();
                prop_assert!(held <= self.gate.limit() as usize);
                let key = self.key(index as u64 + 1, &tagged);
                let since = self.now;
                let state = State::UnderWay { dead: false, answered: false, since, charged: 0 };
                self.account(spec.client);
                self.calls.push(Known { call, spec: tagged, arrived: self.now, key, state });
                self.starts += 1;
            }
            Step::Next => {
                self.next()?;
            }
            Step::Gone(index) => {
                let Some(index) = pick(index) else { return Ok(()) };
                let Known { call, spec, state, .. } = self.calls[index];
                let left = self.gate.gone(self.now, call);
                match state {
                    State::Waits => {
                        prop_assert_eq!(left, Left::Waiting);
                        self.over(index, 1);
                        self.settle(&spec);
                    }
                    State::UnderWay { answered, since, charged, .. } => {
                        prop_assert_eq!(left, Left::UnderWay);
                        let dead = true;
                        self.calls[index].state =
                            State::UnderWay { dead, answered, since, charged };
                    }
                    State::Over => prop_assert_eq!(left, Left::Unknown),
                }
            }
            Step::Answered(index) => {
                let Some(index) = pick(index) else { return Ok(()) };
                self.gate.answered(self.now, self.calls[index].call);
                if let State::UnderWay { answered, .. } = &mut self.calls[index].state {
                    *answered = true;
                }
            }
            Step::Ended(index) | Step::Failed(index) => {
                let Some(index) = pick(index) else { return Ok(()) };
                let ended = matches!(step, Step::Ended(_));
                let call = self.calls[index].call;
                if ended {
                    self.gate.ended(self.now, call);
                } else {
                    self.gate.failed(self.now, call);
                }
                let Known { spec, state, .. } = self.calls[index];
                if let State::UnderWay { since, charged, .. } = state {
                    let took = self.now.since(since);
                    self.give_back(&spec, took.as_nanos() as u64, charged);
                    let (mean, seen) = &mut self.took;
                    *seen = (*seen + 1).min(64);
                    *mean += (took.as_secs_f64() - *mean) / f64::from(*seen);
                    self.over(index, if ended { 2 } else { 3 });
                    self.slot_back();
                }
            }
            Step::Requeue(index) => {
                let Some(index) = pick(index) else { return Ok(()) };
                let Known { call, spec, state, .. } = self.calls[index];
                self.gate.requeue(self.now, call);
                if let State::UnderWay { dead, answered: false, charged, .. } = state {
                    self.requeued += 1;
                    self.slot_back();
                    if dead {
                        self.calls[index].state = State::Over;
                    } else {
                        self.comes(&spec);
                        self.calls[index].state = State::Waits;
                    }
                    self.give_back(&spec, 0, charged);
                }
            }
        }
        Ok(())
    }

    fn check(&self) -> Result<(), TestCaseError> {
        prop_assert_eq!(self.gate.waiting(), self.count(|state| state == State::Waits));
        let under_way = self.count(|state| matches!(state, State::UnderWay { .. }));
        prop_assert_eq!(self.gate.under_way(), under_way);
        let dead = self.count(|state| matches!(state, State::UnderWay { dead: true, .. }));
        prop_assert_eq!(self.gate.dead_under_way(), dead);
        let counts = self.gate.counts();
        let over = [counts.refused, counts.gone_waiting, counts.ended, counts.failed];
        prop_assert_eq!(over, self.over);
        prop_assert_eq!((counts.started, counts.requeued), (self.starts, self.requeued));
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn the_gate_does_what_its_rules_say(config in configs(), steps in steps()) {
        let mut model = Model {
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
        };
        for step in steps {
            model.step(step)?;
            model.check()?;
        }
        // In the end every call is started and ends, or is refused: nothing is lost.
        for round in 0.. {
            prop_assert!(round < 2000, "calls are left over");
            while model.next()? {}
            if model.count(|state| state != State::Over) == 0 {
                break;
            }
            for index in 0..model.calls.len() {
                model.step(Step::Ended(index))?;
            }
            model.now += Duration::from_millis(1);
            model.check()?;
        }
        prop_assert_eq!(model.gate.next(model.now), CallNext::Idle);
    }
}

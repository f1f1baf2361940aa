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
    UnderWay { dead: bool, answered: bool, charged: u64 },
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

/// Virtual time and tags of a band.
#[derive(Default)]
struct Band {
    now: u64,
    tags: BTreeMap<u64, u64>,
    /// The order is turned round.
    backwards: bool,
}

struct Model {
    config: BackendConfig,
    gate: BackendGate,
    calls: Vec<Known>,
    bands: BTreeMap<u8, Band>,
    now: Time,
    starts: u64,
    requeued: u64,
    over: [u64; 4],
    /// Mean nanoseconds between two ends while calls waited, and how many made it.
    between: (f64, u32),
    last_end: Option<Time>,
}

impl Model {
    fn waiting(&self, band: u8) -> impl Iterator<Item = &Known> {
        let waits = |known: &&Known| known.state == State::Waits;
        self.calls.iter().filter(waits).filter(move |known| known.spec.priority == band)
    }

    fn count(&self, wanted: impl Fn(State) -> bool) -> usize {
        self.calls.iter().filter(|known| wanted(known.state)).count()
    }

    fn tag(&self, band: u8, client: u64) -> u64 {
        self.bands[&band].tags.get(&client).copied().unwrap_or(0)
    }

    /// Every change of who waits ends like this.
    fn settle(&mut self, band: u8) {
        let tags = self.waiting(band).map(|known| self.tag(band, known.spec.client)).min();
        match (tags, self.bands.get_mut(&band)) {
            (None, _) => {
                self.bands.remove(&band);
            }
            (Some(least), Some(found)) => found.now = found.now.max(least),
            _ => {}
        }
    }

    fn nanos(&self, spec: &CallSpec) -> Option<u64> {
        self.gate.expected(self.now, spec.route, spec.kind).map(|span| span.as_nanos() as u64)
    }

    fn key(&self, number: u64, spec: &CallSpec) -> (u64, u64) {
        match self.config.order {
            BackendOrder::ShortestExpected => (self.nanos(spec).unwrap_or(0), !number),
            BackendOrder::Edf => {
                let usual = self.now + self.gate.patience(spec.route).unwrap_or(LONGEST);
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
        self.calls.push(Known { call, spec, arrived: self.now, key, state: State::Waits });
        self.comes(&spec);
    }

    /// A call of the client waits from now on.
    fn comes(&mut self, spec: &CallSpec) {
        let alone = self.waiting(spec.priority).filter(|it| it.spec.client == spec.client).count();
        let band = self.bands.entry(spec.priority).or_default();
        if alone == 1 {
            band.tags.insert(spec.client, band.now);
        }
        self.settle(spec.priority);
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
            let (turned, waits) = (self.bands[&band].backwards, self.waits(band));
            let backwards = match self.config.order {
                BackendOrder::NewestFirst => true,
                BackendOrder::Adaptive => self.waiting(band).any(|known| {
                    let patience = self.gate.patience(known.spec.route);
                    let waited = self.now.since(known.arrived);
                    patience.is_some_and(|all| match turned {
                        true => waited >= all.mul_f64(0.25),
                        false => {
                            let most = all.mul_f64(0.8);
                            waited >= most || waited >= all / 2 && waits >= most
                        }
                    })
                }),
                _ => false,
            };
            self.bands.entry(band).or_default().backwards = backwards;
        }
    }

    /// The call to start: all of the least band whose client has had no more than its share, and
    /// of those the one that the order names.
    fn first(&self) -> Option<usize> {
        let (band, of_band) = self.bands.first_key_value()?;
        let fair = self
            .waiting(*band)
            .filter(|known| self.tag(*band, known.spec.client) <= of_band.now)
            .map(|known| (known.key, known.spec.tag as usize));
        let found = if of_band.backwards { fair.max() } else { fair.min() };
        found.map(|(_, index)| index)
    }

    fn next(&mut self) -> Result<bool, TestCaseError> {
        let allowed = self.gate.limit() as usize;
        let under_way = self.gate.under_way();
        self.turn();
        let expected = self.first();
        let patience = [0, 1].map(|route| self.gate.patience(route));
        match self.gate.next(self.now) {
            CallNext::Start { call, tag } => {
                prop_assert_eq!(Some(tag as usize), expected);
                prop_assert!(under_way < allowed);
                let known = self.calls[tag as usize];
                prop_assert_eq!(known.call, call);
                let usual = self.gate.usual(known.spec.route, known.spec.kind);
                let charged = usual.map_or(1_000_000, |usual| usual.as_nanos() as u64);
                let state = State::UnderWay { dead: false, answered: false, charged };
                self.calls[tag as usize].state = state;
                self.starts += 1;
                self.charge(known.spec, charged);
                Ok(true)
            }
            CallNext::Refuse { call, tag, retry_after } => {
                let known = self.calls[tag as usize];
                prop_assert_eq!((known.call, known.state), (call, State::Waits));
                let adaptive = self.config.order == BackendOrder::Adaptive;
                let least = patience[known.spec.route as usize].map_or(LONGEST, |it| {
                    // Not above 0.8 times: departures may have become rare.
                    if adaptive { it.mul_f64(0.8) } else { it * 11 / 10 }
                });
                let old = self.now.since(known.arrived) + Duration::from_nanos(1) >= least;
                prop_assert!(old || self.gate.waiting() >= self.config.most_waiting);
                prop_assert!((1..=60).contains(&retry_after.as_secs()));
                self.over(tag as usize, 0);
                self.settle(known.spec.priority);
                Ok(true)
            }
            CallNext::Full { until } => {
                prop_assert!(under_way > 0 && expected.is_some());
                prop_assert!(until.is_some_and(|until| until > self.now));
                if self.config.limit != CallLimit::Auto {
                    prop_assert!(under_way >= allowed);
                }
                Ok(false)
            }
            CallNext::Idle => {
                prop_assert_eq!(expected, None);
                Ok(false)
            }
        }
    }

    fn charge(&mut self, spec: CallSpec, nanos: u64) {
        let mut clients: BTreeSet<u64> =
            self.waiting(spec.priority).map(|known| known.spec.client).collect();
        clients.insert(spec.client);
        let tag = self.bands.get(&spec.priority).map(|_| self.tag(spec.priority, spec.client));
        if let (Some(tag), Some(band)) = (tag, self.bands.get_mut(&spec.priority)) {
            band.tags.insert(spec.client, tag + nanos);
            band.now += nanos / clients.len() as u64;
        }
        self.settle(spec.priority);
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
                    prop_assert!(waiting > 0 || full || probes);
                    self.arrive(spec);
                    return Ok(());
                };
                prop_assert_eq!(waiting, 0);
                prop_assert!(self.gate.under_way() <= self.gate.limit() as usize);
                let key = self.key(index as u64 + 1, &tagged);
                let state = State::UnderWay { dead: false, answered: false, charged: 0 };
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
                        self.settle(spec.priority);
                    }
                    State::UnderWay { answered, charged, .. } => {
                        prop_assert_eq!(left, Left::UnderWay);
                        self.calls[index].state = State::UnderWay { dead: true, answered, charged };
                    }
                    State::Over => prop_assert_eq!(left, Left::Unknown),
                }
            }
            Step::Answered(index) => {
                let Some(index) = pick(index) else { return Ok(()) };
                self.gate.answered(self.now, self.calls[index].call);
                if let State::UnderWay { dead, charged, .. } = self.calls[index].state {
                    self.calls[index].state = State::UnderWay { dead, answered: true, charged };
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
                if matches!(self.calls[index].state, State::UnderWay { .. }) {
                    self.over(index, if ended { 2 } else { 3 });
                    self.slot_back();
                }
            }
            Step::Requeue(index) => {
                let Some(index) = pick(index) else { return Ok(()) };
                let Known { call, spec, state, .. } = self.calls[index];
                self.gate.requeue(self.now, call);
                if let State::UnderWay { dead, answered: false, charged } = state {
                    self.requeued += 1;
                    self.slot_back();
                    if dead {
                        self.calls[index].state = State::Over;
                        return Ok(());
                    }
                    self.calls[index].state = State::Waits;
                    let band = self.bands.entry(spec.priority).or_default();
                    if let Some(tag) = band.tags.get_mut(&spec.client) {
                        *tag = tag.saturating_sub(charged).max(band.now.min(*tag));
                    }
                    self.comes(&spec);
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

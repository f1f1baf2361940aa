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
    let step = prop_oneof![
        6 => spec.prop_map(|(route, priority, client, kind, deadline)| {
            let deadline = deadline.map(|ms| Time::from_nanos(ms * 1_000_000));
            Step::Arrive(CallSpec { tag: 0, route, priority, client, kind, deadline })
        }),
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
            cancels: false,
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

    fn arrive(&mut self, spec: CallSpec) {
        let number = self.calls.len() as u64 + 1;
        let spec = CallSpec { tag: number - 1, ..spec };
        let key = match self.config.order {
            BackendOrder::ShortestExpected => (self.nanos(&spec).unwrap_or(0), !number),
            BackendOrder::Edf => {
                let usual = self.now + self.gate.patience(spec.route).unwrap_or(LONGEST);
                (spec.deadline.unwrap_or(usual).as_nanos(), number)
            }
            _ => (number, 0),
        };
        let call = self.gate.arrive(self.now, spec);
        self.calls.push(Known { call, spec, arrived: self.now, key, state: State::Waits });
        self.comes(&spec);
    }

    /// A call of the client waits from now on.
    fn comes(&mut self, spec: &CallSpec) {
        let alone = self.waiting(spec.priority).filter(|it| it.spec.client == spec.client).count();
        let band = self.bands.entry(spec.priority).or_default();
        if alone == 1 {
            let tag = band.tags.entry(spec.client).or_default();
            *tag = band.now.max(*tag);
        }
        self.settle(spec.priority);
    }

    fn backwards(&self, band: u8) -> bool {
        match self.config.order {
            BackendOrder::NewestFirst => true,
            BackendOrder::Adaptive => self.waiting(band).any(|known| {
                let patience = self.gate.patience(known.spec.route);
                patience.is_some_and(|patience| self.now.since(known.arrived) >= patience / 2)
            }),
            _ => false,
        }
    }

    /// The call to start: all of the least band whose client has had no more than its share, and
    /// of those the one that the order names.
    fn first(&self) -> Option<usize> {
        let (band, fair) = self.bands.first_key_value()?;
        let fair = self
            .waiting(*band)
            .filter(|known| self.tag(*band, known.spec.client) <= fair.now)
            .map(|known| (known.key, known.spec.tag as usize));
        let found = if self.backwards(*band) { fair.max() } else { fair.min() };
        found.map(|(_, index)| index)
    }

    fn next(&mut self) -> Result<bool, TestCaseError> {
        let allowed = self.gate.limit() as usize;
        let under_way = self.gate.under_way();
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
                let least = patience[known.spec.route as usize].map_or(LONGEST, |it| it * 11 / 10);
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
                }
            }
            Step::Requeue(index) => {
                let Some(index) = pick(index) else { return Ok(()) };
                let Known { call, spec, state, .. } = self.calls[index];
                self.gate.requeue(self.now, call);
                if let State::UnderWay { dead, answered: false, charged } = state {
                    self.requeued += 1;
                    if dead {
                        self.calls[index].state = State::Over;
                        return Ok(());
                    }
                    self.calls[index].state = State::Waits;
                    let band = self.bands.entry(spec.priority).or_default();
                    if let Some(tag) = band.tags.get_mut(&spec.client) {
                        *tag = tag.saturating_sub(charged);
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

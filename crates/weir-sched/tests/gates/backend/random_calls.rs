//! The backend gate under random calls, against a naive model of its rules.

use std::time::Duration;

use super::naive_gate::{Known, Model, State};
use proptest::prelude::*;
use weir_sched::{Abandoned, BackendConfig, BackendOrder, CallLimit, CallNext, CallSpec, Time};

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
        |(limit, order, max_queue)| BackendConfig {
            limit,
            order,
            max_queue,
            queue_timeout: LONGEST,
        },
    )
}

impl Model {
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
                let left = self.gate.abandoned(self.now, call);
                match state {
                    State::Waits => {
                        prop_assert_eq!(left, Abandoned::Waiting);
                        self.over(index, 1);
                        self.settle(&spec);
                    }
                    State::UnderWay { answered, since, charged, .. } => {
                        prop_assert_eq!(left, Abandoned::UnderWay);
                        let dead = true;
                        self.calls[index].state =
                            State::UnderWay { dead, answered, since, charged };
                    }
                    State::Over => prop_assert_eq!(left, Abandoned::Unknown),
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
        let over = [counts.refused, counts.abandoned_waiting, counts.ended, counts.failed];
        prop_assert_eq!(over, self.over);
        prop_assert_eq!((counts.started, counts.requeued), (self.starts, self.requeued));
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn the_gate_does_what_its_rules_say(config in configs(), steps in steps()) {
        let mut model = Model::new(config);
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

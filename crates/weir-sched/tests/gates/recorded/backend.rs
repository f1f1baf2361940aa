//! The backend gate in every order, with a configured and with a learned limit, in front of a backend
//! of a few workers whose load rises and falls. Means and logarithms are the platform's floating
//! point: the digests are those of Linux on x86-64.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::time::Duration;

use weir_sched::{
    Abandoned, BackendConfig, BackendGate, BackendOrder, Call, CallLimit, CallNext, CallSpec, Time,
};

use super::compare;
use super::script::{Digest, Numbers, moment, span};

const RECORDED: &[(&str, u64)] = &[
    ("adaptive 6", 0xFACD_E14C_F0B4_4E89),
    ("adaptive auto", 0x490A_4E12_EC99_7B33),
    ("newest-first 6", 0x7456_F1B6_C4C0_3E16),
    ("newest-first auto", 0xEE7E_0F9F_9101_E6EB),
    ("fifo 6", 0x7E56_286D_1F8F_6DDC),
    ("fifo auto", 0xA137_00D5_628E_9749),
    ("shortest-expected 6", 0xFCC6_B571_E1A9_D312),
    ("shortest-expected auto", 0x36FF_848F_CDF1_781F),
    ("edf 6", 0x9D54_88EB_9D25_6994),
    ("edf auto", 0x2084_4F11_7590_D18A),
];

const CALLS: u64 = 20_000;
const WORKERS: usize = 4;

#[test]
fn the_backend_gate_starts_and_refuses_what_it_did() {
    let mut digests = Vec::new();
    for order in BackendOrder::ALL {
        for limit in [CallLimit::Fixed(6), CallLimit::Auto] {
            let max_queue = 200;
            let config = BackendConfig { order, limit, max_queue, ..BackendConfig::default() };
            digests.push((format!("{order} {limit}"), Backend::new(config).play()));
        }
    }
    compare(RECORDED, &digests);
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Arrives,
    Answered(Place),
    Ended(Place),
    Failed(Place),
    Requeued(Place),
    Leaves(Place),
    AskAgain,
}

/// A call by its place in the order of arrival.
type Place = usize;

/// A gate, the calls that its owner knows, and a backend behind it.
struct Backend {
    gate: BackendGate,
    numbers: Numbers,
    digest: Digest,
    now: Time,
    /// What happens when, and in which order of what happens at once.
    events: BinaryHeap<Reverse<(Time, u64, Event)>>,
    issued: u64,
    calls: Vec<(Call, CallSpec)>,
    places: HashMap<Call, Place>,
    /// Until when each worker is busy.
    workers: [Time; WORKERS],
    /// Mean time between two arrivals.
    interval: Duration,
    /// When the gate is asked again though nothing has happened.
    asks_again: Option<Time>,
}

impl Backend {
    fn new(config: BackendConfig) -> Backend {
        Backend {
            gate: BackendGate::new(config),
            numbers: Numbers(1),
            digest: Digest::new(),
            now: Time::from_nanos(1),
            events: BinaryHeap::new(),
            issued: 0,
            calls: Vec::new(),
            places: HashMap::new(),
            workers: [Time::ZERO; WORKERS],
            interval: Duration::from_millis(10),
            asks_again: None,
        }
    }

    fn play(mut self) -> u64 {
        self.later(Duration::ZERO, Event::Arrives);
        while let Some(Reverse((at, _, event))) = self.events.pop() {
            self.now = self.now.max(at);
            self.happens(event);
            self.ask();
            self.note_state();
        }
        self.digest.value()
    }

    fn later(&mut self, after: Duration, event: Event) {
        self.issued += 1;
        self.events.push(Reverse((self.now + after, self.issued, event)));
    }

    fn happens(&mut self, event: Event) {
        let now = self.now;
        match event {
            Event::Arrives => self.arrive(),
            Event::Answered(at) => self.gate.answered(now, self.calls[at].0),
            Event::Ended(at) => self.gate.ended(now, self.calls[at].0),
            Event::Failed(at) => self.gate.failed(now, self.calls[at].0),
            Event::Requeued(at) => self.gate.requeue(now, self.calls[at].0),
            Event::Leaves(at) => {
                let left = match self.gate.abandoned(now, self.calls[at].0) {
                    Abandoned::Waiting => 0,
                    Abandoned::UnderWay => 1,
                    Abandoned::Unknown => 2,
                };
                self.digest.note(&[0, left]);
            }
            Event::AskAgain => self.asks_again = None,
        }
    }

    fn arrive(&mut self) {
        let numbers = &mut self.numbers;
        let place = self.calls.len();
        let kind = numbers.below(6);
        let deadline = Duration::from_millis(numbers.heavy_tailed(13));
        let spec = CallSpec {
            tag: place as u64,
            route: numbers.below(2) as u32,
            priority: u8::from(numbers.once_in(5)),
            client: numbers.heavy_tailed(6),
            kind,
            deadline: numbers.once_in(3).then(|| self.now + deadline),
        };
        let at_once =
            if numbers.once_in(2) { self.gate.start_at_once(self.now, spec) } else { None };
        let call = at_once.unwrap_or_else(|| self.gate.arrive(self.now, spec));
        self.calls.push((call, spec));
        self.places.insert(call, place);
        self.digest.note(&[1, u64::from(at_once.is_some())]);
        if at_once.is_some() {
            self.serve(place);
        }
        if self.numbers.once_in(2) {
            let patience = Duration::from_millis(200 + self.numbers.heavy_tailed(13));
            self.later(patience, Event::Leaves(place));
        }
        if self.calls.len().is_multiple_of(2000) {
            // Four workers take about 5 ms a call: from half of what they can do to more than
            // three times as much.
            let micros = self.numbers.one_of(&[12_000, 6000, 3000, 1500]);
            self.interval = Duration::from_micros(micros);
        }
        if (self.calls.len() as u64) < CALLS {
            let micros = self.interval.as_micros() as u64;
            let pause = Duration::from_micros(self.numbers.below(2 * micros));
            self.later(pause, Event::Arrives);
        }
    }

    /// The backend gets a call: a free worker takes it, after what it got before.
    fn serve(&mut self, place: Place) {
        match self.numbers.below(200) {
            0 => return self.later(Duration::from_millis(3), Event::Failed(place)),
            1 => return self.later(Duration::from_micros(200), Event::Requeued(place)),
            2 => {
                // It hangs, and holds no worker.
                let long = Duration::from_secs(self.numbers.heavy_tailed(6));
                self.later(long, Event::Answered(place));
                return self.later(long * 2, Event::Ended(place));
            }
            _ => {}
        }
        let (_, spec) = self.calls[place];
        let mean = 2000 << spec.kind;
        let took = Duration::from_micros(mean / 2 + self.numbers.below(mean));
        let Some(worker) = self.workers.iter_mut().min() else { return };
        let done = (*worker).max(self.now) + took;
        *worker = done;
        let after = done.since(self.now);
        self.later(after, Event::Answered(place));
        let rest = Duration::from_micros(self.numbers.heavy_tailed(12));
        self.later(after + rest, Event::Ended(place));
    }

    /// Asks what to do until nothing may start.
    fn ask(&mut self) {
        loop {
            match self.gate.next(self.now) {
                CallNext::Start { call, tag } => {
                    self.digest.note(&[2, self.places[&call] as u64, tag]);
                    self.serve(self.places[&call]);
                }
                CallNext::Refuse { call, tag, retry_after } => {
                    let place = self.places[&call] as u64;
                    self.digest.note(&[3, place, tag, span(Some(retry_after))]);
                }
                CallNext::Full { until } => {
                    self.digest.note(&[4, moment(until)]);
                    let sooner = |at: &Time| self.asks_again.is_none_or(|old| *at < old);
                    if let Some(at) = until.filter(|at| *at > self.now).filter(sooner) {
                        self.asks_again = Some(at);
                        self.later(at.since(self.now), Event::AskAgain);
                    }
                    return;
                }
                CallNext::Idle => return self.digest.note(&[5]),
            }
        }
    }

    fn note_state(&mut self) {
        let gate = &self.gate;
        let counts = [gate.waiting(), gate.under_way(), gate.aside(), gate.dead_under_way()];
        self.digest.note(&counts.map(|count| count as u64));
        self.digest.note(&[gate.limit().into(), u64::from(gate.has_room())]);
        let (route, kind, client) = ((self.issued % 2) as u32, self.issued % 6, self.issued % 64);
        self.digest.note(&[
            span(gate.patience(route)),
            span(gate.patience_of_client(route, client)),
            span(gate.expected(self.now, route, kind)),
            span(gate.usual(route, kind)),
        ]);
    }
}

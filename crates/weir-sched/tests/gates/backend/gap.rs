//! The learned limit where a call takes a while from the gate to the application: fast applications
//! are not left idle between an answer and the next call, and in front of slow ones none wait inside.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::time::Duration;

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};
use weir_sched::{BackendConfig, BackendGate, Call, CallNext, CallSpec, Time};

/// How long a worker takes, on average and how that is spread.
#[derive(Clone, Copy, Debug)]
enum Service {
    Constant(f64),
    Exponential(f64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Reaches,
    IsAnswered,
}

/// Workers that take calls in the order in which they reach them, asked for more than they can do.
struct Application {
    gate: BackendGate,
    now: Time,
    workers: usize,
    gap: Duration,
    service: Service,
    random: Xoshiro256PlusPlus,
    tag: u64,
    started: Vec<Call>,
    events: BinaryHeap<Reverse<(Time, Event, usize)>>,
    inside: VecDeque<usize>,
    busy: usize,
    work: f64,
}

impl Application {
    fn new(workers: usize, gap: Duration, service: Service) -> Application {
        Application {
            gate: BackendGate::new(BackendConfig::default()),
            now: Time::ZERO,
            workers,
            gap,
            service,
            random: Xoshiro256PlusPlus::seed_from_u64(1),
            tag: 0,
            started: Vec::new(),
            events: BinaryHeap::new(),
            inside: VecDeque::new(),
            busy: 0,
            work: 0.0,
        }
    }

    /// Until so many more calls are answered. Returns the share of their time that workers had work.
    fn run(&mut self, answers: usize) -> f64 {
        let (begun, worked) = (self.now, self.work);
        let mut answered = 0;
        while answered < answers {
            self.ask();
            let Some(Reverse((at, event, call))) = self.events.pop() else { break };
            self.now = at;
            if event == Event::Reaches {
                self.inside.push_back(call);
            } else {
                answered += 1;
                self.busy -= 1;
                self.gate.answered(at, self.started[call]);
                self.gate.ended(at, self.started[call]);
            }
            self.serve();
        }
        (self.work - worked) / self.now.since(begun).as_secs_f64() / self.workers as f64
    }

    /// There are always some who wait.
    fn ask(&mut self) {
        loop {
            while self.gate.waiting() < 20 {
                self.tag += 1;
                let (tag, client) = (self.tag, self.tag);
                self.gate.arrive(self.now, CallSpec { tag, client, ..CallSpec::default() });
            }
            match self.gate.next(self.now) {
                CallNext::Start { call, .. } => {
                    let place = self.started.len();
                    self.events.push(Reverse((self.now + self.gap, Event::Reaches, place)));
                    self.started.push(call);
                }
                CallNext::Refuse { .. } => {}
                CallNext::Full { .. } | CallNext::Idle => return,
            }
        }
    }

    fn serve(&mut self) {
        while self.busy < self.workers
            && let Some(call) = self.inside.pop_front()
        {
            self.busy += 1;
            let seconds = match self.service {
                Service::Constant(seconds) => seconds,
                Service::Exponential(mean) => -(1.0 - self.random.random::<f64>()).ln() * mean,
            };
            self.work += seconds;
            let end = self.now + Duration::from_secs_f64(seconds);
            self.events.push(Reverse((end, Event::IsAnswered, call)));
        }
    }
}

#[test]
fn a_fast_application_always_has_work() {
    let mut idle = Vec::new();
    for workers in [1, 8] {
        for mean in [0.0003, 0.001, 0.003] {
            for gap in [20, 300, 1000] {
                let service = Service::Exponential(mean);
                let mut application =
                    Application::new(workers, Duration::from_micros(gap), service);
                application.run(10_000 * workers);
                let busy = application.run(20_000 * workers);
                let limit = application.gate.limit();
                let found = format!(
                    "{workers} workers, {service:?}, {gap} µs: {busy:.3} busy, limit {limit}"
                );
                println!("{found}");
                if busy < 0.98 {
                    idle.push(found);
                }
            }
        }
    }
    assert!(idle.is_empty(), "{idle:#?}");
}

#[test]
fn calls_that_take_long_do_not_wait_inside() {
    for gap in [20, 300, 1000] {
        let service = Service::Constant(0.1);
        let mut application = Application::new(1, Duration::from_micros(gap), service);
        // 20 s.
        application.run(200);
        for _ in 0..2000 {
            application.run(1);
            let limit = application.gate.limit();
            assert!((1..=2).contains(&limit), "{gap} µs: {limit}");
        }
    }
}

#[test]
fn where_the_gap_is_short_few_wait_inside() {
    let service = Service::Exponential(0.003);
    let mut application = Application::new(8, Duration::from_micros(20), service);
    application.run(40_000);
    assert!(application.gate.limit() <= 11, "{}", application.gate.limit());
}

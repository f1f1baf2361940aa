//! An application behind a gate, in virtual time, with clients that come as they please and leave
//! when they have waited too long.
#![allow(unreachable_pub)]

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::time::Duration;

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};
use weir_sched::{Abandoned, BackendConfig, BackendGate, Call, CallNext, CallSpec, Time};

/// Mean service time of [`Service::Figure21`], in seconds.
pub const MEAN: f64 = 0.01;
/// From an answer to the next call's arrival at the application: with a limit of 1 the application
/// stands still for so long after each call.
const HAND_OVER: Duration = Duration::from_micros(200);

/// Carter & Cherkasova 1999, Figure 21: probabilities of nine sizes in each of four classes.
const FIGURE_21: [(f64, [f64; 9]); 4] = [
    (1.0, [0.0102, 0.0167, 0.0276, 0.0455, 0.1500, 0.0455, 0.0276, 0.0167, 0.0102]),
    (10.0, [0.0145, 0.0239, 0.0394, 0.0650, 0.2143, 0.0650, 0.0394, 0.0239, 0.0145]),
    (100.0, [0.0041, 0.0067, 0.0110, 0.0182, 0.0600, 0.0182, 0.0110, 0.0067, 0.0041]),
    (1000.0, [0.0003, 0.0005, 0.0008, 0.0013, 0.0043, 0.0013, 0.0008, 0.0005, 0.0003]),
];

/// How long the application works on a call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Service {
    /// The paper's, with a mean of 10 ms and a coefficient of variation of 3.7.
    Figure21,
    /// Exponential with a mean of 10 ms.
    Exponential,
    /// Always 10 ms.
    Constant,
}

/// What is asked of the application, and by whom.
#[derive(Clone, Copy, Debug)]
pub struct Scene {
    pub config: BackendConfig,
    /// Calls the application serves at once; the others queue inside it.
    pub workers: usize,
    /// It begins with all calls at once and divides the time of its `workers` among them.
    pub shares: bool,
    pub service: Service,
    /// Calls know their size: the gate sees a hash of it.
    pub sizes_known: bool,
    /// Every client leaves after so long.
    pub patience: Duration,
    /// How often a client that left comes again.
    pub retries: u32,
    pub seed: u64,
}

impl Default for Scene {
    fn default() -> Scene {
        Scene {
            config: BackendConfig::default(),
            workers: 1,
            shares: false,
            service: Service::Figure21,
            sizes_known: false,
            patience: Duration::from_secs(5),
            retries: 0,
            seed: 1,
        }
    }
}

/// What one client saw.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    pub arrived: Time,
    pub service: Duration,
    /// 0 to 3.
    pub class: usize,
    pub fate: Fate,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fate {
    Waits,
    Answered(Time),
    Abandoned,
    Refused,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Arrive,
    /// A call reaches the application.
    Reach(usize),
    Answer(usize),
    /// As `Answer`, if the sharing is still in this state.
    Shared(usize, u64),
    Leave(usize),
    Look,
}

#[derive(Clone, Copy, Debug)]
struct Request {
    call: Option<Call>,
    retries: u32,
}

/// The application, its gate and all who ask.
pub struct Application {
    pub gate: BackendGate,
    pub now: Time,
    /// One for each request that ever came; a second try is another.
    pub seen: Vec<Seen>,
    /// Every limit that was learned, with the time of its change.
    pub limits: Vec<(Time, u32)>,
    scene: Scene,
    requests: Vec<Request>,
    events: BinaryHeap<Reverse<(Time, u64, Event)>>,
    numbered: u64,
    /// Calls inside the application that are not served yet.
    inside: VecDeque<usize>,
    /// Calls that share its time, with the service they still need.
    shared: Vec<(usize, Duration)>,
    shared_at: Time,
    /// Numbers the states of `shared`: an answer that was foreseen in an older one is void.
    shared_state: u64,
    busy: usize,
    /// Mean time between arrivals, in seconds, until when.
    load: Option<(f64, Time)>,
    random: Xoshiro256PlusPlus,
    looks_at: Option<Time>,
}

impl Application {
    pub fn new(scene: Scene) -> Application {
        Application {
            gate: BackendGate::new(scene.config),
            now: Time::ZERO,
            seen: Vec::new(),
            limits: Vec::new(),
            scene,
            requests: Vec::new(),
            events: BinaryHeap::new(),
            numbered: 0,
            inside: VecDeque::new(),
            shared: Vec::new(),
            shared_at: Time::ZERO,
            shared_state: 0,
            busy: 0,
            load: None,
            random: Xoshiro256PlusPlus::seed_from_u64(scene.seed),
            looks_at: None,
        }
    }

    /// Poisson arrivals for so many seconds; `load` is 1 where they ask for one worker's capacity.
    pub fn run(&mut self, load: f64, seconds: f64) {
        let until = self.now + Duration::from_secs_f64(seconds);
        self.load = Some((MEAN / load, until));
        self.next_arrival();
        while let Some(Reverse((at, _, event))) = self.events.peek().copied()
            && at <= until
        {
            self.events.pop();
            self.now = at;
            self.handle(event);
        }
        self.now = until;
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Arrive => {
                let service = self.draw();
                self.ask(service, self.scene.retries);
                self.next_arrival();
            }
            Event::Reach(request) if self.scene.shares => {
                self.share();
                self.shared.push((request, self.seen[request].service));
                self.foresee();
            }
            Event::Shared(request, state) => {
                if state == self.shared_state {
                    self.share();
                    self.shared.retain(|(other, _)| *other != request);
                    self.foresee();
                    self.answer(request);
                }
            }
            Event::Reach(request) => {
                self.inside.push_back(request);
                self.serve();
            }
            Event::Answer(request) => {
                self.busy -= 1;
                self.serve();
                self.answer(request);
            }
            Event::Leave(request) => {
                if self.seen[request].fate == Fate::Waits {
                    self.seen[request].fate = Fate::Abandoned;
                    let call = self.requests[request].call.expect("who waits has a call");
                    assert_ne!(self.gate.abandoned(self.now, call), Abandoned::Unknown);
                    if let Some(left) = self.requests[request].retries.checked_sub(1) {
                        let Seen { service, class, .. } = self.seen[request];
                        self.ask((service, class), left);
                    }
                }
            }
            Event::Look => self.looks_at = None,
        }
        self.decide();
    }

    fn answer(&mut self, request: usize) {
        if let Some(call) = self.requests[request].call {
            self.gate.answered(self.now, call);
            self.gate.ended(self.now, call);
        }
        if self.seen[request].fate == Fate::Waits {
            self.seen[request].fate = Fate::Answered(self.now);
        }
    }

    /// How many times longer everything takes than alone.
    fn stretch(&self) -> f64 {
        (self.shared.len() as f64 / self.scene.workers as f64).max(1.0)
    }

    /// Brings what the calls still need up to date.
    fn share(&mut self) {
        let done = self.now.since(self.shared_at).div_f64(self.stretch());
        for (_, needs) in &mut self.shared {
            *needs = needs.saturating_sub(done);
        }
        self.shared_at = self.now;
    }

    fn foresee(&mut self) {
        self.shared_state += 1;
        if let Some(&(request, needs)) = self.shared.iter().min_by_key(|(_, needs)| *needs) {
            let wait = needs.mul_f64(self.stretch());
            self.after(wait, Event::Shared(request, self.shared_state));
        }
    }

    /// From now on it serves so many at once.
    pub fn set_workers(&mut self, workers: usize) {
        self.scene.workers = workers;
    }

    fn decide(&mut self) {
        loop {
            match self.gate.next(self.now) {
                CallNext::Start { tag, .. } => {
                    let request = tag as usize;
                    assert_eq!(self.seen[request].fate, Fate::Waits, "its client has left");
                    self.after(HAND_OVER, Event::Reach(request));
                }
                CallNext::Refuse { tag, retry_after, .. } => {
                    assert!(retry_after >= Duration::from_secs(1));
                    self.seen[tag as usize].fate = Fate::Refused;
                }
                CallNext::Full { until } => {
                    if let Some(until) = until
                        && self.looks_at.is_none_or(|at| until < at)
                    {
                        self.looks_at = Some(until);
                        self.after(until.since(self.now), Event::Look);
                    }
                    break;
                }
                CallNext::Idle => break,
            }
        }
        if self.limits.last().is_none_or(|(_, limit)| *limit != self.gate.limit()) {
            self.limits.push((self.now, self.gate.limit()));
        }
    }

    fn ask(&mut self, (service, class): (Duration, usize), retries: u32) {
        let request = self.seen.len();
        self.seen.push(Seen { arrived: self.now, service, class, fate: Fate::Waits });
        let kind = if self.scene.sizes_known { service.as_nanos() as u64 } else { 0 };
        let tag = request as u64;
        let call =
            self.gate.arrive(self.now, CallSpec { tag, client: tag, kind, ..Default::default() });
        self.requests.push(Request { call: Some(call), retries });
        self.after(self.scene.patience, Event::Leave(request));
    }

    fn serve(&mut self) {
        while self.busy < self.scene.workers
            && let Some(request) = self.inside.pop_front()
        {
            self.busy += 1;
            self.after(self.seen[request].service, Event::Answer(request));
        }
    }

    fn next_arrival(&mut self) {
        let Some((mean, until)) = self.load else { return };
        let wait = Duration::from_secs_f64(self.exponential() * mean);
        if self.now + wait < until {
            self.after(wait, Event::Arrive);
        }
    }

    fn draw(&mut self) -> (Duration, usize) {
        match self.scene.service {
            Service::Constant => (Duration::from_secs_f64(MEAN), 0),
            Service::Exponential => (Duration::from_secs_f64(MEAN * self.exponential()), 0),
            Service::Figure21 => {
                let weights = || {
                    FIGURE_21.iter().enumerate().flat_map(|(class, (unit, weights))| {
                        (1..=9)
                            .zip(weights)
                            .map(move |(file, weight)| (class, f64::from(file) * unit, *weight))
                    })
                };
                let all: f64 = weights().map(|(_, _, weight)| weight).sum();
                let mean: f64 = weights().map(|(_, size, weight)| size * weight / all).sum();
                let mut at = self.random.random::<f64>() * all;
                let mut found = (0, 1.0);
                for (class, size, weight) in weights() {
                    found = (class, size);
                    at -= weight;
                    if at < 0.0 {
                        break;
                    }
                }
                (Duration::from_secs_f64(found.1 / mean * MEAN), found.0)
            }
        }
    }

    fn exponential(&mut self) -> f64 {
        -(1.0 - self.random.random::<f64>()).ln()
    }

    fn after(&mut self, wait: Duration, event: Event) {
        self.numbered += 1;
        self.events.push(Reverse((self.now + wait, self.numbered, event)));
    }

    /// What became of the requests that came from `from` on and before `to`, both in seconds.
    pub fn between(&self, from: f64, to: f64) -> Summary {
        let [from, to] = [from, to].map(|at| Time::ZERO + Duration::from_secs_f64(at));
        let mut summary = Summary::default();
        let came = self.seen.iter().filter(|seen| seen.arrived >= from && seen.arrived < to);
        for seen in came {
            summary.asked[seen.class] += 1;
            summary.refused += usize::from(seen.fate == Fate::Refused);
            if let Fate::Answered(at) = seen.fate {
                summary.served[seen.class] += 1;
                let response = at.since(seen.arrived).as_secs_f64();
                summary.responses += response;
                summary.slowest = summary.slowest.max(response);
            }
        }
        let ended = self
            .seen
            .iter()
            .filter(|seen| matches!(seen.fate, Fate::Answered(at) if at >= from && at < to));
        for seen in ended {
            summary.useful_count += 1;
            summary.useful_work += seen.service.as_secs_f64();
        }
        let seconds = to.since(from).as_secs_f64();
        summary.work_share = summary.useful_work / seconds;
        summary.count_share = summary.useful_count as f64 * MEAN / seconds;
        summary
    }
}

/// Of the clients that came in some time, but for the useful work and count: those of the answers
/// in it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Summary {
    pub asked: [usize; 4],
    pub served: [usize; 4],
    pub refused: usize,
    pub useful_count: usize,
    /// Seconds of service.
    pub useful_work: f64,
    /// The useful work and count over those of one worker that is always busy.
    pub work_share: f64,
    pub count_share: f64,
    /// Sum of the response times of those served, in seconds.
    pub responses: f64,
    /// The longest of them.
    pub slowest: f64,
}

impl Summary {
    pub fn mean_response(&self) -> f64 {
        self.responses / self.served.iter().sum::<usize>() as f64
    }

    /// Share of the clients of a class that were served.
    pub fn success(&self, class: usize) -> f64 {
        self.served[class] as f64 / self.asked[class] as f64
    }
}

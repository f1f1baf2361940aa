//! The learned limit of calls under way, at applications that serve one call at a time, several,
//! or any number, in virtual time.

use super::application::{Application, Scene, Service};
use std::collections::VecDeque;
use std::time::Duration;
use weir_sched::{BackendConfig, BackendGate, Call, CallNext, CallSpec, Time};

const SERVICES: [Service; 3] = [Service::Figure21, Service::Exponential, Service::Constant];

/// Share of the time from `from` seconds on with each limit in `wanted`.
fn share(application: &Application, from: f64, wanted: impl Fn(u32) -> bool) -> f64 {
    let from = Time::ZERO + Duration::from_secs_f64(from);
    let ends = application.limits.iter().skip(1).map(|(at, _)| *at).chain([application.now]);
    let within: f64 = application
        .limits
        .iter()
        .zip(ends)
        .filter(|((_, limit), _)| wanted(*limit))
        .map(|((since, _), end)| end.since((*since).max(from)).as_secs_f64())
        .sum();
    within / application.now.since(from).as_secs_f64()
}

/// Overload of `workers` workers by half for `seconds`.
fn overloaded(workers: usize, service: Service, seed: u64, seconds: f64) -> Application {
    let mut application = Application::new(Scene { workers, service, seed, ..Scene::default() });
    application.run(1.5 * workers as f64, seconds);
    application
}

#[test]
fn one_at_a_time_settles_at_two() {
    for service in SERVICES {
        for seed in 1..=4 {
            let application = overloaded(1, service, seed, 200.0);
            let two = share(&application, 20.0, |limit| limit == 2);
            let few = share(&application, 20.0, |limit| limit <= 3);
            let trace = &application.limits;
            assert!(two > 0.8, "{service:?} {seed}: at 2 for {two} of the time: {trace:?}");
            assert!(few > 0.97, "{service:?} {seed}: at 1 to 3 for {few} of it: {trace:?}");
        }
    }
}

#[test]
fn several_workers_are_kept_busy_and_little_waits_there() {
    let mut wrong = Vec::new();
    for service in SERVICES {
        for workers in [2, 4, 16, 64] {
            let application = overloaded(workers, service, 1, 4000.0 / workers as f64);
            let end = application.now.since(Time::ZERO).as_secs_f64();
            let (least, most) = (workers as u32, (workers as f64 * 1.25) as u32 + 2);
            let right = share(&application, end / 4.0, |limit| (least..=most).contains(&limit));
            let work = application.between(end / 4.0, end).work_share / workers as f64;
            let mean: f64 = (1..=1024)
                .map(|limit| f64::from(limit) * share(&application, end / 4.0, |it| it == limit))
                .sum();
            let found = format!(
                "{service:?}, {workers} workers: limit right for {right:.3} of the time, \
                 {mean:.1} on average, {work:.3} of the capacity used"
            );
            println!("{found}");
            if right < 0.85 || work < 0.95 {
                wrong.push(found);
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn where_company_costs_nothing_the_limit_grows() {
    for service in SERVICES {
        let mut application =
            Application::new(Scene { workers: usize::MAX, service, ..Scene::default() });
        // 200 under way on average.
        application.run(200.0, 20.0);
        let limit = application.gate.limit();
        assert!((200..=1024).contains(&limit), "{service:?}: {:?}", application.limits);
        assert_eq!(application.between(10.0, 15.0).refused, 0);
        let response = application.between(10.0, 15.0).mean_response();
        assert!(response < 0.012, "{service:?}: mean response {response}");
    }
}

#[test]
fn one_that_shares_its_time_among_calls_gets_few() {
    for service in SERVICES {
        let scene = Scene { shares: true, service, ..Scene::default() };
        let mut application = Application::new(scene);
        application.run(1.5, 400.0);
        let few = share(&application, 40.0, |limit| limit <= 4);
        let trace = &application.limits;
        assert!(few > 0.85, "{service:?}: at 1 to 4 for {few} of the time: {trace:?}");
        let work = application.between(40.0, 390.0).work_share;
        assert!(work > 0.97, "{service:?}: {work} of the capacity used: {trace:?}");
    }
}

/// A backend with `workers` that take calls in the order of their starts, asked by so many clients at
/// once. A call is of a kind of its own for each of `services`, which come in turn.
struct Quick {
    gate: BackendGate,
    now: Time,
    tag: u64,
    inside: VecDeque<(Call, u64)>,
    served: Vec<(Time, Call)>,
    limits: Vec<u32>,
}

impl Quick {
    fn new() -> Quick {
        let gate = BackendGate::new(BackendConfig::default());
        let (inside, served, limits) = Default::default();
        Quick { gate, now: Time::ZERO, tag: 0, inside, served, limits }
    }

    fn run(&mut self, workers: usize, clients: usize, services: &[Duration], answers: usize) {
        for _ in 0..answers {
            while self.gate.waiting() + self.gate.under_way() < clients {
                self.tag += 1;
                let (tag, kind) = (self.tag, self.tag % services.len() as u64);
                let spec = CallSpec { tag, client: tag, kind, ..CallSpec::default() };
                self.gate.arrive(self.now, spec);
            }
            while let CallNext::Start { call, tag } = self.gate.next(self.now) {
                self.inside.push_back((call, tag));
            }
            while self.served.len() < workers
                && let Some((call, tag)) = self.inside.pop_front()
            {
                let service = services[tag as usize % services.len()];
                self.served.push((self.now + service, call));
            }
            self.served.sort_by_key(|(end, _)| *end);
            let (end, call) = self.served.remove(0);
            self.now = end;
            self.gate.answered(end, call);
            self.gate.ended(end, call);
            self.limits.push(self.gate.limit());
        }
    }
}

fn micros<const N: usize>(micros: [u64; N]) -> Vec<Duration> {
    micros.map(Duration::from_micros).to_vec()
}

#[test]
fn what_takes_two_milliseconds_in_all_may_be_inside() {
    for (workers, services, least, most) in [
        (1, micros([25]), 75, 82),
        (1, micros([200]), 8, 12),
        (1, micros([1000]), 2, 4),
        (1, micros([20, 20, 20, 20, 500, 20, 20, 20, 20, 20]), 16, 48),
        (16, micros([200]), 140, 180),
        (16, micros([1000]), 28, 40),
        (16, micros([500, 500, 500, 3500, 500, 500, 500]), 28, 64),
        (16, micros([100, 100, 100, 500, 100, 100, 100]), 120, 260),
    ] {
        let mut backend = Quick::new();
        backend.run(workers, 300, &services, 20_000);
        let begun = backend.now;
        backend.run(workers, 300, &services, 20_000);
        let late = &backend.limits[20_000..];
        let right = late.iter().filter(|limit| (least..=most).contains(*limit)).count();
        let share = right as f64 / late.len() as f64;
        let (low, high) = (late.iter().min(), late.iter().max());
        let found = format!("{workers} workers, {services:?}: {low:?} to {high:?}, right {share}");
        assert!(share > 0.95, "{found}");
        let work = services.iter().sum::<Duration>().as_secs_f64() / services.len() as f64;
        let used = 20_000.0 * work / backend.now.since(begun).as_secs_f64() / workers as f64;
        assert!(used > 0.98, "{found}: {used} of the capacity used");
    }
}

/// What a call of this kind is taken to take.
fn expected(backend: &mut Quick, kind: u64) -> Duration {
    let Quick { gate, now, .. } = backend;
    let before = gate.counts().dead_work_saved;
    let call = gate.arrive(*now, CallSpec { kind, client: 1 << 40, ..CallSpec::default() });
    gate.abandoned(*now, call);
    gate.counts().dead_work_saved - before
}

#[test]
fn what_calls_take_is_known_where_many_wait_inside_of_one_worker() {
    let services = micros([20, 20, 20, 20, 500, 20, 20, 20, 20, 20]);
    let mut backend = Quick::new();
    backend.run(1, 300, &services, 40_000);
    assert!(backend.gate.limit() >= 8, "{}", backend.gate.limit());
    for kind in [3, 4] {
        let known = expected(&mut backend, kind);
        let right = services[kind as usize];
        assert!((right / 2..=right * 2).contains(&known), "kind {kind}: {known:?}");
    }
}

#[test]
fn what_takes_longer_is_known_to_where_many_wait_inside_of_several() {
    let mut backend = Quick::new();
    backend.run(16, 300, &micros([100, 100, 100, 100, 900, 100, 100]), 40_000);
    assert!(backend.gate.limit() >= 30, "{}", backend.gate.limit());
    let [short, long] = [3, 4].map(|kind| expected(&mut backend, kind));
    assert!(long > short + Duration::from_micros(400), "{short:?}, {long:?}");
}

#[test]
fn one_pause_halves_once() {
    let mut backend = Quick::new();
    let services = micros([200]);
    backend.run(16, 300, &services, 20_000);
    let before = backend.gate.limit();
    backend.served.iter_mut().for_each(|(end, _)| *end += Duration::from_millis(20));
    backend.run(16, 300, &services, 1000);
    let least = backend.limits[20_000..].iter().min();
    assert!(least >= Some(&(before / 2)), "from {before} to {least:?}");
}

#[test]
fn slow_calls_one_at_a_time_say_nothing_of_company() {
    let mut backend = Quick::new();
    backend.run(1, 300, &micros([25]), 20_000);
    // Until nobody waits any more.
    backend.run(1, 1, &micros([25]), 300);
    let before = backend.gate.limit();
    backend.run(1, 1, &micros([20_000]), 200);
    assert_eq!(backend.gate.limit(), before);
}

#[test]
fn the_greatest_limit_is_looked_at_too() {
    let mut backend = Quick::new();
    backend.run(usize::MAX, 2000, &micros([5000]), 100_000);
    assert_eq!(backend.gate.limit(), 1024);
    // Slow when asked one at a time, which makes company seem to cost nothing.
    backend.run(usize::MAX, 1, &micros([500_000]), 3000);
    backend.run(100, 2000, &micros([5000]), 400_000);
    let limit = backend.gate.limit();
    assert!((100..=150).contains(&limit), "{limit}");
}

#[test]
fn one_that_becomes_slow_gets_few_though_few_ask() {
    let mut backend = Quick::new();
    backend.run(1, 300, &micros([25]), 20_000);
    assert!(backend.gate.limit() >= 38);
    backend.run(1, 30, &micros([50_000]), 3000);
    assert!(backend.gate.limit() <= 3, "{}", backend.gate.limit());
    backend.run(1, 300, &micros([25]), 20_000);
    assert!(backend.gate.limit() >= 38, "{}", backend.gate.limit());
}

#[test]
fn workers_that_come_and_go_are_noticed() {
    for service in [Service::Figure21, Service::Exponential] {
        let mut left: Vec<u32> = Vec::new();
        for seed in 1..=8 {
            let mut application = overloaded(1, service, seed, 60.0);
            assert!(application.gate.limit() <= 3, "{service:?} {seed}: {:?}", application.limits);
            application.set_workers(8);
            application.run(12.0, 60.0);
            let more = application.gate.limit();
            assert!((8..=12).contains(&more), "{service:?} {seed}: {:?}", application.limits);
            application.set_workers(2);
            application.run(3.0, 120.0);
            left.push(application.gate.limit());
        }
        // Few calls say how long they wait inside, so some seeds stop two or three above the three that
        // are right.
        assert!(left.iter().all(|limit| (2..=6).contains(limit)), "{service:?}: {left:?}");
        assert!(left.iter().sum::<u32>() <= 36, "{service:?}: {left:?}");
    }
}

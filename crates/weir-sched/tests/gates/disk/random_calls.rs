//! The disk gate under random calls: against a naive model of its rules, and as its owner sees it.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use proptest::prelude::*;
use weir_sched::{DiskConfig, DiskGate, DiskJob, DiskNext, Joined, Time};

/// A millisecond of transfer.
const MS: u64 = 60_000;

#[derive(Clone, Copy, Debug)]
enum Step {
    Join {
        key: u32,
        ms: u64,
        /// Milliseconds that the request has waited for other jobs.
        waited: u64,
    },
    /// Some waiter of some job that ever was.
    Leave(usize),
    Next,
    /// Some job that ever was.
    Done(usize),
    Pass(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => (0u32..24, prop::sample::select(vec![0, 1, 2, 10]), prop::sample::select(vec![0, 0, 3, 40]))
            .prop_map(|(key, ms, waited)| Step::Join { key, ms, waited }),
        2 => any::<prop::sample::Index>().prop_map(|i| Step::Leave(i.index(1 << 20))),
        5 => Just(Step::Next),
        3 => any::<prop::sample::Index>().prop_map(|i| Step::Done(i.index(1 << 20))),
        2 => (0u64..8).prop_map(Step::Pass),
    ];
    prop::collection::vec(step, 1..400)
}

/// Limits so tight that all of them are met; `learning`: the gate learns how many run at once.
fn configs(learning: bool) -> impl Strategy<Value = DiskConfig> {
    (1usize..5, 0usize..5, 1usize..4).prop_map(move |(under_way, most_stuck, stuck_per_place)| {
        DiskConfig {
            under_way,
            least_under_way: if learning { 1 } else { under_way },
            late_after: Duration::from_millis(10),
            stuck_after: Duration::from_millis(20),
            most_stuck,
            stuck_per_place,
            ..Default::default()
        }
    })
}

fn place(key: u32) -> u64 {
    u64::from(key % 3)
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Queued,
    Running(Time),
    Stuck,
}

/// A queued or started job as the model sees it. `ms` of disk time; the vector is in order of joining.
#[derive(Debug)]
struct Entry {
    job: DiskJob,
    key: u32,
    ms: u64,
    since: Time,
    waiters: u64,
    state: State,
}

/// The rules as they are written down, looked up in a vector.
struct Model {
    config: DiskConfig,
    jobs: Vec<Entry>,
    /// Disk time since the queue was last empty: all, and what the oldest had.
    given: u64,
    given_by_age: u64,
}

impl Model {
    fn count(&self, is: impl Fn(&Entry) -> bool) -> usize {
        self.jobs.iter().filter(|entry| is(entry)).count()
    }

    fn stuck(&self) -> usize {
        self.count(|entry| entry.state == State::Stuck)
    }

    fn running(&self) -> usize {
        self.count(|entry| matches!(entry.state, State::Running(_)))
    }

    fn blocked(&self, at: u64) -> bool {
        self.count(|e| e.state == State::Stuck && place(e.key) == at) >= self.config.stuck_per_place
    }

    /// When the job that has run for longest is stuck, or is to be.
    fn next_stuck(&self) -> Option<Time> {
        let since = self.jobs.iter().filter_map(|entry| match entry.state {
            State::Running(since) => Some(since + self.config.stuck_after),
            _ => None,
        });
        since.min().filter(|_| self.stuck() < self.config.most_stuck)
    }

    /// `order`: the started jobs in order of their start, for those that started together.
    fn write_off(&mut self, now: Time, order: &[DiskJob]) {
        while self.next_stuck().is_some_and(|at| at <= now) {
            let running = |job: &&DiskJob| {
                self.jobs.iter().any(|e| e.job == **job && matches!(e.state, State::Running(_)))
            };
            let first = *order.iter().find(running).expect("one is running");
            self.entry(first).expect("it is here").state = State::Stuck;
        }
    }

    fn entry(&mut self, job: DiskJob) -> Option<&mut Entry> {
        self.jobs.iter_mut().find(|entry| entry.job == job)
    }

    fn remove(&mut self, job: DiskJob) {
        self.jobs.retain(|entry| entry.job != job);
    }

    fn next(&mut self, now: Time) -> DiskNext {
        let mut queued = self.jobs.iter().filter(|entry| entry.state == State::Queued);
        let Some(mut best) = queued.next() else { return DiskNext::Idle };
        let by_age = 3 * self.given_by_age < 2 * self.given;
        for other in queued {
            let is_better = match by_age {
                true => other.since < best.since,
                false => other.waiters * best.ms > best.waiters * other.ms,
            };
            if is_better {
                best = other;
            }
        }
        let (job, key, ms) = (best.job, best.key, best.ms);
        if self.blocked(place(key)) {
            self.remove(job);
            return DiskNext::Refuse(job);
        }
        if self.running() >= self.config.under_way {
            return DiskNext::Full { until: self.next_stuck() };
        }
        self.entry(job).expect("it is here").state = State::Running(now);
        self.given += ms;
        self.given_by_age += if by_age { ms } else { 0 };
        DiskNext::Start(job)
    }

    /// To be called when a job may have left the queue.
    fn forget_if_nobody_waits(&mut self) {
        if self.count(|entry| entry.state == State::Queued) == 0 {
            (self.given, self.given_by_age) = (0, 0);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn does_as_the_rules_say(config in configs(false), steps in steps()) {
        let mut gate = DiskGate::new(config);
        let mut model = Model { config, jobs: Vec::new(), given: 0, given_by_age: 0 };
        let (mut now, mut merged) = (Time::ZERO, 0);
        let (mut all, mut started) = (Vec::new(), Vec::new());
        for step in steps {
            match step {
                Step::Join { key, ms, waited } => {
                    model.write_off(now, &started);
                    let since = now.before(Duration::from_millis(waited));
                    let got = gate.join(key, ms * MS, place(key), since, now);
                    let blocked = model.blocked(place(key));
                    match model.jobs.iter_mut().find(|entry| entry.key == key) {
                        Some(entry) if entry.state == State::Stuck => {
                            prop_assert_eq!(got, Joined::Refused);
                        }
                        Some(entry) => {
                            prop_assert_eq!(got, Joined::Merged(entry.job));
                            entry.waiters += 1;
                            entry.since = entry.since.min(since);
                            merged += 1;
                        }
                        None if blocked => prop_assert_eq!(got, Joined::Refused),
                        None => {
                            let Joined::New(job) = got else { panic!("{got:?}") };
                            prop_assert!(!all.contains(&job), "{job:?} is a successor's");
                            all.push(job);
                            let (ms, state) = (2 + ms, State::Queued);
                            model.jobs.push(Entry { job, key, ms, since, waiters: 1, state });
                        }
                    }
                }
                Step::Leave(index) if !all.is_empty() => {
                    let job = all[index % all.len()];
                    let mut last = false;
                    if let Some(entry) = model.entry(job) {
                        entry.waiters = entry.waiters.saturating_sub(1);
                        last = entry.waiters == 0 && entry.state == State::Queued;
                    }
                    if last {
                        model.remove(job);
                    }
                    prop_assert_eq!(gate.leave(job), last);
                }
                Step::Next => {
                    model.write_off(now, &started);
                    let got = gate.next(now);
                    prop_assert_eq!(got, model.next(now));
                    if let DiskNext::Start(job) = got {
                        started.push(job);
                    }
                }
                Step::Done(index) if !all.is_empty() => {
                    let job = all[index % all.len()];
                    let ends = model.entry(job).filter(|entry| entry.state != State::Queued);
                    let waiters = ends.map(|entry| entry.waiters);
                    if waiters.is_some() {
                        model.remove(job);
                    }
                    prop_assert_eq!(gate.done(job, now) as u64, waiters.unwrap_or(0));
                }
                Step::Leave(_) | Step::Done(_) => {}
                Step::Pass(millis) => now += Duration::from_millis(millis),
            }
            model.forget_if_nobody_waits();
            let queued = model.count(|entry| entry.state == State::Queued);
            prop_assert_eq!(gate.waiting(), queued);
            prop_assert_eq!((gate.under_way(), gate.stuck()), (model.running(), model.stuck()));
            prop_assert_eq!(gate.merged(), merged);
        }
    }

    /// What its owner can see without knowing the rules of order: limits are kept, no job starts
    /// twice, and each waiter leaves or is answered once.
    #[test]
    fn nobody_is_lost_and_limits_are_kept(config in configs(true), steps in steps()) {
        let mut gate = DiskGate::new(config);
        let mut now = Time::ZERO;
        // A number for each request, by the job it waits for.
        let mut waiters: HashMap<DiskJob, Vec<usize>> = HashMap::new();
        let (mut requests, mut gone) = (0, HashSet::new());
        let mut running: Vec<(DiskJob, Time)> = Vec::new();
        let mut ever_started = HashSet::new();
        // In the end everything is asked for and ended, until nothing is left.
        let end = (0..4000).flat_map(|_| [Step::Next, Step::Done(0)]);
        for step in steps.into_iter().chain(end) {
            match step {
                Step::Join { key, ms, waited } => {
                    let since = now.before(Duration::from_millis(waited));
                    match gate.join(key, ms * MS, place(key), since, now) {
                        Joined::New(job) => {
                            prop_assert!(waiters.insert(job, vec![requests]).is_none());
                            requests += 1;
                        }
                        Joined::Merged(job) => {
                            waiters.get_mut(&job).expect("the job is here").push(requests);
                            requests += 1;
                        }
                        Joined::Refused => {}
                    }
                }
                Step::Leave(index) => {
                    let mut here: Vec<DiskJob> =
                        waiters.iter().filter(|(_, w)| !w.is_empty()).map(|(job, _)| *job).collect();
                    here.sort_by_key(|job| waiters[job][0]);
                    if let Some(job) = here.get(index % here.len().max(1)) {
                        let of_job = waiters.get_mut(job).expect("the job is here");
                        prop_assert!(gone.insert(of_job.pop().expect("one waits")));
                        let last = of_job.is_empty() && !ever_started.contains(job);
                        prop_assert_eq!(gate.leave(*job), last);
                        if last {
                            waiters.remove(job);
                        }
                    }
                }
                Step::Next => match gate.next(now) {
                    DiskNext::Start(job) => {
                        prop_assert!(ever_started.insert(job), "started twice");
                        prop_assert!(waiters.contains_key(&job));
                        running.push((job, now));
                    }
                    DiskNext::Refuse(job) => {
                        prop_assert!(!ever_started.contains(&job));
                        for request in waiters.remove(&job).expect("not answered before") {
                            prop_assert!(gone.insert(request));
                        }
                    }
                    DiskNext::Full { until } => prop_assert!(until.is_none_or(|at| at > now)),
                    DiskNext::Idle => prop_assert_eq!(gate.waiting(), 0),
                },
                Step::Done(index) if !running.is_empty() => {
                    let (job, _) = running.remove(index % running.len());
                    let answered = waiters.remove(&job).expect("not answered before");
                    prop_assert_eq!(gate.done(job, now), answered.len());
                    for request in answered {
                        prop_assert!(gone.insert(request));
                    }
                }
                Step::Done(_) => {}
                Step::Pass(millis) => now += Duration::from_millis(millis),
            }
            let young = running.iter().filter(|(_, since)| *since + config.stuck_after > now);
            prop_assert!(young.count() <= gate.under_way());
            prop_assert!(gate.under_way() <= config.under_way);
            prop_assert!((1..=config.under_way).contains(&gate.limit()));
            prop_assert!(gate.stuck() <= config.most_stuck);
            prop_assert_eq!(gate.under_way() + gate.stuck(), running.len());
        }
        prop_assert_eq!((gate.waiting(), gone.len()), (0, requests));
    }
}

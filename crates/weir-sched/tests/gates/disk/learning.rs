//! How many jobs the gate lets a disk have at once: disks with one, four and 32 channels, jobs that
//! are answered from memory, and a disk that hangs, in virtual time.

use std::collections::HashMap;
use std::time::Duration;

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};
use weir_sched::{DiskConfig, DiskGate, DiskJob, DiskNext, Joined, Time};

use super::model_disk::ModelDisk;

/// Bytes of a millisecond of transfer.
const MS: u64 = 60_000;
/// Requests that always wait.
const QUEUE: usize = 200;
/// Between the end of a job and the next start.
const HAND_OVER: Duration = Duration::from_micros(20);

/// What to simulate.
#[derive(Clone, Copy)]
struct Plan {
    channels: usize,
    /// Service times differ from what is expected by up to this share.
    spread: f64,
    /// Whether what is expected of a job says anything of its service time.
    foreseen: bool,
    /// The share of jobs that is answered from memory.
    in_memory: f64,
    /// Service takes so many times as long as is expected.
    slower: u32,
}

const PLAN: Plan = Plan { channels: 1, spread: 0.5, foreseen: true, in_memory: 0.0, slower: 1 };

/// A saturated disk behind the gate.
struct Saturated {
    gate: DiskGate<u64>,
    disk: ModelDisk,
    random: Xoshiro256PlusPlus,
    now: Time,
    /// Numbers the jobs.
    keys: u64,
    /// Milliseconds that jobs are expected to take.
    expected: HashMap<DiskJob, u64>,
}

/// What came of so many jobs.
#[derive(Debug)]
struct Outcome {
    /// The share of its channels' time in which the disk worked.
    utilisation: f64,
    /// Jobs under way, on average at the ends of jobs.
    under_way: f64,
}

impl Saturated {
    fn new(channels: usize) -> Saturated {
        let (gate, disk) = (DiskGate::new(DiskConfig::default()), ModelDisk::new(channels));
        let random = Xoshiro256PlusPlus::seed_from_u64(1);
        let (keys, expected) = Default::default();
        Saturated { gate, disk, random, now: Time::from_nanos(1), keys, expected }
    }

    /// As many jobs end as said.
    fn run(&mut self, plan: Plan, jobs: u32) -> Outcome {
        let (from, busy) = (self.now, self.disk.busy());
        let mut under_way = 0;
        for _ in 0..jobs {
            self.start_all(plan);
            under_way += self.gate.under_way();
            let (end, job) = self.disk.end().expect("one is under way");
            self.now = end;
            self.gate.done(job, end);
            self.now += HAND_OVER;
        }
        let busy = (self.disk.busy() - busy).as_secs_f64();
        let time = self.now.since(from).as_secs_f64();
        let utilisation = busy / (time * plan.channels as f64);
        Outcome { utilisation, under_way: under_way as f64 / f64::from(jobs) }
    }

    fn start_all(&mut self, plan: Plan) {
        loop {
            while self.gate.waiting() < QUEUE {
                self.keys += 1;
                // Most are small; one in eight is a window of a large file.
                let ms =
                    if self.keys.is_multiple_of(8) { 16 } else { self.random.random_range(0..3) };
                let joined = self.gate.join(self.keys, ms * MS, 0, self.now, self.now);
                let job = if let Joined::New(job) = joined { Some(job) } else { None };
                let job = job.expect("every key is new");
                self.expected.insert(job, 2 + ms);
            }
            let DiskNext::Start(job) = self.gate.next(self.now) else { return };
            let ms = self.expected.remove(&job).expect("it has joined");
            let spread = 1.0 + self.random.random_range(-plan.spread..=plan.spread);
            let ms = if plan.foreseen { ms } else { 4 };
            let service = Duration::from_millis(ms).mul_f64(spread) * plan.slower;
            let is_cached = self.random.random_bool(plan.in_memory);
            self.disk.start(self.now, job, (!is_cached).then_some(service));
        }
    }
}

/// What a disk comes to after it is known.
fn learned(plan: Plan) -> (Outcome, usize) {
    let mut saturated = Saturated::new(plan.channels);
    saturated.run(plan, 5_000);
    let outcome = saturated.run(plan, 50_000);
    (outcome, saturated.gate.limit())
}

#[test]
fn a_disk_that_does_one_thing_at_a_time_has_few_jobs() {
    let (outcome, limit) = learned(PLAN);
    assert!(outcome.utilisation >= 0.98 && outcome.under_way < 3.0, "{outcome:?}");
    assert_eq!(limit, 2);
}

#[test]
fn a_slow_disk_does_not_hang() {
    for slower in [7, 12, 25, 75] {
        let (outcome, limit) = learned(Plan { slower, ..PLAN });
        assert!(outcome.utilisation >= 0.98 && outcome.under_way < 3.0, "{slower}: {outcome:?}");
        assert_eq!(limit, 2, "{slower}");
    }
}

#[test]
fn a_disk_with_channels_has_work_for_each() {
    for (channels, most) in [(2, 4.0), (4, 7.0), (8, 14.0), (32, 32.0)] {
        let (outcome, limit) = learned(Plan { channels, ..PLAN });
        assert!(outcome.utilisation >= 0.95, "{channels}: {outcome:?}, {limit}");
        assert!(outcome.under_way <= most, "{channels}: {outcome:?}, {limit}");
    }
}

#[test]
fn service_times_that_nobody_can_expect_do_not_mislead() {
    for channels in [1, 4, 32] {
        let (outcome, limit) = learned(Plan { channels, foreseen: false, ..PLAN });
        assert!(outcome.utilisation >= 0.95, "{channels}: {outcome:?}, {limit}");
    }
}

#[test]
fn what_is_answered_from_memory_says_nothing_of_the_disk() {
    for channels in [1, 4] {
        for in_memory in [0.3, 0.9] {
            let (outcome, limit) = learned(Plan { channels, in_memory, ..PLAN });
            assert!(outcome.utilisation >= 0.95, "{channels}, {in_memory}: {outcome:?}, {limit}");
        }
    }
    // Nothing at all of a disk that has nothing to do.
    let mut saturated = Saturated::new(1);
    let limit = saturated.gate.limit();
    saturated.run(Plan { in_memory: 1.0, ..PLAN }, 20_000);
    assert_eq!(saturated.gate.limit(), limit);
}

#[test]
fn a_disk_that_changes_is_learned_anew() {
    let mut saturated = Saturated::new(4);
    saturated.run(Plan { channels: 4, ..PLAN }, 50_000);
    assert!(saturated.gate.limit() >= 4);
    while let Some((end, job)) = saturated.disk.end() {
        saturated.gate.done(job, end);
        saturated.now = saturated.now.max(end);
    }
    saturated.disk = ModelDisk::new(1);
    saturated.run(PLAN, 60_000);
    assert_eq!(saturated.gate.limit(), 2);
    let outcome = saturated.run(PLAN, 5_000);
    assert!(outcome.utilisation >= 0.95, "{outcome:?}");
}

#[test]
fn nothing_is_learned_while_there_is_little_to_do() {
    let mut gate: DiskGate<u64> = DiskGate::new(DiskConfig::default());
    let (limit, mut now) = (gate.limit(), Time::from_nanos(1));
    for key in 0..10_000 {
        let Joined::New(job) = gate.join(key, MS, 0, now, now) else { panic!("{key}") };
        assert_eq!(gate.next(now), DiskNext::Start(job));
        assert_eq!(gate.next(now), DiskNext::Idle);
        now += Duration::from_millis(3);
        gate.done(job, now);
    }
    assert_eq!(gate.limit(), limit);
}

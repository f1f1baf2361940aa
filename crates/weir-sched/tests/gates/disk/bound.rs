//! How long a job waits at the disk gate at most: the bound that the gate's documentation states,
//! in virtual time, against random arrivals.

use std::time::Duration;

use proptest::prelude::*;
use weir_sched::{DiskConfig, DiskGate, DiskJob, DiskNext, Joined, Time};

use super::model_disk::ModelDisk;

/// A millisecond of transfer.
const MS: u64 = 60_000;

/// Requests that come after a pause.
#[derive(Clone, Debug)]
struct Arrival {
    pause: u64,
    /// Milliseconds of disk time.
    ms: u64,
    waiters: usize,
    /// Milliseconds for which they have waited for other jobs.
    waited: u64,
    /// The arrival whose requests leave, counted back from here.
    leaves: Option<usize>,
}

/// Disk times are heavy-tailed: most jobs are short, and a few take most of the time. More comes
/// than the disk can do, and the short jobs alone would take it nine tenths of the time.
fn arrivals() -> impl Strategy<Value = Vec<Arrival>> {
    let times = prop_oneof![36 => Just(2u64), 2 => Just(20), 1 => Just(40), 1 => Just(60)];
    // So many new ones have more waiters than those before that they take all that goes by rank.
    let many = prop::sample::select(vec![1, 1, 2, 8, 8]);
    let pauses = prop::sample::select(vec![0, 0, 1, 2, 3, 3, 5]);
    let waited = prop_oneof![9 => Just(0u64), 1 => Just(7), 1 => Just(400)];
    let leaves = prop::option::weighted(0.05, 0usize..10);
    let one =
        (pauses, times, many, waited, leaves).prop_map(|(pause, ms, waiters, waited, leaves)| {
            Arrival { pause, ms, waiters, waited, leaves }
        });
    prop::collection::vec(one, 1..600)
}

/// A job that waits, and what the bound says of it.
struct Waiting {
    job: DiskJob,
    since: Time,
    joined: Time,
    ms: u64,
    waiters: usize,
    /// Disk time of older jobs: those in the queue when it joined, and those that came later.
    older: u64,
    /// What was left of the job under way when it joined.
    left: Duration,
}

/// The gate and a disk that does one thing at a time.
struct Stand {
    gate: DiskGate<usize>,
    disk: ModelDisk,
    now: Time,
    waiting: Vec<Waiting>,
    longest: u64,
}

impl Stand {
    fn arrive(&mut self, key: usize, arrival: &Arrival) {
        let since = self.now.before(Duration::from_millis(arrival.waited));
        let bytes = (arrival.ms - 2) * MS;
        let joined = self.gate.join(key, bytes, 0, since, self.now);
        let job = if let Joined::New(job) = joined { Some(job) } else { None };
        let job = job.expect("every key is new");
        for _ in 1..arrival.waiters {
            self.gate.join(key, bytes, 0, since, self.now);
        }
        let mut older = 0;
        for other in &mut self.waiting {
            match other.since <= since {
                true => older += other.ms,
                false => other.older += arrival.ms,
            }
        }
        let left = self.disk.next_end().map_or(Duration::ZERO, |end| end.since(self.now));
        let Arrival { ms, waiters, .. } = *arrival;
        self.waiting.push(Waiting { job, since, joined: self.now, ms, waiters, older, left });
        self.longest = self.longest.max(ms);
    }

    fn leave(&mut self, back: usize) {
        let Some(place) = self.waiting.len().checked_sub(back + 1) else { return };
        let Waiting { job, waiters, .. } = self.waiting.remove(place);
        for _ in 1..waiters {
            assert!(!self.gate.leave(job));
        }
        assert!(self.gate.leave(job), "the last one takes it out of the queue");
    }

    /// Starts what may start; returns how much longer than the bound something has waited.
    fn start(&mut self) -> Option<Duration> {
        let mut beyond = None;
        while let DiskNext::Start(job) = self.gate.next(self.now) {
            let place = self.waiting.iter().position(|other| other.job == job);
            let Waiting { joined, ms, older, left, .. } =
                self.waiting.remove(place.expect("it has joined and not left"));
            self.disk.start(self.now, job, Some(Duration::from_millis(ms)));
            let bound = left + Duration::from_millis(3 * (older + self.longest)) / 2;
            beyond = beyond.max(self.now.since(joined).checked_sub(bound));
        }
        beyond.filter(|beyond| !beyond.is_zero())
    }

    /// Lets time pass until then; returns the same.
    fn pass(&mut self, until: Time) -> Option<Duration> {
        while self.disk.next_end().is_some_and(|end| end <= until) {
            let (end, job) = self.disk.end().expect("one is under way");
            self.now = end;
            self.gate.done(job, end);
            if let Some(beyond) = self.start() {
                return Some(beyond);
            }
        }
        self.now = self.now.max(until);
        None
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Whatever comes after a job, it starts once one and a half times what is older, and as much of the
    /// longest job, has been done.
    #[test]
    fn nobody_waits_longer_than_the_bound(arrivals in arrivals()) {
        let config = DiskConfig {
            under_way: 1,
            // Nothing is stuck here.
            stuck_after: Duration::from_secs(3600),
            ..DiskConfig::default()
        };
        let (gate, disk) = (DiskGate::new(config), ModelDisk::new(1));
        let (now, waiting) = (Time::from_nanos(1_000_000_000), Vec::new());
        let mut stand = Stand { gate, disk, now, waiting, longest: 0 };
        for (key, arrival) in arrivals.iter().enumerate() {
            let until = stand.now + Duration::from_millis(arrival.pause);
            prop_assert_eq!(stand.pass(until), None);
            stand.arrive(key, arrival);
            prop_assert_eq!(stand.start(), None);
            if let Some(back) = arrival.leaves {
                stand.leave(back);
            }
        }
        prop_assert_eq!(stand.pass(Time::NEVER), None);
        prop_assert_eq!(stand.waiting.len(), 0);
    }
}

/// Jobs of 2 ms come as fast as the disk can do them. By rank alone one of 10 ms, for which one client
/// waits, would wait as long as they come.
#[test]
fn a_large_read_does_not_wait_until_the_small_ones_end() {
    let config = DiskConfig { under_way: 1, ..DiskConfig::default() };
    let (mut gate, mut disk) = (DiskGate::new(config), ModelDisk::new(1));
    let (mut large, mut waits) = (None, Vec::new());
    for millis in 0..10_000 {
        let now = Time::from_nanos((1 + millis) * 1_000_000);
        while disk.next_end().is_some_and(|end| end <= now) {
            let (_, job) = disk.end().expect("one is under way");
            gate.done(job, now);
        }
        if millis % 1000 == 501
            && let Joined::New(job) = gate.join(millis, 8 * MS, 0, now, now)
        {
            large = Some((job, now));
        }
        if millis % 2 == 0 {
            gate.join(millis, 0, 0, now, now);
        }
        while let DiskNext::Start(job) = gate.next(now) {
            let joined = large.take_if(|(other, _)| *other == job);
            disk.start(
                now,
                job,
                Some(Duration::from_millis(if joined.is_some() { 10 } else { 2 })),
            );
            waits.extend(joined.map(|(_, joined)| now.since(joined)));
        }
    }
    // Each large one leaves 10 ms of small ones behind that are older than the next: the last one
    // finds 90 ms. One and a half times that and its own 10 ms, and what is left of a small one.
    assert_eq!(waits.len(), 10);
    assert!(waits.iter().all(|wait| *wait <= Duration::from_millis(152)), "{waits:?}");
}

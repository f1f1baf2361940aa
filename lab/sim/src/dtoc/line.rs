//! The orders in which Carter's server takes requests from its queue; the run has one of them.

use std::collections::VecDeque;

use weir_sched::policy::Arrival;
use weir_sched::{BitRate, FairState, Level, Path, Policy, Time, policy};

/// A request in the queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct Queued {
    /// Its number.
    pub(super) number: u64,
    /// Seconds that it takes.
    pub(super) service: f64,
}

/// A queue of requests.
pub(super) trait Line {
    /// Adds one; the place that it gets, if one can be removed from it.
    fn push(&mut self, one: Queued) -> u32;
    /// Takes the one that goes next.
    fn pop(&mut self) -> Option<Queued>;
    /// Takes the request `number` from its place, if it is still there.
    fn remove(&mut self, place: u32, number: u64) -> bool;
    fn len(&self) -> usize;
}

/// First come first served, or newest first.
#[derive(Debug)]
pub(super) struct Plain {
    waiting: VecDeque<Queued>,
    newest_first: bool,
}

impl Plain {
    pub(super) fn new(capacity: usize, newest_first: bool) -> Plain {
        Plain { waiting: VecDeque::with_capacity(capacity), newest_first }
    }
}

impl Line for Plain {
    fn push(&mut self, one: Queued) -> u32 {
        self.waiting.push_back(one);
        0
    }

    fn pop(&mut self) -> Option<Queued> {
        if self.newest_first { self.waiting.pop_back() } else { self.waiting.pop_front() }
    }

    fn remove(&mut self, _: u32, _: u64) -> bool {
        false
    }

    fn len(&self) -> usize {
        self.waiting.len()
    }
}

/// Shortest first, of equal ones the newest: the server's own policy, told of nanoseconds of
/// service instead of bytes, and of arrivals in reverse order, by which it breaks ties.
#[derive(Debug)]
pub(super) struct Shortest {
    policy: Box<dyn Policy>,
    places: Vec<Option<Queued>>,
    free: Vec<u32>,
    waiting: usize,
}

impl Shortest {
    pub(super) fn new() -> Shortest {
        // The rate matters to policies of quanta and credits only.
        let rate = BitRate::new(1_000_000).expect("a million is above 0");
        let policy = policy::PSJF.build(rate);
        Shortest { policy, places: Vec::new(), free: Vec::new(), waiting: 0 }
    }

    fn take(&mut self, place: u32) -> Option<Queued> {
        let one = self.places.get_mut(place as usize)?.take()?;
        self.policy.depart(place);
        self.free.push(place);
        self.waiting -= 1;
        Some(one)
    }
}

impl Line for Shortest {
    fn push(&mut self, one: Queued) -> u32 {
        let place = self.free.pop().unwrap_or_else(|| {
            self.places.push(None);
            (self.places.len() - 1) as u32
        });
        self.places[place as usize] = Some(one);
        self.waiting += 1;
        let arrival = Arrival {
            order: u64::MAX - one.number,
            at: Time::ZERO,
            size: ((one.service * 1e9).round() as u64).max(1),
            fair: FairState::default(),
            finish: Level::default(),
            path: Path::default(),
        };
        self.policy.arrive(place, &arrival);
        self.policy.ready(place);
        place
    }

    fn pop(&mut self) -> Option<Queued> {
        let place = self.policy.pick(FairState::default(), 1)?;
        self.take(place)
    }

    fn remove(&mut self, place: u32, number: u64) -> bool {
        let there = self.places.get(place as usize).copied().flatten();
        there.is_some_and(|one| one.number == number) && self.take(place).is_some()
    }

    fn len(&self) -> usize {
        self.waiting
    }
}

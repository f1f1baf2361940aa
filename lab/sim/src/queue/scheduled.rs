//! A server that asks a policy of `weir-sched` which job goes next, as the gate of the real server
//! does. Time goes from event to event: a job is served until it has finished, another arrives, or
//! the policy would choose another.

use weir_sched::policy::{Arrival, Choice};
use weir_sched::{BitRate, FairState, Path, Policy, PolicyKind, Time, VirtualFair};

use super::job::Job;
use super::parameters::Queue;
use super::server::Server;
use super::units::Units;

/// The share of a quantum that is taken for an error of rounding.
const ROUNDING: f64 = 1e-6;

/// When a choice may change though nobody arrives or leaves.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// Never.
    Whole,
    /// After so much work.
    Quantum(f64),
    /// When somebody's slack is used up.
    Slack,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    place: u32,
    remaining: f64,
    /// The same as the policy knows it.
    units: u64,
    here: bool,
    /// Not finished in the virtual fair server.
    sharing: bool,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Scheduled {
    policy: Box<dyn Policy>,
    /// Only for policies that look at it.
    fair: Option<VirtualFair>,
    step: Step,
    units: Units,
    entries: Vec<Entry>,
    free: Vec<u32>,
    here: usize,
    now: f64,
    /// When the first job arrived: the policy's time 0.
    origin: Option<f64>,
    /// A policy's second is the time of a mean size.
    second: f64,
    arrived: u64,
}

impl Scheduled {
    pub(super) fn new(policy: PolicyKind, queue: &Queue) -> Scheduled {
        let units = Units::new(policy, &queue.sizes, queue.byte);
        let second = queue.sizes.mean;
        let quantum = queue.quantum_used();
        // A policy is told of a link to know its grant of a millisecond (`fair`) or what waiting
        // is worth (`ageing`).
        let bytes_per_second = match quantum {
            Some(quantum) => 1000.0 * quantum * units.per_work,
            None => second * units.per_work,
        };
        let bits = (8.0 * bytes_per_second) as u64;
        let rate = BitRate::new(bits.max(1)).expect("at least 1");
        Scheduled {
            policy: policy.build(rate),
            fair: policy.needs().fair_server.then(VirtualFair::default),
            step: match (quantum, policy.needs().choice) {
                (Some(quantum), _) => Step::Quantum(quantum),
                (None, Choice::Foreseen) => Step::Slack,
                (None, Choice::WhileServed | Choice::Grant) => Step::Whole,
            },
            units,
            entries: Vec::new(),
            free: Vec::new(),
            here: 0,
            now: 0.0,
            origin: None,
            second,
            arrived: 0,
        }
    }

    fn state(&self) -> FairState {
        let level = self.fair.as_ref().map(VirtualFair::level).unwrap_or_default();
        FairState { level, behind: 0 }
    }

    fn pass(&mut self, until: f64, left: &mut impl FnMut(u32, f64)) {
        while self.here > 0 && self.now < until {
            let Some(id) = self.policy.pick(self.state(), 1) else { return };
            let Entry { place, remaining, units, .. } = self.entries[id as usize];
            let (limit, limit_units) = match self.step {
                Step::Whole => (f64::INFINITY, None),
                Step::Quantum(work) => (work, None),
                Step::Slack => self.slack(id, until),
            };
            let end = self.now + remaining;
            // Many quanta add up to a little less or more than the job. A rest of such rounding must
            // not wait for the jobs that a policy prefers to it.
            let rounding = match self.step {
                Step::Quantum(work) => work * ROUNDING,
                Step::Whole | Step::Slack => 0.0,
            };
            if end <= until + rounding && remaining <= limit + rounding {
                self.now = end;
                self.count(id, 0.0, units);
                self.leave(id);
                left(place, end);
            } else if until <= self.now + limit {
                let rest = (remaining - (until - self.now)).max(0.0);
                self.now = until;
                self.count(id, rest, units - self.units.of(rest).min(units));
            } else {
                let rest = (remaining - limit).max(0.0);
                self.now += limit;
                let served = limit_units.unwrap_or(units - self.units.of(rest).min(units));
                self.count(id, rest, served);
            }
        }
    }

    /// How much of the job may be served before the policy would choose another: work and units.
    ///
    /// The policy takes as tight whoever's slack is less than the grant, so it still chooses the
    /// job for a grant exactly if nobody's slack ends within it.
    fn slack(&mut self, id: u32, until: f64) -> (f64, Option<u64>) {
        let fair = self.state();
        let most = self.units.covering(until - self.now).min(self.entries[id as usize].units);
        if most <= 1 || self.policy.pick(fair, most) == Some(id) {
            return (f64::INFINITY, None);
        }
        let (mut may, mut may_not) = (1, most);
        while may_not - may > 1 {
            let middle = may + (may_not - may) / 2;
            if self.policy.pick(fair, middle) == Some(id) {
                may = middle;
            } else {
                may_not = middle;
            }
        }
        (self.units.work(may), Some(may))
    }

    /// Some of the job was served; `rest` is still to do.
    fn count(&mut self, id: u32, rest: f64, served: u64) {
        let entry = &mut self.entries[id as usize];
        entry.remaining = rest;
        entry.units -= served;
        if served == 0 {
            return;
        }
        self.policy.served(id, served);
        let Scheduled { fair, policy, entries, free, .. } = self;
        if let Some(fair) = fair {
            fair.serve(served, |id, _| {
                policy.virtually_finished(id);
                let entry = &mut entries[id as usize];
                entry.sharing = false;
                if !entry.here {
                    free.push(id);
                }
                None
            });
        }
    }

    fn leave(&mut self, id: u32) {
        self.policy.depart(id);
        self.here -= 1;
        let entry = &mut self.entries[id as usize];
        entry.here = false;
        if !entry.sharing {
            self.free.push(id);
        }
    }
}

impl Server for Scheduled {
    fn arrive(&mut self, job: Job, place: u32, left: &mut impl FnMut(u32, f64)) {
        self.pass(job.arrival, left);
        self.now = self.now.max(job.arrival);
        let units = self.units.of(job.size).max(1);
        let sharing = self.fair.is_some();
        let entry = Entry { place, remaining: job.size, units, here: true, sharing };
        let id = match self.free.pop() {
            Some(id) => {
                self.entries[id as usize] = entry;
                id
            }
            None => {
                self.entries.push(entry);
                (self.entries.len() - 1) as u32
            }
        };
        self.here += 1;
        let fair = self.state();
        let finish = self.fair.as_mut().map(|fair| fair.join(id, units)).unwrap_or_default();
        let origin = *self.origin.get_or_insert(job.arrival);
        let nanos = (job.arrival - origin) / self.second * 1e9;
        let at = Time::from_nanos(nanos as u64);
        self.policy.arrive(
            id,
            &Arrival { order: self.arrived, at, size: units, fair, finish, path: Path::default() },
        );
        self.policy.ready(id);
        self.arrived += 1;
    }

    fn end(&mut self, left: &mut impl FnMut(u32, f64)) {
        self.pass(f64::INFINITY, left);
    }
}

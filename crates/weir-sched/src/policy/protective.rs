//! The default policy: least remaining size first among those whose service makes no other job miss
//! its fair finish. Mean response times within a few per cent of SRPT's, and no job later than
//! under fair sharing. Another order may stand for least remaining size: see [`orders`].

mod orders;

use super::ranked::Facts;
use super::slack::{Entry, SlackOrder};
use super::srpt::Srpt;
use super::{Arrival, Choice, Descriptor, FairState, Needs, Path, Policy, PolicyKind, Rule};
use crate::time::Time;
use crate::virtual_fair::Level;
use weir_units::BitRate;

pub(super) use orders::ORDERS;
pub use orders::ProtectiveOrder;

/// See the module.
pub const PROTECTIVE: PolicyKind = PolicyKind::new(&Descriptor {
    name: "protective",
    help: "the least left to send first, unless somebody would then finish later than under fair \
           sharing",
    needs: NEEDS,
    build: |rate| Box::new(Protective::on_a_link_of(rate, Srpt)),
});

const NEEDS: Needs = Needs { fair_server: true, choice: Choice::Foreseen, ..Needs::SIZES };

#[derive(Clone, Copy, Debug, Default)]
struct Job {
    /// Its place in the slack order.
    finish: Level,
    /// The path that it arrived with.
    path: Path,
    attained: u64,
    departed: bool,
    /// The virtual server has not finished it.
    shares: bool,
    at: Time,
    size: u64,
    /// The path as the gate was told last, and what was granted since.
    told: Path,
    since_told: u64,
}

impl Job {
    /// The path as it is now: the window has opened by what was sent.
    fn path(&self) -> Path {
        Path { window: self.path.window + self.attained, ..self.path }
    }

    /// What the order among those who may go looks at.
    fn facts(&self, entry: &Entry) -> Facts {
        Facts {
            order: entry.order,
            at: self.at,
            size: self.size,
            remaining: entry.remaining,
            attained: self.attained,
            finish: self.finish,
            path: self.told,
            since_told: self.since_told,
            ready: entry.ready,
        }
    }
}

/// Serves by `R` among those who may go.
#[derive(Debug)]
pub(super) struct Protective<R> {
    rate: BitRate,
    jobs: Vec<Job>,
    slack: SlackOrder,
    order: R,
}

impl<R: Rule<Key: Into<u64>>> Protective<R> {
    pub(super) fn on_a_link_of(rate: BitRate, order: R) -> Self {
        Protective { rate, jobs: Vec::new(), slack: SlackOrder::default(), order }
    }

    /// How much later than by its fair finish a job may end for want of an open window: a round
    /// trip, and half of one while its last bytes are under way.
    fn tolerated(&self, path: Path) -> u64 {
        self.rate.bytes_in(path.round_trip * 3 / 2)
    }

    /// Changes a job that may move in the order.
    fn move_to(
        &mut self,
        id: u32,
        fair: FairState,
        finish: Level,
        change: impl FnOnce(&mut Entry),
    ) {
        let job = &mut self.jobs[id as usize];
        let Some(mut entry) = self.slack.take(job.finish, id) else { return };
        entry.finish = finish;
        change(&mut entry);
        entry.margin = job.path().slow_start_bytes(self.rate, entry.remaining);
        job.finish = entry.finish;
        entry.key = self.order.key(&job.facts(&entry)).into();
        self.slack.insert(entry, fair);
    }

    /// Changes a job that stays where it is.
    fn change(&mut self, id: u32, change: impl FnOnce(&mut Entry)) {
        let (job, order) = (&self.jobs[id as usize], &self.order);
        self.slack.change(job.finish, id, |entry| {
            change(entry);
            entry.key = order.key(&job.facts(entry)).into();
        });
    }
}

impl<R: Rule<Key: Into<u64>>> Policy for Protective<R> {
    fn arrive(&mut self, id: u32, job: &Arrival) {
        self.order.arrives(job.size);
        let index = id as usize;
        if index >= self.jobs.len() {
            self.jobs.resize(index + 1, Job::default());
        }
        let (finish, path) = (job.finish, job.path);
        self.jobs[index] = Job {
            finish,
            path,
            shares: true,
            at: job.at,
            size: job.size,
            told: path,
            ..Job::default()
        };
        let mut entry = Entry::new(id, job.order, job.size, finish);
        entry.margin = path.slow_start_bytes(self.rate, job.size);
        entry.key = self.order.key(&self.jobs[index].facts(&entry)).into();
        self.slack.insert(entry, job.fair);
    }

    fn grow(&mut self, id: u32, bytes: u64, fair: FairState, finish: Level) {
        let job = &mut self.jobs[id as usize];
        job.shares = true;
        job.size += bytes;
        self.move_to(id, fair, finish, |entry| {
            entry.remaining += bytes;
            match &mut entry.frozen {
                Some(later) => *later += bytes,
                None => entry.sharing = true,
            }
        });
    }

    fn shrink(&mut self, id: u32, bytes: u64, fair: FairState, finish: Level) {
        let job = &mut self.jobs[id as usize];
        job.size = job.size.saturating_sub(bytes);
        self.slack.shorten(job.finish, id, fair.level);
        self.move_to(id, fair, finish, |entry| {
            entry.remaining = entry.remaining.saturating_sub(bytes);
            entry.frozen = entry.frozen.map(|later| later.saturating_sub(bytes));
        });
    }

    fn ready(&mut self, id: u32) {
        let (job, order) = (&self.jobs[id as usize], &self.order);
        self.slack.ready(job.finish, id, |entry| order.key(&job.facts(entry)).into());
    }

    fn blocked(&mut self, id: u32) {
        self.slack.blocked(self.jobs[id as usize].finish, id);
    }

    fn pause(&mut self, id: u32, level: Level) {
        self.slack.pause(self.jobs[id as usize].finish, id, level);
    }

    fn resume(&mut self, id: u32, fair: FairState, finish: Level) {
        self.move_to(id, fair, finish, |entry| {
            entry.frozen = None;
            entry.sharing = true;
        });
    }

    fn served(&mut self, id: u32, bytes: u64) {
        let job = &mut self.jobs[id as usize];
        job.attained += bytes;
        job.since_told += bytes;
        let (job, order, rate) = (&*job, &self.order, self.rate);
        self.slack.spend(job.finish, id, bytes, |entry| {
            entry.margin = job.path().slow_start_bytes(rate, entry.remaining);
            entry.key = order.key(&job.facts(entry)).into();
        });
    }

    fn returned(&mut self, id: u32, bytes: u64) {
        let job = &mut self.jobs[id as usize];
        job.attained = job.attained.saturating_sub(bytes);
        job.since_told = job.since_told.saturating_sub(bytes);
        self.change(id, |entry| entry.remaining += bytes);
    }

    fn path_changed(&mut self, id: u32, path: Path) {
        let job = &mut self.jobs[id as usize];
        (job.told, job.since_told) = (path, 0);
        let (job, order) = (&*job, &self.order);
        self.slack.rerank(job.finish, id, |entry| order.key(&job.facts(entry)).into());
    }

    fn depart(&mut self, id: u32) {
        self.order.departs();
        let job = &mut self.jobs[id as usize];
        job.departed = true;
        if job.shares {
            self.change(id, |entry| {
                entry.protected = false;
                entry.ready = false;
            });
        } else {
            self.slack.take(job.finish, id);
        }
    }

    fn virtually_finished(&mut self, id: u32) {
        let job = &mut self.jobs[id as usize];
        job.shares = false;
        if job.departed {
            self.slack.take(job.finish, id);
        } else {
            self.change(id, |entry| {
                entry.sharing = false;
                entry.frozen = None;
            });
        }
    }

    fn can_spare(&mut self, id: u32, fair: FairState, bytes: u64) -> bool {
        let finish = self.jobs[id as usize].finish;
        let tight = self.slack.first_tight(fair, bytes);
        tight.is_none_or(|tight| self.slack.at(tight).place() >= (finish, id))
    }

    fn pick(&mut self, fair: FairState, grant: u64) -> Option<u32> {
        let Some(tight) = self.slack.first_tight(fair, grant) else {
            return self.slack.best(None).map(|(_, _, id)| id);
        };
        // The tight job itself is among them, so the link is never left idle.
        let (.., best) = self.slack.best(Some(tight))?;
        let entry = self.slack.at(tight);
        let path = self.jobs[entry.id as usize].path();
        if entry.is_late_by(self.tolerated(path), grant) {
            let left = self.slack.remaining(self.jobs[best as usize].finish, best);
            if left.is_some_and(|left| left > path.window) {
                return Some(entry.id);
            }
        }
        Some(best)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::virtual_fair::VirtualFair;

    struct Served {
        fair: VirtualFair,
        policy: Protective<Srpt>,
    }

    impl Served {
        fn new(jobs: &[(u64, Path)]) -> Served {
            let rate = BitRate::new(8_000_000).expect("not zero");
            let mut served =
                Served { fair: VirtualFair::default(), policy: Protective::on_a_link_of(rate, Srpt) };
            for (id, &(size, path)) in (0..).zip(jobs) {
                served.arrive(id, size, path);
            }
            served
        }

        fn arrive(&mut self, id: u32, size: u64, path: Path) {
            let finish = self.fair.join(id, size);
            let (at, fair) = (crate::Time::ZERO, self.state());
            let arrival = Arrival { order: id.into(), at, size, fair, finish, path };
            self.policy.arrive(id, &arrival);
            self.policy.ready(id);
        }

        fn state(&self) -> FairState {
            FairState { level: self.fair.level(), behind: 0 }
        }

        fn pick(&mut self) -> Option<u32> {
            self.policy.pick(self.state(), 100)
        }

        fn send(&mut self, id: u32, bytes: u64) {
            self.policy.served(id, bytes);
            let policy = &mut self.policy;
            self.fair.serve(bytes, |id, _| {
                policy.virtually_finished(id);
                None
            });
        }
    }

    #[test]
    fn who_is_blocked_holds_nobody_up_and_is_first_on_its_return() {
        let mut served = Served::new(&[1000, 5000, 6000].map(|size| (size, Path::default())));
        served.policy.blocked(0);
        // Beyond the slack of the blocked one: it could not have used the link.
        for _ in 0..20 {
            assert_eq!(served.pick(), Some(1));
            served.send(1, 100);
        }
        served.policy.ready(0);
        assert_eq!(served.pick(), Some(0));
    }

    #[test]
    fn what_others_were_given_while_one_was_blocked_counts_on_its_return() {
        // So many that they stand in several rows; the last is in another than the first two.
        let mut sizes = vec![200_000; 80];
        sizes[..2].fill(1000);
        let jobs: Vec<_> = sizes.into_iter().map(|size| (size, Path::default())).collect();
        let mut served = Served::new(&jobs);
        served.policy.blocked(0);
        for _ in 0..78 {
            served.send(79, 1000);
        }
        served.arrive(80, 500, Path::default());
        // The second has no slack any more: the bounds of its row are made exact.
        assert_eq!(served.pick(), Some(1));
        served.send(1, 1000);
        served.policy.depart(1);
        served.policy.ready(0);
        // Nor has the first, though the new one is shorter.
        assert_eq!(served.pick(), Some(0));
    }

    #[test]
    fn a_far_one_that_would_be_late_opens_its_window_first() {
        // Alone it would wait six round trips of 100 KB of the link.
        let far = Path { round_trip: std::time::Duration::from_millis(100), window: 1_000, window_credit: 1_000 };
        let mut served = Served::new(&[(300_000, far), (250_000, Path::default())]);
        assert_eq!(served.pick(), Some(0));
        served.policy.blocked(0);
        assert_eq!(served.pick(), Some(1));
        // What fits its window costs it no round trip.
        let mut served = Served::new(&[(300_000, far), (800, Path::default())]);
        assert_eq!(served.pick(), Some(1));
    }
}

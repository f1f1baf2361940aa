//! One server in virtual time under each policy of `weir-sched`, and under exact processor sharing.
//! Callers (`weir-lab sim queue` and `transient`) give it jobs one by one and are told when each
//! leaves; memory is by the jobs that are present.

mod attained;
mod discipline;
mod poisson;
mod scheduled;
mod server;
mod sharing;
mod spread;
mod tally;
#[cfg(test)]
mod tests;
mod units;

use weir_sched::policy::{self, Choice};

use attained::LeastAttained;
use scheduled::Scheduled;
use server::{Fifo, Server};
use sharing::Sharing;

pub use discipline::{Discipline, UnknownDiscipline};
pub use poisson::Poisson;
pub use spread::Spread;
pub use tally::{Class, Tally};
pub use units::Sizes;

/// What the server must do: when it is asked, and how much work it is. The server does one unit of
/// work in one unit of time, so a size is also the time that the job takes alone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Job {
    /// Not before the arrival of the job before it.
    pub arrival: f64,
    /// Above 0.
    pub size: f64,
}

/// A job that has left.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Departure {
    /// Its place in the order of arrival, from 0.
    pub index: u64,
    /// The job itself.
    pub job: Job,
    /// When it left.
    pub finish: f64,
    /// When it would have left under exact processor sharing of the same jobs, if that was asked.
    pub sharing: Option<f64>,
}

impl Departure {
    /// Time from arrival to departure: at least the size, whatever was rounded.
    pub fn response(&self) -> f64 {
        (self.finish - self.job.arrival).max(self.job.size)
    }
}

/// A server and what is known of its jobs beforehand.
#[derive(Clone, Copy, Debug)]
pub struct Queue {
    /// The order of service.
    pub discipline: Discipline,
    /// What sizes to expect.
    pub sizes: Sizes,
    /// Work that is served at a time where sharing is by quantum: always under `fair`
    /// ([`Queue::FAIR_QUANTUM`] of the mean size if not given), under `las` only if given. Without
    /// it `las` shares exactly among those who have had the least.
    pub quantum: Option<f64>,
    /// The work of one byte, for the size classes of `bands`.
    pub byte: f64,
    /// Whether exact processor sharing runs beside it, for [`Departure::sharing`].
    pub reference: bool,
}

impl Queue {
    /// The quantum of `fair` as a share of the mean size.
    pub const FAIR_QUANTUM: f64 = 0.01;

    /// A server whose unit of work is a byte, with the reference beside it.
    pub fn new(discipline: Discipline, sizes: Sizes) -> Queue {
        Queue { discipline, sizes, quantum: None, byte: 1.0, reference: true }
    }

    /// The quantum that is used, if service is by quantum.
    pub fn quantum_used(&self) -> Option<f64> {
        match self.discipline {
            Discipline::Policy(kind) if kind == policy::LAS => self.quantum,
            Discipline::Policy(policy) if policy.needs().choice == Choice::Grant => {
                Some(self.quantum.unwrap_or(Queue::FAIR_QUANTUM * self.sizes.mean))
            }
            _ => None,
        }
    }

    /// Serves `jobs`, which ascend in arrival, until all have left. `left` is told of each once it
    /// has left here and, if that runs beside, under processor sharing.
    ///
    /// `fifo`, and `las` without a quantum, have exact servers of their own; the other policies are
    /// the code of `weir-sched`.
    pub fn serve(&self, jobs: impl IntoIterator<Item = Job>, left: impl FnMut(&Departure)) {
        let jobs = jobs.into_iter();
        match (self.discipline, self.quantum) {
            (Discipline::Sharing, _) => self.share(jobs, left),
            (Discipline::Policy(kind), _) if kind == policy::FIFO => {
                self.run(Fifo::default(), jobs, left);
            }
            (Discipline::Policy(kind), None) if kind == policy::LAS => {
                self.run(LeastAttained::default(), jobs, left);
            }
            (Discipline::Policy(policy), _) => {
                self.run(Scheduled::new(policy, self), jobs, left);
            }
        }
    }

    /// Processor sharing is its own reference.
    fn share(&self, jobs: impl Iterator<Item = Job>, mut left: impl FnMut(&Departure)) {
        let alone = Queue { reference: false, ..*self };
        alone.run(Sharing::default(), jobs, |departure| {
            let sharing = self.reference.then_some(departure.finish);
            left(&Departure { sharing, ..*departure });
        });
    }

    fn run(
        &self,
        mut server: impl Server,
        jobs: impl Iterator<Item = Job>,
        mut left: impl FnMut(&Departure),
    ) {
        let mut reference = self.reference.then(Sharing::default);
        let mut present = Present { both: self.reference, ..Present::default() };
        for job in jobs {
            let place = present.add(job);
            server.arrive(job, place, &mut |place, at| present.leaves(place, at, &mut left));
            if let Some(reference) = &mut reference {
                reference.arrive(job, place, &mut |place, at| {
                    present.leaves_sharing(place, at, &mut left);
                });
            }
        }
        server.end(&mut |place, at| present.leaves(place, at, &mut left));
        if let Some(reference) = &mut reference {
            reference.end(&mut |place, at| present.leaves_sharing(place, at, &mut left));
        }
    }
}

/// The jobs that have not left everywhere, each in a place that is used again.
#[derive(Debug, Default)]
struct Present {
    /// Whether a job has to leave both the server and the reference.
    both: bool,
    jobs: Vec<Waiting>,
    free: Vec<u32>,
    arrived: u64,
}

/// Times are not a number until they are known.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    index: u64,
    job: Job,
    finish: f64,
    sharing: f64,
}

impl Present {
    fn add(&mut self, job: Job) -> u32 {
        let waiting = Waiting { index: self.arrived, job, finish: f64::NAN, sharing: f64::NAN };
        self.arrived += 1;
        if let Some(place) = self.free.pop() {
            self.jobs[place as usize] = waiting;
            return place;
        }
        self.jobs.push(waiting);
        (self.jobs.len() - 1) as u32
    }

    fn leaves(&mut self, place: u32, at: f64, left: &mut impl FnMut(&Departure)) {
        let waiting = &mut self.jobs[place as usize];
        waiting.finish = at;
        let Waiting { index, job, sharing, .. } = *waiting;
        let known = !sharing.is_nan();
        if known || !self.both {
            self.free.push(place);
            left(&Departure { index, job, finish: at, sharing: known.then_some(sharing) });
        }
    }

    fn leaves_sharing(&mut self, place: u32, at: f64, left: &mut impl FnMut(&Departure)) {
        let waiting = &mut self.jobs[place as usize];
        waiting.sharing = at;
        let Waiting { index, job, finish, .. } = *waiting;
        if !finish.is_nan() {
            self.free.push(place);
            left(&Departure { index, job, finish, sharing: Some(at) });
        }
    }
}

//! One server in virtual time under each policy of `weir-sched`, and under exact processor sharing.
//! Callers (`weir-lab sim queue` and `transient`) give it jobs one by one and are told when each
//! leaves; memory is by the jobs that are present.

mod attained;
mod discipline;
mod job;
mod log_histogram;
mod parameters;
mod poisson;
mod scheduled;
mod server;
mod sharing;
mod tally;
#[cfg(test)]
mod tests;
mod units;

use weir_sched::policy;

use attained::LeastAttained;
use scheduled::Scheduled;
use server::{Fifo, Server};
use sharing::Sharing;

pub use discipline::{Discipline, UnknownDiscipline};
pub use job::{Departure, Job};
pub use log_histogram::LogHistogram;
pub use parameters::Queue;
pub use poisson::Poisson;
pub use tally::{Class, Tally};
pub use units::Sizes;

impl Queue {
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

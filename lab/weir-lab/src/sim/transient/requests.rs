//! The requests of one run of `weir-lab sim transient`, and how a policy serves them. Used by the
//! command and by its figures.

use weir_sim::queue::{Departure, Discipline, Job, Queue, Sizes, Tally};
use weir_workload::arrivals::Offered;

/// The requests of a run: body bytes, and the job in seconds of the link.
pub(super) struct Requests {
    pub(super) sizes: Vec<u64>,
    pub(super) jobs: Vec<Job>,
    /// Seconds that a byte takes.
    byte: f64,
}

/// The requests that a load offers, which must have been checked.
pub(super) fn requests(offered: &Offered) -> Requests {
    let byte = 1.0 / offered.bytes_per_second;
    let mut requests = Requests { sizes: Vec::new(), jobs: Vec::new(), byte };
    // It was checked that there are arrivals; the iterator of an error is empty.
    for request in offered.arrivals().into_iter().flatten() {
        let size = request.size.unwrap_or_default();
        requests.sizes.push(size);
        let size = offered.work(size) / offered.bytes_per_second;
        requests.jobs.push(Job { arrival: request.at, size });
    }
    requests
}

impl Requests {
    /// Response times in seconds in order of arrival, and who was late; `None` without requests.
    pub(super) fn served(&self, discipline: Discipline) -> Option<Served> {
        let sizes = Sizes::of_jobs(&self.jobs)?;
        let queue = Queue { byte: self.byte, ..Queue::new(discipline, sizes) };
        let mut served = Served::new(self.jobs.len(), sizes.mean);
        queue.serve(self.jobs.iter().copied(), |departure| served.add(departure));
        Some(served)
    }
}

/// What one policy did with the requests of one run.
pub(super) struct Served {
    /// Seconds, in order of arrival.
    pub(super) responses: Vec<f64>,
    pub(super) tally: Tally,
}

impl Served {
    /// Room for so many requests, with a mean size.
    fn new(count: usize, mean: f64) -> Served {
        let tally = Tally::new(0, count as u64, mean, Vec::new());
        Served { responses: vec![0.0; count], tally }
    }

    fn add(&mut self, departure: &Departure) {
        self.tally.add(departure);
        if let Some(response) = self.responses.get_mut(departure.index as usize) {
            *response = departure.response();
        }
    }
}

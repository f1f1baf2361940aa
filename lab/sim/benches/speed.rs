//! How many events (arrivals and departures) the simulator makes in a second on one core.

use divan::Bencher;
use divan::counter::ItemsCount;
use weir_sim::dtoc::{Model, Strategy};
use weir_sim::queue::{Discipline, Poisson, Queue, Sizes, Tally};
use weir_workload::law;
use weir_workload::shape::Shape;

fn main() {
    divan::main();
}

const JOBS: u64 = 1_000_000;

/// A million jobs of M/M/1 at a load of 0.9; with what `weir-lab sim queue` counts of them.
#[divan::bench(
    args = ["fifo", "ps", "srpt", "psjf", "las", "fsp", "protective"],
    consts = [false, true],
    sample_count = 5,
    sample_size = 1,
)]
fn queue<const BESIDE_PS: bool>(bencher: Bencher, policy: &str) {
    let discipline: Discipline = policy.parse().expect("a policy");
    let law = law::parse("exponential:mean=1").expect("a law");
    let sizes = Sizes::of_law(law.as_ref(), JOBS).expect("a mean");
    let queue = Queue { reference: BESIDE_PS, ..Queue::new(discipline, sizes) };
    bencher.counter(ItemsCount::new(2 * JOBS)).bench_local(|| {
        let mut tally = Tally::new(0, JOBS, sizes.mean, Vec::new());
        let jobs = Poisson::new(law.as_ref(), sizes.mean, 0.9, 1).take(JOBS as usize);
        queue.serve(jobs, |departure| tally.add(departure));
        tally.mean_response()
    });
}

/// Carter's full model at 300 % of load, with one retry.
#[divan::bench(args = Strategy::ALL, sample_count = 5, sample_size = 1)]
fn carter(bencher: Bencher, strategy: Strategy) {
    let shape = Shape::constant(3.0).expect("a load");
    let model = Model { retries: 1, ..Model::new(shape, 5.0, strategy) };
    let prepared = model.prepare().expect("valid parameters");
    let events = prepared.run(1).counts.events;
    bencher.counter(ItemsCount::new(events)).bench_local(|| prepared.run(1));
}

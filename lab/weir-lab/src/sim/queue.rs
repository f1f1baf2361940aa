//! `weir-lab sim queue`: one server under a policy, fed by a law of sizes or by a trace.

mod figures;
mod trace;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use weir_sim::queue::{Discipline, Job, Poisson, Queue, Sizes, Tally};
use weir_sim::replications;
use weir_workload::law::{self, Law};

use crate::failure::{Failure, invalid_usage};
use crate::print;
use figures::{Figures, Runs, Source};

/// One server that does one unit of work in one unit of time. A size is work, and so the time that
/// a job takes alone: response times are in the unit of the sizes, and slowdown is response time
/// divided by size.
///
/// Policies are the server's own; ps is exact processor sharing. Service is exact, without a
/// quantum, under all but fair. Sizes are bytes for the classes of bands.
#[derive(Debug, clap::Args)]
#[command(after_help = "late_vs_ps is the share (0 to 1) of the jobs that leave later than under \
    ps, by more than a millionth of the mean size. mean_response_ci95 is half the width of the \
    interval of 95 %: of the repetitions, or of 25 batches of one run, for which it should be \
    long; a single run of less than 1000 jobs has none, and the field is left out. events_per_second is the simulator's own speed (an event is an arrival or a departure), \
    and the only figure that differs when a run is repeated.")]
pub(super) struct Arguments {
    #[arg(long, value_name = "POLICY", help = format!("Order of service: ps, {}", weir_sched::PolicyKind::names()))]
    policy: Discipline,

    /// Law of sizes of jobs that come at random (Poisson)
    #[arg(long, value_name = "LAW", long_help = law::SYNTAX)]
    #[arg(required_unless_present = "trace", conflicts_with = "trace", requires = "load")]
    law: Option<String>,

    /// Share of the time that the server is busy, above 0 and below 1
    #[arg(long, value_name = "LOAD", conflicts_with = "trace", allow_negative_numbers = true)]
    load: Option<f64>,

    /// Jobs that are counted, in each repetition
    #[arg(long, value_name = "N", default_value_t = 1_000_000, conflicts_with = "trace")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=10_000_000_000))]
    jobs: u64,

    /// Jobs that come before those and are not counted [default: a tenth of them]
    #[arg(long, value_name = "JOBS", conflicts_with = "trace")]
    #[arg(value_parser = clap::value_parser!(u64).range(0..=10_000_000_000))]
    warmup: Option<u64>,

    /// Equal seeds give equal jobs; with a trace it does nothing
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// Independent runs, on all cores
    #[arg(long, value_name = "N", default_value_t = 1, conflicts_with = "trace")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=100_000))]
    replications: u32,

    /// Jobs from a CSV file with the columns arrival and size, in order of arrival
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,

    /// File to write: arrival, size, finish and response of the jobs of the trace, in their order
    #[arg(long, value_name = "FILE", requires = "trace")]
    finish_times: Option<PathBuf>,

    /// Work served at a time under fair (default: a hundredth of the mean size) and las (default:
    /// those who have had the least share the server exactly)
    #[arg(long, value_name = "WORK", allow_negative_numbers = true)]
    quantum: Option<f64>,

    /// Do not run ps beside the policy: faster, without late_vs_ps
    #[arg(long)]
    no_reference: bool,

    /// Mean response time and slowdown by size, in N classes with equal numbers of jobs
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=1000))]
    classes: Option<u32>,

    /// Write JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let figures = match &arguments.trace {
        Some(file) => of_trace(arguments, file)?,
        None => of_law(arguments)?,
    };
    let seed = arguments.trace.is_none().then_some(arguments.seed);
    print::result(arguments.json, seed, &figures, || figures.text())
}

fn of_law(arguments: &Arguments) -> Result<Figures, Failure> {
    let text = arguments.law.as_deref().unwrap_or_default();
    let law = law::parse_exact(text).map_err(invalid_usage)?;
    let load = arguments.load.unwrap_or_default();
    if !(load > 0.0 && load < 1.0) {
        return Err(invalid_usage(format!(
            "--load {load}: give a number above 0 and below 1; at 1 and above the queue grows for \
             ever (weir-lab sim transient, or --trace, shows a time of overload)"
        )));
    }
    let warmup = arguments.warmup.unwrap_or(arguments.jobs / 10);
    let count = warmup + arguments.jobs;
    let sizes = Sizes::of_law(law.as_ref(), count).map_err(invalid_usage)?;
    let queue = checked(arguments, sizes)?;
    let bounds = arguments.classes.map_or_else(Vec::new, |classes| law_bounds(&law, classes));
    let one = |seed| {
        let mut tally = Tally::new(warmup, arguments.jobs, sizes.mean, bounds.clone());
        let jobs = Poisson::new(law.as_ref(), sizes.mean, load, seed);
        queue.serve(jobs.take(count as usize), |departure| tally.add(departure));
        tally
    };
    let replications = arguments.replications as usize;
    let start = Instant::now();
    let mut runs = Runs::default();
    match replications {
        // The seed as it was given.
        1 => runs.add(one(arguments.seed)),
        _ => replications::in_order(replications, arguments.seed, one, |tally| runs.add(tally)),
    }
    let speed = speed(2.0 * count as f64 * replications as f64, start);
    let source = Source::Law { law: law.to_string(), load, warmup };
    Figures::of(&queue, source, &runs, speed)
}

fn of_trace(arguments: &Arguments, file: &std::path::Path) -> Result<Figures, Failure> {
    let jobs = trace::read(file)?;
    let sizes = Sizes::of_jobs(&jobs).ok_or_else(|| trace::empty(file))?;
    let queue = checked(arguments, sizes)?;
    let bounds = arguments.classes.map_or_else(Vec::new, |classes| {
        let mut sizes: Vec<f64> = jobs.iter().map(|job| job.size).collect();
        sizes.sort_by(f64::total_cmp);
        let mut bounds: Vec<f64> = (1..classes as usize)
            .map(|class| sizes[class * sizes.len() / classes as usize])
            .collect();
        bounds.dedup();
        bounds
    });
    let mut tally = Tally::new(0, jobs.len() as u64, sizes.mean, bounds);
    // Since the first arrival, by the place in the trace.
    let mut finishes = vec![0.0; if arguments.finish_times.is_some() { jobs.len() } else { 0 }];
    let start = Instant::now();
    // Times since the first arrival: those since 1970 would leave no digits for small sizes.
    let first = jobs.first().map_or(0.0, |job| job.arrival);
    let since = jobs.iter().map(|job| Job { arrival: job.arrival - first, ..*job });
    queue.serve(since, |departure| {
        tally.add(departure);
        if let Some(finish) = finishes.get_mut(departure.index as usize) {
            *finish = departure.finish;
        }
    });
    let speed = speed(2.0 * jobs.len() as f64, start);
    if let Some(out) = &arguments.finish_times {
        trace::write(out, &jobs, &finishes)?;
    }
    let span = jobs.last().map_or(0.0, |last| last.arrival - first);
    let load = Some(sizes.total / span).filter(|load| load.is_finite());
    let source = Source::Trace { trace: file.display().to_string(), load };
    let mut runs = Runs::default();
    runs.add(tally);
    Figures::of(&queue, source, &runs, speed)
}

/// Events per second since `start`, however short that is.
fn speed(events: f64, start: Instant) -> f64 {
    events / start.elapsed().as_secs_f64().max(1e-9)
}

/// The server of the flags, if its quantum fits its policy and such sizes.
fn checked(arguments: &Arguments, sizes: Sizes) -> Result<Queue, Failure> {
    let discipline = arguments.policy;
    let queue = Queue {
        quantum: arguments.quantum,
        reference: !arguments.no_reference,
        ..Queue::new(discipline, sizes)
    };
    let Some(quantum) = arguments.quantum else { return Ok(queue) };
    if queue.quantum_used().is_none() {
        return Err(invalid_usage(format!(
            "--quantum: {discipline} is exact and has none; it is for fair and las"
        )));
    }
    // Below, a run takes for ever.
    let least = 1e-6 * sizes.mean;
    if !(quantum.is_finite() && quantum >= least) {
        return Err(invalid_usage(format!(
            "--quantum {quantum}: give a number from {least:e} (a millionth of the mean size) on"
        )));
    }
    Ok(queue)
}

/// The sizes that divide a law into classes of equal probability.
fn law_bounds(law: &Arc<dyn Law>, classes: u32) -> Vec<f64> {
    let share = |class| f64::from(class) / f64::from(classes);
    let mut bounds: Vec<f64> = (1..classes).map(|class| law.quantile(share(class))).collect();
    bounds.dedup();
    bounds
}

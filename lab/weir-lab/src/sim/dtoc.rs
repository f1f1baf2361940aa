//! `weir-lab sim dtoc`: Carter's server with impatient clients. Each row is a model of
//! `weir_sim::dtoc`, repeated with several seeds.

mod output;

use weir_sim::dtoc::{self, Model, Results, Strategy};
use weir_sim::replications;
use weir_workload::law;
use weir_workload::shape::{self, Shape};

use crate::failure::{Failure, invalid_usage};

/// Most intervals of all repetitions of a line, which are kept together.
const MOST_INTERVALS: f64 = 1e8;
/// Most lines of a table.
const MOST_ROWS: usize = 10_000;

/// Carter & Cherkasova 1999: one server with a listen queue, clients that give up, and what is
/// done about their requests. Several loads, timeouts or strategies give a line each.
#[derive(Debug, clap::Args)]
#[command(after_help = "success_by_class has the shares (0 to 1) of the clients answered in time \
    who ask for less than 1000 bytes, 10000, 100000, and more; 0 where there are no such clients.")]
pub(super) struct Arguments {
    /// New clients, in % of what the server can answer; several with commas
    #[arg(long, value_name = "PERCENT", value_delimiter = ',', required_unless_present = "shape")]
    #[arg(allow_negative_numbers = true)]
    load: Vec<f64>,

    /// Load over time instead of a constant one (1 is what the server can answer)
    #[arg(long, value_name = "SHAPE", conflicts_with = "load", long_help = shape_help())]
    shape: Option<String>,

    /// Seconds after which a client leaves; several with commas
    #[arg(long, value_name = "SECONDS", value_delimiter = ',', default_value = "5")]
    #[arg(allow_negative_numbers = true)]
    timeout: Vec<f64>,

    /// How often a client that left asks again
    #[arg(long, value_name = "N", default_value_t = 0)]
    retries: u32,

    /// regular, check (the paper's), abort, srpt-purge, lifo or drop; several with commas
    #[arg(
        long,
        value_name = "STRATEGY",
        value_delimiter = ',',
        default_value = "check",
        long_help = "What the server does about clients that left; several with commas:\n\
            regular      first come first served, nobody is looked at\n\
            check        the dead are dropped when they are taken from the queue (the paper's)\n\
            abort        and a request in service stops when its client leaves\n\
            srpt-purge   shortest first; the dead leave the queue and service at once\n\
            lifo         newest first; the dead are dropped when they are taken from the queue\n\
            drop         as check, and what cannot be finished in time is dropped too"
    )]
    strategy: Vec<Strategy>,

    /// Seconds in which those clients come who count [default: 10000; with a shape, one cycle]
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true)]
    duration: Option<f64>,

    /// Seconds before that [default: 100 times what a full queue takes and 10 timeouts; with
    /// a shape, none]
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true)]
    warm_up: Option<f64>,

    /// Independent repetitions, for the 95 % interval
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    replications: u32,

    /// Equal seeds give equal results
    #[arg(long, default_value_t = 1)]
    seed: u64,

    #[command(flatten)]
    server: Box<Server>,

    /// Length of the intervals of the series that a shape gives
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0, requires = "shape")]
    #[arg(allow_negative_numbers = true)]
    interval: f64,

    /// Write JSON: one object, or {"rows":[…]} of several
    #[arg(long)]
    json: bool,

    /// Also say the events per second that the simulation made
    #[arg(long)]
    speed: bool,
}

/// The server; the defaults are the paper's.
#[derive(Debug, clap::Args)]
struct Server {
    /// Requests that can wait beside the one in service
    #[arg(long, value_name = "N", default_value_t = 1024)]
    queue: u32,

    /// Requests that the server can answer in a second
    #[arg(long, value_name = "PER_SECOND", default_value_t = 100.0)]
    #[arg(allow_negative_numbers = true)]
    service_rate: f64,

    /// Sizes, to which service times are in proportion
    #[arg(long, value_name = "LAW", default_value = "carter", long_help = law_help())]
    law: String,

    /// What the check of a request takes, in % of the mean service time
    #[arg(long, value_name = "PERCENT", default_value_t = 0.5, allow_negative_numbers = true)]
    check_cost: f64,

    /// The check is on while the server was busier than this in the last second, in %
    #[arg(long, value_name = "PERCENT", default_value_t = 95.0, allow_negative_numbers = true)]
    check_above: f64,
}

fn shape_help() -> String {
    format!(
        "Load over time instead of a constant one (1 is what the server can answer): {} (the \
         paper's), {}",
        dtoc::DAYS.join(" or "),
        shape::SYNTAX
    )
}

fn law_help() -> String {
    format!("Sizes, to which service times are in proportion: {}", law::SYNTAX)
}

/// What one line is about.
struct Case {
    load_percent: f64,
    model: Model,
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let cases = cases(arguments)?;
    let count = arguments.replications as usize;
    let mut rows = Vec::with_capacity(cases.len());
    // All are checked before the first runs.
    let prepared: Result<Vec<_>, _> =
        cases.into_iter().map(|case| Ok((case.load_percent, case.model.prepare()?))).collect();
    for (load_percent, prepared) in
        prepared.map_err(|invalid: weir_workload::Invalid| invalid_usage(invalid))?
    {
        let model = prepared.model();
        let intervals = model.interval.map_or(0.0, |length| model.duration / length);
        if intervals * count as f64 > MOST_INTERVALS {
            return Err(invalid_usage(format!(
                "{count} repetitions of {intervals:.0} intervals are too many to keep; give fewer \
                 --replications or a longer --interval, for at most {MOST_INTERVALS:.0} in all"
            )));
        }
        let begun = std::time::Instant::now();
        let tallies = replications::run(count, arguments.seed, |seed| prepared.run(seed));
        let seconds = begun.elapsed().as_secs_f64();
        let results = Results::new(prepared.model(), &tallies)
            .ok_or_else(|| invalid_usage("give at least one repetition"))?;
        let speed = arguments.speed.then(|| results.events as f64 / seconds.max(1e-9));
        rows.push(output::Row::new(prepared.model(), load_percent, count, results, speed));
    }
    output::write(arguments.seed, arguments.json, &rows)
}

/// Every load with every timeout and strategy, in this order.
fn cases(arguments: &Arguments) -> Result<Vec<Case>, Failure> {
    let law = law::parse_exact(&arguments.server.law).map_err(invalid_usage)?;
    let mut shapes = Vec::new();
    if let Some(text) = &arguments.shape {
        let shape =
            dtoc::day(text.trim()).map_or_else(|| Shape::parse(text), Ok).map_err(invalid_usage)?;
        shapes.push((100.0 * shape.mean_load(), shape));
    }
    for load in &arguments.load {
        let shape = Shape::constant(load / 100.0).map_err(|_| {
            invalid_usage(format!("the load is {load} %; give above 0, at most 100000000 %"))
        })?;
        shapes.push((*load, shape));
    }
    let (timeouts, strategies) = (&arguments.timeout, &arguments.strategy);
    if shapes.len() * timeouts.len() * strategies.len() > MOST_ROWS {
        return Err(invalid_usage(format!(
            "these are more than {MOST_ROWS} cases; give fewer at a time"
        )));
    }
    let mut cases = Vec::new();
    for (load_percent, shape) in &shapes {
        for timeout in timeouts {
            for strategy in strategies {
                let mut model = Model::new(shape.clone(), *timeout, *strategy);
                model.law = law.clone();
                model.service_rate = arguments.server.service_rate;
                model.queue = arguments.server.queue as usize;
                model.retries = arguments.retries;
                model.check_cost = arguments.server.check_cost / 100.0;
                model.check_above = arguments.server.check_above / 100.0;
                model.warm_up = model.usual_warm_up();
                if arguments.shape.is_some() {
                    model.warm_up = 0.0;
                    model.duration = shape.cycle();
                    model.interval = Some(arguments.interval);
                }
                model.warm_up = arguments.warm_up.unwrap_or(model.warm_up);
                model.duration = arguments.duration.unwrap_or(model.duration);
                cases.push(Case { load_percent: *load_percent, model });
            }
        }
    }
    Ok(cases)
}

//! `weir-lab sim backend`: an application behind the server's own gate, with impatient clients.
//! Each row is a model of `weir_sim::backend`.

mod application;
mod grid;
mod output;
mod row;

use weir_sched::{BackendConfig, BackendOrder, CallLimit};
use weir_sim::backend::{LoadDrop, Model};
use weir_sim::dtoc::{self, Strategy};
use weir_sim::replications;
use weir_units::{Invalid, Percent};
use weir_workload::shape::{self, Shape};

use crate::failure::{Failure, invalid_usage};
use crate::values::seconds;
use application::{Application, Applications};
use row::Row;

/// Most lines of a table.
const MOST_ROWS: usize = 10_000;
/// Most intervals of all repetitions of a line, which are kept together.
const MOST_INTERVALS: f64 = 1e8;
/// What stands beside the gate on request.
const BESIDE: [Strategy; 4] =
    [Strategy::Regular, Strategy::Check, Strategy::Abort, Strategy::SrptPurge];

/// An overloaded application behind the gate that `weir serve` has in
/// front of a backend: open-loop clients that leave when they have waited too long, Carter's sizes
/// (1999, Figure 21). Several loads or orders give a line each; several applications give a grid of
/// their useful work.
#[derive(Debug, clap::Args)]
#[command(after_help = "success_by_class has the shares (0 to 1) of the clients answered in time \
    who ask for less than 1000 bytes, 10000, 100000, and more; 0 where there are no such clients.\n\
    recovery_seconds: from the drop of the load to the first second whose newcomers have at most \
    twice the mean response time that is usual at that load.")]
pub(super) struct Arguments {
    /// New clients, in % of what the application can answer, such as 300%; several with commas
    #[arg(long, value_name = "PERCENT", value_delimiter = ',', required_unless_present = "shape")]
    #[arg(allow_negative_numbers = true, value_parser = percent)]
    load: Vec<f64>,

    /// Load over time instead of a constant one (1 is what the application can answer)
    #[arg(long, value_name = "SHAPE", conflicts_with = "load", long_help = shape_help())]
    shape: Option<String>,

    /// How long a client waits before it leaves; inf: for ever
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = patience)]
    #[arg(allow_negative_numbers = true)]
    patience: f64,

    /// How often a client asks again
    #[arg(long, value_name = "N", default_value_t = 0)]
    retries: u32,

    /// Refused clients retry too, after the time in Retry-After
    #[arg(long)]
    retry_refused: bool,

    /// All clients have one address, instead of one each
    #[arg(long)]
    one_address: bool,

    /// Which waiting request goes next, as --backend-order of weir serve: adaptive, newest-first,
    /// fifo, shortest-expected or edf; several with commas
    #[arg(long, value_name = "ORDER", value_delimiter = ',', default_value = "adaptive")]
    order: Vec<BackendOrder>,

    /// Requests that the application may have at a time, as --backend-limit of weir serve: a
    /// number, or auto
    #[arg(long, value_name = "LIMIT", default_value = "auto")]
    limit: CallLimit,

    /// The gate cannot tell what is asked, so it does not learn how long each takes
    #[arg(long)]
    unknown_kinds: bool,

    #[command(flatten)]
    applications: Box<Applications>,

    /// How long those clients come who count [default: 600s; with a shape, one cycle]
    #[arg(long, value_name = "TIME", value_parser = seconds, allow_negative_numbers = true)]
    duration: Option<f64>,

    /// How long clients come before that [default: 60s; with a shape, none]
    #[arg(long, value_name = "TIME", value_parser = seconds, allow_negative_numbers = true)]
    warm_up: Option<f64>,

    /// Then the load drops to this, in %, and newcomers are watched for 30 s
    #[arg(long, value_name = "PERCENT", conflicts_with = "shape", value_parser = percent)]
    #[arg(allow_negative_numbers = true)]
    drop_to: Option<f64>,

    /// How long those come who count before the load drops; it does once each has its outcome
    #[arg(long, value_name = "TIME", conflicts_with = "duration", requires = "drop_to")]
    #[arg(value_parser = seconds, allow_negative_numbers = true)]
    after: Option<f64>,

    /// Length of the intervals of the series that a shape gives
    #[arg(long, value_name = "TIME", default_value = "10s", requires = "shape")]
    #[arg(value_parser = seconds, allow_negative_numbers = true)]
    interval: f64,

    /// Carter's server at the same loads too: regular, check, abort and srpt-purge of weir-lab sim dtoc
    #[arg(long)]
    beside: bool,

    /// Independent repetitions, for the 95 % intervals
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    seeds: u32,

    /// Equal seeds give equal results
    #[arg(long, default_value_t = 1)]
    seed: u64,

    /// Write JSON: one object, or {"rows":[…]} of several
    #[arg(long)]
    json: bool,
}

fn shape_help() -> String {
    format!(
        "Load over time instead of a constant one (1 is what the application can answer): {} (as \
         in weir-lab sim dtoc), {}",
        dtoc::DAYS.join(" or "),
        shape::SYNTAX
    )
}

/// A number of percent, with its sign or without.
fn percent(text: &str) -> Result<f64, Invalid> {
    text.parse().map(Percent::percent)
}

fn patience(text: &str) -> Result<f64, Invalid> {
    if text.trim() == "inf" { Ok(f64::INFINITY) } else { seconds(text) }
}

/// One line before it is computed.
enum Case {
    Gate(weir_sim::backend::Prepared),
    Carter(dtoc::Prepared),
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let cases = cases(arguments)?;
    let count = arguments.seeds as usize;
    let mut rows = Vec::with_capacity(cases.len());
    for (load_percent, case) in cases {
        let missing = || invalid_usage("give at least one repetition");
        rows.push(match case {
            Case::Gate(prepared) => {
                let results = prepared.repeat(count, arguments.seed).ok_or_else(missing)?;
                Row::gate(prepared.model(), load_percent, count, results)
            }
            Case::Carter(prepared) => {
                let tallies = replications::run(count, arguments.seed, |seed| prepared.run(seed));
                let results = dtoc::Results::new(prepared.model(), &tallies).ok_or_else(missing)?;
                Row::carter(prepared.model(), load_percent, count, results)
            }
        });
    }
    output::write(arguments.seed, arguments.json, arguments.applications.several(), &rows)
}

/// Every application with every load, every order and what stands beside it. All are checked before
/// the first runs.
fn cases(arguments: &Arguments) -> Result<Vec<(f64, Case)>, Failure> {
    let shapes = shapes(arguments)?;
    let applications = arguments.applications.all()?;
    let beside = if arguments.beside { BESIDE.as_slice() } else { &[] };
    let lines = arguments.order.len() + beside.len();
    if shapes.len().saturating_mul(lines).saturating_mul(applications.len()) > MOST_ROWS {
        return Err(invalid_usage(format!(
            "these are more than {MOST_ROWS} cases; give fewer at a time"
        )));
    }
    let one_worker = applications.iter().all(|application| application.workers == 1);
    if arguments.beside && (!one_worker || !arguments.patience.is_finite()) {
        return Err(invalid_usage(
            "Carter's server does one request at a time for clients with a patience; leave out \
             --beside, --workers or --patience inf",
        ));
    }
    let mut cases = Vec::new();
    for application in &applications {
        for (load_percent, shape) in &shapes {
            let model = model(arguments, application, shape.clone())?;
            let intervals = model.interval.map_or(0.0, |length| model.duration / length);
            if intervals * f64::from(arguments.seeds) > MOST_INTERVALS {
                return Err(invalid_usage(
                    "these are too many intervals to keep; give a longer --interval",
                ));
            }
            for order in &arguments.order {
                let gate = BackendConfig { order: *order, ..model.gate };
                let prepared = Model { gate, ..model.clone() }.prepare().map_err(invalid_usage)?;
                cases.push((*load_percent, Case::Gate(prepared)));
            }
            for strategy in beside {
                let prepared = carter(&model, *strategy).prepare().map_err(invalid_usage)?;
                cases.push((*load_percent, Case::Carter(prepared)));
            }
        }
    }
    Ok(cases)
}

/// The loads in %, each as a shape.
fn shapes(arguments: &Arguments) -> Result<Vec<(f64, Shape)>, Failure> {
    if let Some(text) = &arguments.shape {
        let shape =
            dtoc::day(text.trim()).map_or_else(|| Shape::parse(text), Ok).map_err(invalid_usage)?;
        return Ok(vec![(100.0 * shape.mean_load(), shape)]);
    }
    let one = |load: &f64| {
        let shape = Shape::constant(load / 100.0).map_err(|_| {
            invalid_usage(format!("the load is {load} %; give above 0, at most 100000000 %"))
        })?;
        Ok((*load, shape))
    };
    arguments.load.iter().map(one).collect()
}

fn model(arguments: &Arguments, application: &Application, shape: Shape) -> Result<Model, Failure> {
    let mut model = Model::new(shape, arguments.patience);
    application.put(&mut model);
    model.retries = arguments.retries;
    model.retry_refused = arguments.retry_refused;
    model.one_address = arguments.one_address;
    model.known = !arguments.unknown_kinds;
    model.gate.limit = arguments.limit;
    model.drop = arguments.drop_to.map(|load| LoadDrop { load: load / 100.0, watched: 30.0 });
    if arguments.shape.is_some() {
        model.warm_up = 0.0;
        model.duration = model.shape.cycle();
        model.interval = Some(arguments.interval);
    }
    model.warm_up = arguments.warm_up.unwrap_or(model.warm_up);
    model.duration = arguments.after.or(arguments.duration).unwrap_or(model.duration);
    Ok(model)
}

/// The paper's server with the same clients and the same window.
fn carter(model: &Model, strategy: Strategy) -> dtoc::Model {
    dtoc::Model {
        law: model.law.clone(),
        service_rate: model.service_rate,
        retries: model.retries,
        warm_up: model.warm_up,
        duration: model.duration,
        interval: model.interval,
        ..dtoc::Model::new(model.shape.clone(), model.patience, strategy)
    }
}

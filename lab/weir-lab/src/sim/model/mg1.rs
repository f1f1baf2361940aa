//! `weir-lab sim model mg1`: the M/G/1 queue. The formulas are `weir_sim::model`'s.

use serde::Serialize;
use weir_sim::model::mg1::{Mg1, Order};
use weir_workload::law::{self, Law};

use super::table::table;
use crate::failure::{Failure, invalid_usage};
use crate::print;

/// Sizes are times on a server of speed 1, so response times are in the unit of the sizes: divide
/// both by the rate of a link to have seconds.
#[derive(Debug, clap::Args)]
pub(in crate::sim) struct Arguments {
    /// Order in which jobs are served
    #[arg(long, value_enum)]
    policy: Policy,

    /// Law of sizes
    #[arg(long, value_name = "LAW", long_help = law::SYNTAX)]
    law: String,

    /// Offered load: arrival rate times mean size, from 0 to below 1
    #[arg(long, value_name = "LOAD", allow_negative_numbers = true)]
    load: f64,

    /// Also a job larger than this share of all, in %
    #[arg(long, value_name = "PERCENT", allow_negative_numbers = true)]
    percentile: Option<f64>,

    /// Also a job of this size
    #[arg(long, value_name = "SIZE", allow_negative_numbers = true)]
    size: Option<f64>,

    /// Write JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Policy {
    /// First come first served
    Fifo,
    /// Processor sharing
    #[value(alias = "fair")]
    Ps,
    /// Least remaining first
    Srpt,
    /// Least size first
    Psjf,
    /// Least served so far first
    Las,
}

impl From<Policy> for Order {
    fn from(policy: Policy) -> Order {
        match policy {
            Policy::Fifo => Order::Fifo,
            Policy::Ps => Order::Ps,
            Policy::Srpt => Order::Srpt,
            Policy::Psjf => Order::Psjf,
            Policy::Las => Order::Las,
        }
    }
}

#[derive(Serialize)]
struct Json {
    policy: String,
    law: String,
    load: f64,
    mean_size: f64,
    mean_response: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    mean_slowdown: Option<f64>,
    #[serde(flatten)]
    percentile: Option<AtPercentile>,
    #[serde(flatten)]
    size: Option<AtSize>,
}

#[derive(Serialize)]
struct AtPercentile {
    percentile: f64,
    size_at_percentile: f64,
    response_at_percentile: f64,
    slowdown_at_percentile: f64,
}

#[derive(Serialize)]
struct AtSize {
    size: f64,
    response_at_size: f64,
    slowdown_at_size: f64,
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let law = law::parse_exact(&arguments.law).map_err(invalid_usage)?;
    let order = Order::from(arguments.policy);
    let queue = Mg1::new(law.as_ref(), arguments.load).map_err(invalid_usage)?;
    let response = |size: f64| queue.response_of(order, size).map_err(invalid_usage);
    let percentile = match arguments.percentile {
        None => None,
        Some(percentile) => {
            let size = size_at(law.as_ref(), percentile)?;
            let response = response(size)?;
            Some(AtPercentile {
                percentile,
                size_at_percentile: size,
                response_at_percentile: response,
                slowdown_at_percentile: response / size,
            })
        }
    };
    let size = match arguments.size {
        None => None,
        Some(size) => {
            let response = response(size)?;
            Some(AtSize { size, response_at_size: response, slowdown_at_size: response / size })
        }
    };
    let mean_response = queue.mean_response(order).map_err(invalid_usage)?;
    let mean_slowdown = queue.mean_slowdown(order);
    if let Err(reason) = &mean_slowdown {
        eprintln!("weir-lab: no mean slowdown: {reason}");
    }
    let found = Json {
        policy: format!("{:?}", arguments.policy).to_lowercase(),
        law: law.to_string(),
        load: arguments.load,
        mean_size: queue.mean_size(),
        mean_response,
        mean_slowdown: mean_slowdown.ok(),
        percentile,
        size,
    };
    print::result(arguments.json, None, &found, || text(&found))
}

/// The size below which so many percent lie.
fn size_at(law: &dyn Law, percentile: f64) -> Result<f64, Failure> {
    let inside = (0.0..=100.0).contains(&percentile);
    let size = if inside { law.quantile(percentile / 100.0) } else { f64::NAN };
    if inside && size.is_finite() && size > 0.0 {
        return Ok(size);
    }
    Err(invalid_usage(format!(
        "the percentile is {percentile}, at which {law} has no finite size above 0; give 0 to 100, \
         without the ends if the law has none"
    )))
}

fn text(found: &Json) -> String {
    let at = found.percentile.as_ref();
    let of = found.size.as_ref();
    table(&[
        ("offered load", Some(found.load)),
        ("mean size", Some(found.mean_size)),
        ("mean response time", Some(found.mean_response)),
        ("mean slowdown", found.mean_slowdown),
        ("percentile", at.map(|at| at.percentile)),
        ("  its size", at.map(|at| at.size_at_percentile)),
        ("  its mean response time", at.map(|at| at.response_at_percentile)),
        ("  its mean slowdown", at.map(|at| at.slowdown_at_percentile)),
        ("size", of.map(|of| of.size)),
        ("  its mean response time", of.map(|of| of.response_at_size)),
        ("  its mean slowdown", of.map(|of| of.slowdown_at_size)),
    ])
}

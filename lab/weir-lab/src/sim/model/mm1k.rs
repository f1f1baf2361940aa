//! `weir-lab sim model mm1k`: the useful throughput of Carter & Cherkasova. The formulas are
//! `weir_sim::model`'s.

use serde::Serialize;
use weir_sim::model::mm1k::Mm1k;

use super::table::table;
use crate::failure::{Failure, invalid_usage};
use crate::print;

/// Throughputs are shares of what the server can do.
#[derive(Debug, clap::Args)]
pub(in crate::sim) struct Arguments {
    /// Most requests in the system, waiting and in service
    #[arg(long, value_name = "N")]
    k: u32,

    /// How long clients wait for the whole answer, in mean service times
    #[arg(long, value_name = "TIME", allow_negative_numbers = true)]
    timeout: f64,

    /// Offered load, in shares of what the server can do
    #[arg(long, value_name = "LOAD", allow_negative_numbers = true)]
    load: f64,

    /// Coefficient of variation of the service times, for the normal approximation only
    #[arg(long, value_name = "CV", default_value_t = 1.0, allow_negative_numbers = true)]
    cv: f64,

    /// Write JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Json {
    k: u32,
    timeout_service_times: f64,
    load: f64,
    useful_throughput: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    useful_throughput_by_gamma: Option<f64>,
    throughput: f64,
    rejected_share: f64,
    overload_limit: f64,
    cv: f64,
    overload_limit_normal: f64,
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let Arguments { k, timeout, load, cv, json } = *arguments;
    let queue = Mm1k::new(k, timeout, load).map_err(invalid_usage)?;
    let found = Json {
        k,
        timeout_service_times: timeout,
        load,
        useful_throughput: queue.useful_throughput(),
        useful_throughput_by_gamma: queue.useful_throughput_by_gamma(),
        throughput: queue.throughput(),
        rejected_share: queue.rejected(),
        overload_limit: queue.limit(),
        cv,
        overload_limit_normal: queue.normal_limit(cv).map_err(invalid_usage)?,
    };
    let text = || {
        table(&[
            ("offered load", Some(load)),
            ("useful throughput", Some(found.useful_throughput)),
            ("  by the incomplete gamma function", found.useful_throughput_by_gamma),
            ("throughput, useful or not", Some(found.throughput)),
            ("share rejected", Some(found.rejected_share)),
            ("useful far above a load of 1", Some(found.overload_limit)),
            ("  by the normal law, with this CV", Some(found.overload_limit_normal)),
            ("coefficient of variation", Some(cv)),
        ])
    };
    print::result(json, None, &found, text)
}

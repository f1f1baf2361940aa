//! `weir-lab sim model onoff`: a period of overload and then of low load. The formulas are
//! `weir_sim::model`'s.

use serde::Serialize;
use weir_sim::model::onoff::OnOff;
use weir_workload::law;

use super::table::table;
use crate::failure::{Failure, invalid_usage};
use crate::print;

/// The server is empty when the overload begins, and the low load lasts until it is empty again.
/// Means are over the jobs of a size that arrive during the overload. Sizes are times on a server
/// of speed 1.
#[derive(Debug, clap::Args)]
pub(in crate::sim) struct Arguments {
    /// Law of sizes
    #[arg(long, value_name = "LAW", long_help = law::SYNTAX)]
    law: String,

    /// Load during the overload, above 1, at most a million
    #[arg(long, value_name = "LOAD", allow_negative_numbers = true)]
    high_load: f64,

    /// Load after it, from 0 to below 1
    #[arg(long, value_name = "LOAD", default_value_t = 0.0, allow_negative_numbers = true)]
    low_load: f64,

    /// Length of the overload alone, in the unit of the sizes
    #[arg(long, value_name = "TIME", allow_negative_numbers = true)]
    period: f64,

    /// Size of the job
    #[arg(long, value_name = "SIZE", allow_negative_numbers = true)]
    size: f64,

    /// Write JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Json {
    law: String,
    high_load: f64,
    low_load: f64,
    period: f64,
    size: f64,
    fair: f64,
    srpt: f64,
    cutoff_size: f64,
    growth_rate: f64,
    drain_time: f64,
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let Arguments { high_load, low_load, period, size, .. } = *arguments;
    let law = law::parse_exact(&arguments.law).map_err(invalid_usage)?;
    let model = OnOff::new(law.as_ref(), high_load, low_load, period).map_err(invalid_usage)?;
    let found = Json {
        law: law.to_string(),
        high_load,
        low_load,
        period,
        size,
        fair: model.fair(size).map_err(invalid_usage)?,
        srpt: model.srpt(size).map_err(invalid_usage)?,
        cutoff_size: model.cutoff_size(),
        growth_rate: model.growth(),
        drain_time: model.drain_time(),
    };
    let text = || {
        table(&[
            ("size", Some(size)),
            ("mean response, fair sharing", Some(found.fair)),
            ("mean response, srpt", Some(found.srpt)),
            ("srpt serves sizes up to", Some(found.cutoff_size)),
            ("jobs gathered per time, fair", Some(found.growth_rate)),
            ("backlog gone after", Some(found.drain_time)),
        ])
    };
    print::result(arguments.json, None, &found, text)
}

//! `weir-lab trace make`: a workload from a law of sizes and a load shape, as plain CSV.

use std::path::PathBuf;

use weir_workload::arrivals::Offered;
use weir_workload::law;

use super::convert::csv;
use super::workload::Workload;
use crate::failure::{Failure, invalid_usage};
use crate::output_file::{Output, cannot_write};

/// `weir-lab trace make`.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// Law of sizes
    #[arg(long, value_name = "LAW", long_help = law::SYNTAX)]
    law: String,

    #[command(flatten)]
    workload: Workload,

    /// Equal seeds give equal workloads
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// Directories that the documents lie in, chosen by Zipf's law
    #[arg(long, value_name = "N", default_value_t = 0)]
    directories: u32,

    /// File to write; .gz and .zst at its end compress
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let law = law::parse(&arguments.law).map_err(invalid_usage)?;
    let workload = &arguments.workload;
    let capacity = workload.uplink.bits() as f64 / 8.0;
    let offered = Offered {
        load_is: workload.load_is.into(),
        directories: arguments.directories,
        seed: arguments.seed,
        ..Offered::new(law, workload.shape()?, workload.duration, capacity)
    };
    let requests = offered.arrivals().map_err(invalid_usage)?;
    let mut output = Output::create(&arguments.out)?;
    let mut work = 0.0;
    let counted = requests.inspect(|request| work += offered.work(request.size.unwrap_or(0)));
    let written =
        csv(counted, &mut output).map_err(|error| cannot_write(&arguments.out, &error))?;
    output.finish()?;
    let (out, kind) = (arguments.out.display(), offered.load_is);
    let load = work / (capacity * offered.seconds);
    eprintln!("weir-lab: {out}: {written} requests, mean load {load:.3} ({kind})");
    Ok(())
}

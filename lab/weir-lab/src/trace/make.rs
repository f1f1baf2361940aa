//! `weir-lab trace make`: a workload from a law of sizes and a load shape, as plain CSV.

use std::path::PathBuf;

use weir_units::BitRate;
use weir_workload::arrivals::Offered;
use weir_workload::law;
use weir_workload::shape::Shape;

use super::convert::csv;
use crate::failure::{Failure, invalid_usage};
use crate::output_file::{Output, cannot_write};
use crate::values::{LoadIs, link_rate, seconds};

/// `weir-lab trace make`.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// Law of sizes
    #[arg(long, value_name = "LAW", long_help = law::SYNTAX)]
    law: String,

    /// Load over time, such as w1, constant:load=0.8 or 25s@1.2,25s@0.2
    #[arg(long, value_name = "SHAPE", long_help = weir_workload::shape::SYNTAX)]
    shape: String,

    /// Rate of the link that a load of 1 fills, such as 10mbit
    #[arg(long, value_name = "RATE")]
    #[arg(value_parser = link_rate)]
    uplink: BitRate,

    /// How long it lasts
    #[arg(long, value_name = "TIME")]
    #[arg(value_parser = seconds)]
    duration: f64,

    /// Equal seeds give equal workloads
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// What load counts
    #[arg(long, value_enum, default_value = "wire")]
    load_is: LoadIs,

    /// Directories that the documents lie in, chosen by Zipf's law
    #[arg(long, value_name = "N", default_value_t = 0)]
    directories: u32,

    /// File to write; .gz and .zst at its end compress
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let law = law::parse(&arguments.law).map_err(invalid_usage)?;
    let shape = Shape::parse(&arguments.shape).map_err(invalid_usage)?;
    let capacity = arguments.uplink.bits() as f64 / 8.0;
    let offered = Offered {
        load_is: arguments.load_is.into(),
        directories: arguments.directories,
        seed: arguments.seed,
        ..Offered::new(law, shape, arguments.duration, capacity)
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

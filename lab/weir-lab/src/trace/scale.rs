//! `weir-lab trace scale`: a trace with its own interarrivals, scaled to the load of a shape, as
//! plain CSV.

use std::path::PathBuf;

use weir_workload::scale::{Fit, Scaling, Work, scale};
use weir_workload::{Request, Wire};

use super::convert::csv;
use super::input::Input;
use super::workload::Workload;
use crate::failure::{Failure, invalid_usage};
use crate::output_file::{Output, cannot_write};
use crate::values::{LoadIs, seconds};

/// `weir-lab trace scale`.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    input: Input,

    #[command(flatten)]
    workload: Workload,

    /// One factor for the whole trace instead of one for each period
    #[arg(long)]
    overall: bool,

    /// Longer gaps between two requests count as this long
    #[arg(long, value_name = "TIME", default_value = "60s")]
    #[arg(value_parser = seconds)]
    longest_gap: f64,

    /// Begin at a place that follows from this seed instead of at the beginning
    #[arg(long, value_name = "N")]
    seed: Option<u64>,

    /// Begin again when the trace ends
    #[arg(long)]
    repeat: bool,

    /// File to write; .gz and .zst at its end compress
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let workload = &arguments.workload;
    let shape = workload.shape()?;
    let mut reading = arguments.input.open()?;
    let trace: Vec<Request> = reading.by_ref().collect();
    reading.end()?;
    let scaling = Scaling {
        work: match workload.load_is {
            LoadIs::Wire => Work::Wire(Wire::default()),
            LoadIs::File => Work::File,
        },
        fit: if arguments.overall { Fit::Overall } else { Fit::Period },
        longest_gap: arguments.longest_gap,
        repeat: arguments.repeat,
        start: arguments.seed,
        ..Scaling::new(shape, workload.duration, workload.uplink.bits() as f64)
    };
    let scaled = scale(&trace, &scaling).map_err(invalid_usage)?;
    let mut output = Output::create(&arguments.out)?;
    let requests = scaled.requests.into_iter();
    let written =
        csv(requests, &mut output).map_err(|error| cannot_write(&arguments.out, &error))?;
    output.finish()?;
    let out = arguments.out.display();
    eprintln!("weir-lab: {out}: {written} of {} requests", trace.len());
    for offered in &scaled.periods {
        let span = offered.span;
        eprintln!(
            "weir-lab: {:.1} s to {:.1} s: {} requests, load {:.3} (asked {})",
            span.start, span.end, offered.requests, offered.load, span.load
        );
    }
    if scaled.gaps_cut > 0 {
        let longest = arguments.longest_gap;
        eprintln!("weir-lab: {} gaps were cut to {longest} s", scaled.gaps_cut);
    }
    if scaled.unknown_sizes > 0 {
        let number = scaled.unknown_sizes;
        eprintln!("weir-lab: {number} requests of unknown size counted as empty");
    }
    if let Some(end) = scaled.ended {
        eprintln!(
            "weir-lab: the trace ended at {end:.1} s of {} s (--repeat begins it again)",
            scaling.duration
        );
    }
    Ok(())
}

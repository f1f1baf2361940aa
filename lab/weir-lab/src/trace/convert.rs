//! `weir-lab trace convert`: a trace in another format. `make` and `scale` write plain CSV with it.

use std::io;
use std::path::PathBuf;

use weir_workload::Request;
use weir_workload::read::{CsvWriter, wc98};

use super::input::Input;
use crate::failure::Failure;
use crate::output_file::{Output, cannot_write};

/// `weir-lab trace convert`.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    input: Input,

    /// Format to write
    #[arg(long, value_enum)]
    to: To,

    /// File to write; .gz and .zst at its end compress
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum To {
    /// time,client,path,size,class
    Csv,
    /// World Cup 98: whole seconds, objects without names
    Wc98,
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let mut reading = arguments.input.open()?;
    let mut output = Output::create(&arguments.out)?;
    let written = match arguments.to {
        To::Csv => csv(reading.by_ref(), &mut output),
        To::Wc98 => {
            let first = reading.next();
            let epoch = reading.base().filter(|base| (0.0..=f64::from(u32::MAX)).contains(base));
            let requests = first.into_iter().chain(reading.by_ref());
            wc98::write(requests, epoch.unwrap_or(0.0) as u32, &mut output)
        }
    };
    let written = written.map_err(|error| cannot_write(&arguments.out, &error))?;
    reading.end()?;
    output.finish()?;
    eprintln!("weir-lab: {}: {written} requests", arguments.out.display());
    Ok(())
}

/// Writes requests as plain CSV and counts them.
pub(super) fn csv(requests: impl Iterator<Item = Request>, output: &mut Output) -> io::Result<u64> {
    let mut csv = CsvWriter::new(output)?;
    let mut written = 0;
    for request in requests {
        csv.write(&request)?;
        written += 1;
    }
    csv.finish()?;
    Ok(written)
}

//! `weir-lab trace`: reads, inspects, converts and makes workloads, one file a command. Called by
//! `main`.

mod convert;
mod files;
pub(crate) mod input;
mod make;
mod scale;
mod stats;
mod workload;

use clap::Subcommand;

use crate::failure::Failure;

/// Formats are found by content: Common and Combined Log Format, World Cup 98 binary, plain CSV
/// (time,client,path,size), EDGAR, CRAN and NASA tables; gzip and zstd too.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Show sizes, clients, peaks and offered load of a trace
    Stats(stats::Arguments),
    /// Write a trace in another format
    Convert(convert::Arguments),
    /// Make a workload from a law of sizes and a load shape
    Make(make::Arguments),
    /// Scale a trace's interarrivals to the load of a shape
    Scale(scale::Arguments),
    /// Write a document root that a trace can be replayed against
    Files(files::Arguments),
}

pub(crate) fn run(arguments: Arguments) -> Result<(), Failure> {
    match arguments.command {
        Command::Stats(arguments) => stats::run(&arguments),
        Command::Convert(arguments) => convert::run(&arguments),
        Command::Make(arguments) => make::run(&arguments),
        Command::Scale(arguments) => scale::run(&arguments),
        Command::Files(arguments) => files::run(&arguments),
    }
}

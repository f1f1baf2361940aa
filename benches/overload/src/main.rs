//! `overload`: response times of weir and nginx when their uplink is overloaded
//! for a while, measured by an open-loop client and set beside the ideal server
//! on the same trace. See benches/README.md.

mod bars;
mod client;
mod command;
mod connection;
mod docroot;
mod figures;
mod ideal;
mod interrupt;
mod law;
mod link;
mod machine;
mod matrix;
mod network;
mod options;
mod report;
mod run;
mod system;
mod table;
mod timer;
mod trace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use options::{RunOptions, TableOptions, TraceOptions};

/// Errors are sentences: what was wrong, where, and what to do about it.
type Result<T> = std::result::Result<T, String>;

#[derive(Parser)]
#[command(version, about)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run one cell; print a JSON line on stdout and a summary on stderr
    Run(RunOptions),
    /// Run the whole matrix and print a Markdown table with the bars
    Table(TableOptions),
    /// Print what the ideal servers would do with the trace
    Ideal(TraceOptions),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let done = match cli.command {
        Command::Run(options) => interrupt::install().and_then(|()| run::run(&options)),
        Command::Table(options) => interrupt::install().and_then(|()| table::table(&options)),
        Command::Ideal(options) => report::print_ideal(&options),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("overload: {error}");
            ExitCode::FAILURE
        }
    }
}

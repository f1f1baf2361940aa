//! `weir-lab`: load, traces, simulation and experiments that show what a server does under
//! overload. This file reads the command line and calls the command.

mod blame;
mod failure;
mod load;
mod opener;
mod output_file;
mod print;
mod run;
mod signals;
mod sim;
mod trace;
mod values;
mod words;

use std::io::Write as _;
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

/// Load, traces, simulation and experiments: what a server does under overload.
#[derive(Debug, Parser)]
#[command(version, about)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Send requests in an open loop, as impatient users would, and show what they experienced
    Load(Box<load::Arguments>),
    /// Read, inspect, convert and make workloads
    Trace(Box<trace::Arguments>),
    /// Try policies in virtual time, on your own access log too; closed forms
    Sim(Box<sim::Arguments>),
    /// Tell where a running server of any make blocks: system calls and files, event loops, burstiness
    Blame(blame::Arguments),
    /// Open files for Apache, so that its processes do not wait for the disk
    Opener(opener::Arguments),
    /// Write man pages and shell completions, for packages
    #[command(hide = true)]
    Documents(weir_manual::Arguments),
    #[command(flatten)]
    Experiments(run::Command),
}

fn main() -> ExitCode {
    let done = match Arguments::parse().command {
        Command::Load(arguments) => load::run(*arguments),
        Command::Trace(arguments) => trace::run(*arguments),
        Command::Sim(arguments) => sim::run(*arguments),
        Command::Blame(arguments) => blame::run(&arguments),
        Command::Opener(arguments) => opener::run(arguments),
        Command::Documents(arguments) => {
            weir_manual::write(&Arguments::command(), &[("weir", 1)], &arguments.directory)
                .map_err(failure::failed)
        }
        Command::Experiments(command) => run::run(command),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            // Nobody may be left to be told.
            let _ = writeln!(std::io::stderr(), "weir-lab: {}", failure.message);
            ExitCode::from(failure.code)
        }
    }
}

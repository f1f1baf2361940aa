//! `weir-lab sim`: servers in virtual time and closed forms, one file a command. Called by `main`.

mod backend;
mod dtoc;
mod inversion;
mod loops;
mod model;
mod offered;
mod promise;
mod queue;
mod replay;
mod round_trip;
mod transient;

use clap::Subcommand;

use crate::failure::Failure;

/// The policies are the server's own code, and equal seeds give equal figures.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// One server under a policy: response times and slowdowns of a law of sizes or of a trace
    Queue(queue::Arguments),
    /// One server under a load that comes and goes, such as Schroeder's W1 to W9
    Transient(transient::Arguments),
    /// A server with impatient clients: the work that is lost on abandoned requests
    Dtoc(dtoc::Arguments),
    /// An overloaded application behind the gate of a backend
    Backend(backend::Arguments),
    /// Closed forms of response time, slowdown and useful throughput
    #[command(subcommand)]
    Model(model::Command),
    /// What an access log would have been like on an uplink, under each policy
    Replay(replay::Arguments),
    /// Whether any response ends later than under fair sharing, over workloads, round trips and seeds
    Promise(promise::Arguments),
    /// How far clients in closed loops delay others, beside their fair share
    Loops(loops::Arguments),
    /// Service inversion of a file of sizes and latencies
    Inversion(inversion::Arguments),
}

pub(crate) fn run(arguments: Arguments) -> Result<(), Failure> {
    match arguments.command {
        Command::Queue(arguments) => queue::run(&arguments),
        Command::Transient(arguments) => transient::run(&arguments),
        Command::Dtoc(arguments) => dtoc::run(&arguments),
        Command::Backend(arguments) => backend::run(&arguments),
        Command::Model(command) => model::run(&command),
        Command::Replay(arguments) => replay::run(&arguments),
        Command::Promise(arguments) => promise::run(&arguments),
        Command::Loops(arguments) => loops::run(&arguments),
        Command::Inversion(arguments) => inversion::run(&arguments),
    }
}

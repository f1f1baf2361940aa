//! `weir-costs`: what serving files from memory costs weir, nginx, lighttpd and h2o: processor time, memory
//! per connection, TLS. See lab/costs/README.md.
//!
//! From the ground up, each module uses those before it only: `system`, `network`, `options`, `table`;
//! `files`; `machine`; `outcome`, `client`, `wrk`, `syscalls`; `server`; `turns` and `compare`; `measure`;
//! the tables and the commands. Cores, addresses and document roots are weir-stand's.

mod client;
mod compare;
mod connections;
mod cpu;
mod cpu_table;
mod files;
mod machine;
mod measure;
mod network;
mod options;
mod outcome;
mod results;
mod server;
mod syscalls;
mod system;
mod table;
mod tls;
mod turns;
mod wrk;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use weir_peers::interrupt;

#[derive(Parser)]
#[command(name = "weir-costs", version, about)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Make a set of files shaped like that of SPECweb99
    Set(options::SetOptions),
    /// Processor time per request, from memory
    Cpu(options::CpuOptions),
    /// Memory per idle connection, and processor time with many of them
    Connections(options::ConnectionsOptions),
    /// TLS: processor time, handshakes, response times beside them, memory of idle connections
    Tls(options::TlsOptions),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let done = interrupt::install().and_then(|()| match cli.command {
        Command::Set(options) => files::set(&options),
        Command::Cpu(options) => cpu::run(&options),
        Command::Connections(options) => connections::run(&options),
        Command::Tls(options) => tls::run(&options),
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("weir-costs: {error}");
            ExitCode::FAILURE
        }
    }
}

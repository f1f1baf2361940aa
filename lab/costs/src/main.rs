//! `weir-costs`: what serving files from memory costs weir, nginx, lighttpd and h2o: processor time, memory
//! per connection, TLS, compression, access logs, slow clients. See lab/costs/README.md.
//!
//! From the ground up, each module uses those before it only: `system`, `variant`, `contender`, `network`,
//! `options`, `table`; `script`, `files`; `machine`; `outcome`, `client`, `beside`, `wrk`, `syscalls`;
//! `server`; `turns`, `compare` and `bars`; `results`, `measure`; the tables and the commands. Cores,
//! addresses and document roots are weir-stand's.

mod bars;
mod beside;
mod client;
mod compare;
mod compression;
mod connections;
mod contender;
mod cpu;
mod cpu_table;
mod files;
mod logs;
mod machine;
mod measure;
mod network;
mod options;
mod outcome;
mod results;
mod script;
mod server;
mod slow_clients;
mod syscalls;
mod system;
mod table;
mod tls;
mod turns;
mod variant;
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
    /// Compressed text: processor time, and response times beside first requests
    Compression(options::CompressionOptions),
    /// Access logs: processor time at full rate, and lines that are lost
    Logs(options::LogsOptions),
    /// Response times beside thousands of slow clients, and memory of each
    SlowClients(options::SlowClientsOptions),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let done = interrupt::install().and_then(|()| match cli.command {
        Command::Set(options) => files::set(&options),
        Command::Cpu(options) => cpu::run(&options),
        Command::Connections(options) => connections::run(&options),
        Command::Tls(options) => tls::run(&options),
        Command::Compression(options) => compression::run(&options),
        Command::Logs(options) => logs::run(&options),
        Command::SlowClients(options) => slow_clients::run(&options),
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("weir-costs: {error}");
            ExitCode::FAILURE
        }
    }
}

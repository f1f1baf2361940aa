//! `files`: what serving files costs weir, nginx, lighttpd and h2o — processor
//! time from memory, memory per connection, and response times from a slow disk
//! behind a small cache. See lab/costs/README.md.

mod arrivals;
mod cgroup;
mod client;
mod configuration;
mod connection;
mod connections;
mod cpu;
mod cpu_table;
mod directory;
mod disk;
mod disk_phases;
mod disk_run;
mod disk_table;
mod interrupt;
mod law;
mod machine;
mod measure;
mod options;
mod outcome;
mod peer;
mod process;
mod response;
mod set;
mod statistics;
mod syscalls;
mod system;
mod tool;
mod wrk;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Errors are sentences: what was wrong, where, and what to do about it.
type Result<T> = std::result::Result<T, String>;

#[derive(Parser)]
#[command(version, about)]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Make a set of files shaped like that of SPECweb99
    Set(options::SetOptions),
    /// Processor time per request, from memory
    Cpu(options::CpuOptions),
    /// Memory per idle connection, and processor time with many of them
    Connections(options::ConnectionsOptions),
    /// Capacity and response times from a slow disk behind a small cache
    Disk(options::DiskOptions),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let done = interrupt::install().and_then(|()| match cli.task {
        Task::Set(options) => set::command(&options),
        Task::Cpu(options) => cpu::run(&options),
        Task::Connections(options) => connections::run(&options),
        Task::Disk(options) => disk_run::run(&options),
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("files: {error}");
            ExitCode::FAILURE
        }
    }
}

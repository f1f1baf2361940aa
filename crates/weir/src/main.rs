//! `weir`: a web server that stays fast when it is overloaded. This file reads the command line and
//! calls the command; it does not know how anything works.

mod lab;
mod load;
mod serve;
mod sim;
mod trace;

use std::io::{self, IsTerminal};
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use weir_server::messages;

/// A web server that stays fast when it is overloaded.
#[derive(Debug, Parser)]
#[command(version, about, after_help = "Without a command: weir serve")]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve a directory, or the small built-in site
    Serve(Box<serve::Arguments>),
    /// Send requests open loop, as impatient users would, and say what they saw
    Load(Box<load::Arguments>),
    /// Repeat the papers' experiments
    Lab(Box<lab::Arguments>),
    /// Try policies in virtual time, on your own access log too; closed forms
    Sim(Box<sim::Arguments>),
    /// Read, inspect, convert and make workloads
    Trace(Box<trace::Arguments>),
}

fn main() -> ExitCode {
    let command = match Arguments::try_parse() {
        Ok(arguments) => arguments.command,
        Err(error) => return refused(&error),
    };
    let done = match command {
        Some(Command::Serve(arguments)) => serve::run(*arguments),
        Some(Command::Load(arguments)) => load::run(*arguments),
        Some(Command::Lab(arguments)) => lab::run(*arguments),
        Some(Command::Sim(arguments)) => sim::run(*arguments),
        Some(Command::Trace(arguments)) => trace::run(*arguments),
        None => serve::run(serve::Arguments::default()),
    };
    let code = match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            messages::say(format_args!("weir: {}", failure.message));
            ExitCode::from(failure.code)
        }
    };
    messages::finish();
    code
}

/// Answers arguments that make no sense, or that ask for help, as clap would: but it waits for no
/// standard error that is stuck.
fn refused(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() {
        error.exit();
    }
    let text = error.render();
    let text = match io::stderr().is_terminal() {
        true => text.ansi().to_string(),
        false => text.to_string(),
    };
    messages::say(text.trim_end());
    messages::finish();
    ExitCode::from(2)
}

/// Why a command failed, and the status a script sees: 1 for what happened, 2 for what was asked.
#[derive(Debug)]
struct Failure {
    message: String,
    code: u8,
}

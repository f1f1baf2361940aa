//! `weir`: a web server that stays fast when it is overloaded. This file reads the command line and
//! calls the command.

mod failure;
mod message_lines;
mod reload;
mod serve;
mod uplink;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser, Subcommand};
use tracing::Level;
use weir_server::messages;

use self::failure::Failure;

/// A web server that stays fast when it is overloaded.
#[derive(Debug, Parser)]
#[command(
    version = concat!(env!("CARGO_PKG_VERSION"), " (", env!("WEIR_COMMIT"), ")"),
    about,
    after_help = "Without a command: weir serve; so weir DIR serves DIR"
)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve a directory, or the small built-in site
    Serve(Box<serve::Arguments>),
    /// Have the server that runs read its configuration anew, whole or not at all
    Reload(reload::Arguments),
    /// Make, show and remove the kernel's priority bands of a device
    Uplink(uplink::Arguments),
    /// Write man pages and shell completions, for packages
    #[command(hide = true)]
    Documents(weir_manual::Arguments),
}

fn main() -> ExitCode {
    let arguments = with_command(std::env::args_os());
    let command = match Arguments::try_parse_from(arguments) {
        Ok(arguments) => arguments.command,
        Err(error) => return refused(&error),
    };
    let done = match command {
        Some(Command::Serve(arguments)) => serve::run(*arguments),
        Some(Command::Reload(arguments)) => reload::run(arguments),
        Some(Command::Uplink(arguments)) => uplink::run(arguments),
        Some(Command::Documents(arguments)) => {
            let see_also = [("weir.toml", 5)];
            weir_manual::write(&Arguments::command(), &see_also, &arguments.directory)
                .map_err(|error| Failure { message: error.to_string(), code: 1 })
        }
        None => serve::run(serve::Arguments::default()),
    };
    let code = match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            messages::tell(Level::ERROR, failure.message);
            ExitCode::from(failure.code)
        }
    };
    messages::finish();
    code
}

/// Prints help, or what is wrong with the arguments, as clap would, but without waiting for a
/// standard error that nobody reads.
fn refused(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() {
        error.exit();
    }
    messages::say(error.render().to_string().trim_end());
    if error.kind() == ErrorKind::InvalidSubcommand {
        messages::say("\nTo serve a directory, name one that is there.");
    }
    messages::finish();
    ExitCode::from(2)
}

/// The arguments with `serve` in its place if they name no command but its flags, or a directory. What
/// is neither a command nor a directory stays as it is, since it is probably a slip.
fn with_command(arguments: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = arguments.collect();
    let Some(first) = arguments.get(1) else { return arguments };
    let name = first.to_string_lossy();
    let root = Arguments::command();
    let is_command = name == "help" || root.find_subcommand(name.as_ref()).is_some();
    let is_of_all = ["-h", "--help", "-V", "--version"].contains(&name.as_ref());
    let is_of_serve = name.starts_with('-') && !is_of_all;
    let is_path = name.contains('/') || Path::new(first).is_dir();
    if is_of_serve || !is_command && is_path {
        arguments.insert(1, "serve".into());
    }
    arguments
}

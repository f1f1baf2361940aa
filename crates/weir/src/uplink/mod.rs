//! `weir uplink`: the kernel's priority bands of a device, which `weir serve --uplink kernel` sends its
//! responses through. This file reads the command line and calls the command; `main` calls it.
//!
//! `plan` and `nft` are the commands that make the bands, `takedown` those that remove them, `step` one, `tool` runs it; `present`
//! asks what a device has, `queues` reads the answer; `state` and `before` remember what was there.

mod before;
mod carry_out;
mod device;
mod install;
mod mechanism;
mod nft;
mod output;
mod plan;
mod present;
mod queues;
mod remove;
mod show;
mod state;
mod step;
mod table;
mod takedown;
mod tool;

use crate::failure::Failure;

/// What to do with the bands.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Give a device the bands and the rate of the uplink (needs root)
    Install(install::Arguments),
    /// Show the bands of a device, or of all devices, with what went through them
    Show(show::Arguments),
    /// Take the bands away and bring back what was there before (needs root)
    Remove(remove::Arguments),
}

pub(crate) fn run(arguments: Arguments) -> Result<(), Failure> {
    match arguments.command {
        Command::Install(arguments) => install::run(&arguments),
        Command::Show(arguments) => show::run(&arguments),
        Command::Remove(arguments) => remove::run(&arguments),
    }
}

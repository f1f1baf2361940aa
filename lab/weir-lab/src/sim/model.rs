//! `weir-lab sim model`: closed forms, one file each. Called by `weir-lab sim`.

mod mg1;
mod mm1k;
mod onoff;
mod table;

use crate::failure::Failure;

/// `weir-lab sim model`.
#[derive(Debug, clap::Subcommand)]
pub(super) enum Command {
    /// One server, Poisson arrivals, sizes of any law: mean response time and slowdown of a policy
    Mg1(mg1::Arguments),
    /// First come first served with room for K and clients that give up: the useful throughput
    Mm1k(mm1k::Arguments),
    /// A period of overload and then of low load: response time by size, fair sharing and SRPT
    Onoff(onoff::Arguments),
}

pub(super) fn run(command: &Command) -> Result<(), Failure> {
    match command {
        Command::Mg1(arguments) => mg1::run(arguments),
        Command::Mm1k(arguments) => mm1k::run(arguments),
        Command::Onoff(arguments) => onoff::run(arguments),
    }
}

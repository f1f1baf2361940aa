//! `weir-lab sim model`: closed forms. It calls the command and knows no formula.

mod mg1;
mod mm1k;
mod onoff;

use super::output;
use crate::failure::{Failure, failed};

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

/// Lines of a name and a value on standard output; those without a value are left out.
fn table(rows: &[(&str, Option<f64>)]) -> Result<(), Failure> {
    let shown = rows.iter().filter_map(|(name, value)| value.map(|value| (name, value)));
    let text: String =
        shown.map(|(name, value)| format!("{name:<36}{}\n", figure(value))).collect();
    std::io::Write::write_all(&mut std::io::stdout().lock(), text.as_bytes())
        .map_err(|error| failed(format!("standard output: {error}")))
}

/// A number with six digits that count.
fn figure(value: f64) -> String {
    if value == 0.0 {
        return "0".into();
    }
    match value.abs().log10().floor() {
        places @ -5.0..=8.0 => format!("{value:.*}", (5.0 - places).max(0.0) as usize),
        _ => format!("{value:.5e}"),
    }
}

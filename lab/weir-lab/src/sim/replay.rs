//! `weir-lab sim replay`: what would have happened on an access log under each policy, as text,
//! JSON or a page.

mod clock;
mod compare;
mod demand;
mod figures;
mod page;
mod plots;
mod shares;
mod text;
mod verdict;

use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use weir_sched::{BitRate, PolicyKind, policy};
use weir_sim::uplink::Client;
use weir_units::Share;
use weir_workload::Wire;

use super::round_trip;
use crate::failure::{Failure, invalid_usage};
use crate::output_file::{Output, cannot_write};
use crate::print;
use crate::trace::input::Input;
use crate::values::link_rate;

/// The policies that are compared if none is named: the server's default first.
const USUAL: &str = "protective,fsp,srpt,fifo";

/// `weir-lab sim replay`.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    input: Input,

    /// Rate of the uplink, such as 100mbit
    #[arg(long, value_name = "RATE")]
    #[arg(value_parser = link_rate)]
    uplink: BitRate,

    /// Share of the uplink that is used, under fair sharing too
    #[arg(long, value_name = "SHARE", default_value = "0.99")]
    #[arg(value_parser = pace)]
    uplink_pace: Share,

    /// Policies to compare with fair sharing; the first is the one that the verdict is about
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = USUAL)]
    policy: Vec<PolicyKind>,

    /// Traffic multiplied by this factor: divides the gaps between requests
    #[arg(long, value_name = "FACTOR", default_value = "1", value_parser = factor)]
    scale_load: f64,

    /// Round trip between server and clients, such as 50ms: through the server's gate, which takes
    /// longer to compute
    #[arg(long, value_name = "TIME")]
    #[arg(value_parser = round_trip::parse)]
    round_trip: Option<Duration>,

    /// What a client's own line carries, such as 20mbit; through the gate too
    #[arg(long, value_name = "RATE")]
    #[arg(value_parser = link_rate)]
    client_rate: Option<BitRate>,

    /// Requests that share a connection, for the wire bytes
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    requests_per_connection: u32,

    /// Write a page with plots to this file
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,

    /// Write JSON
    #[arg(long)]
    json: bool,
}

/// From half of the uplink to all of it, as `weir serve` takes it.
fn pace(text: &str) -> Result<Share, weir_units::Invalid> {
    Share::parse_within(text, 0.5..=1.0)
}

/// How many times the traffic.
fn factor(text: &str) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(factor) if (1e-3..=1e3).contains(&factor) => Ok(factor),
        _ => Err(format!("\"{text}\" is not a factor from 0.001 to 1000; write such as 1.5")),
    }
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let rate = arguments.uplink;
    let clients = clients(arguments);
    let mut policies = Vec::new();
    for policy in &arguments.policy {
        // Without paths the policy is what all are compared with, but for grants.
        let compared_with = *policy == policy::FAIR && clients.is_none();
        if !compared_with && !policies.contains(policy) {
            policies.push(*policy);
        }
    }
    if policies.is_empty() {
        return Err(invalid_usage(
            "--policy names no policy but fair, with which all are compared",
        ));
    }
    // A page that cannot be written is said before the work, not after it.
    let page = arguments.html.as_deref().map(Output::create).transpose()?;
    let wire =
        Wire { requests_per_connection: arguments.requests_per_connection, ..Wire::default() };
    let demand = demand::read(&arguments.input, &wire, arguments.scale_load)?;
    let uplink = compare::Uplink { rate, pace: arguments.uplink_pace.fraction(), clients };
    let compared = compare::compare(&demand, &uplink, &policies)?;
    if let (Some(mut page), Some(path)) = (page, &arguments.html) {
        let text = page::page(&compared);
        page.write_all(text.as_bytes()).map_err(|error| cannot_write(path, &error))?;
        page.finish()?;
    }
    if arguments.json {
        return print::json(demand.spread, &compared.figures);
    }
    print::print(&text::text(&compared))
}

/// The clients' own limits, if any were given.
fn clients(arguments: &Arguments) -> Option<Client> {
    let (round_trip, rate) = (arguments.round_trip, arguments.client_rate);
    let limited = round_trip.is_some() || rate.is_some();
    limited.then(|| Client {
        round_trip: round_trip.unwrap_or_default(),
        rate,
        ..Client::default()
    })
}

//! `weir-lab sim promise`: whether any response ends later than under fair sharing, and what that
//! costs the mean, over workloads, uplinks, round trips and seeds.

mod cell;
mod figures;
mod round_trips;

use weir_sched::{BitRate, PolicyKind, policy};
use weir_sim::replications;
use weir_workload::arrivals::Offered;
use weir_workload::law;

use super::offered::offered;
use crate::failure::{Failure, failed};
use crate::print;
use crate::values::{link_rate, seconds};
use cell::{Cell, Scenario};
use figures::{Figures, Kept};
use round_trips::RoundTrip;

/// Plays the server's own gate in virtual time and holds each response against exact processor
/// sharing in which each client takes at most what its own window carries.
///
/// Equal seeds give the requests of `weir-lab trace make` with the same law, shape, uplink and duration.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// Load over time: W1 to W9 of Schroeder & Harchol-Balter, Table 1, or any shapes
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = WORKLOADS)]
    workload: Vec<String>,

    /// Law of sizes in bytes
    #[arg(long, value_name = "LAW", long_help = law::SYNTAX, default_value = "worldcup")]
    law: String,

    /// Rates of the uplink
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "10mbit")]
    #[arg(value_parser = link_rate)]
    uplink: Vec<BitRate>,

    /// Round trips of the clients, such as 50ms, or "mixed": 1 to 250 ms, all beside each other
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = ROUND_TRIPS)]
    round_trip: Vec<RoundTrip>,

    /// Policies that promise; srpt and fsp are played in any case
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "protective,fsp")]
    policy: Vec<PolicyKind>,

    /// How long requests arrive [default: whole cycles of the workload, 150 s or more]
    #[arg(long, value_name = "TIME")]
    #[arg(value_parser = seconds)]
    duration: Option<f64>,

    /// How many seeds, from 1 on
    #[arg(long, value_name = "N", default_value_t = 5)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=1000))]
    seeds: u64,

    /// Write JSON
    #[arg(long)]
    json: bool,
}

const WORKLOADS: &str = "w1,w2,w3,w4,w5,w6,w7,w8,w9";
const ROUND_TRIPS: &str = "0,1ms,5ms,20ms,50ms,100ms,250ms,mixed";

pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let mut policies = Vec::new();
    for policy in arguments.policy.iter().chain(&[policy::FSP, policy::SRPT]) {
        if !policies.contains(policy) {
            policies.push(*policy);
        }
    }
    let cells = cells(arguments)?;
    let played = replications::each(cells.len(), |index| Cell::play(&cells[index], &policies));
    let played: Result<Vec<Cell>, _> = played.into_iter().collect();
    let cells = played.map_err(|error| failed(error.to_string()))?;
    let kept = Kept::of(&cells, &arguments.policy);
    if arguments.json {
        return print::json(None, &Figures { kept, cells });
    }
    print::print(&figures::text(&kept, &cells))
}

fn cells(arguments: &Arguments) -> Result<Vec<Scenario>, Failure> {
    let mut cells = Vec::new();
    for &rate in &arguments.uplink {
        for &round_trip in &arguments.round_trip {
            for workload in &arguments.workload {
                let offered = offered(&arguments.law, workload, arguments.duration, rate)?;
                for seed in 1..=arguments.seeds {
                    let offered = Offered { seed, ..offered.clone() };
                    let workload = workload.to_lowercase();
                    cells.push(Scenario { workload, rate, round_trip, seed, offered });
                }
            }
        }
    }
    Ok(cells)
}

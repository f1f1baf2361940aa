//! `weir-lab sim loops`: how far clients in closed loops delay others, on each uplink, over each
//! round trip, under each policy.

mod case;
mod crowd;
mod figures;
mod row;

use std::time::Duration;

use weir_sched::{BitRate, PolicyKind};
use weir_sim::replications;

use super::offered::offered;
use super::round_trip;
use crate::failure::{Failure, failed};
use crate::print;
use crate::values::{link_rate, seconds};
use case::CASES;
use crowd::Crowd;
use figures::Figures;
use row::{Row, Scenario};

/// A download beside clients who ask the next response as soon as they have the last, and a
/// workload half of which is asked so.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Who shares with k others that always have a response each takes k+1 times \
    as long as alone. Nobody should take much longer, however the others ask: in small ranges, on \
    new connections, with requests ahead, or by leaving. \"kept\" is a ratio of at most 1.1 (k+1), \
    and beside heads of 1.3 (k+1). A download that takes four times as long as that is not waited \
    for and has no time.\n\nThen a workload of which every other request is asked in closed loops \
    from 20 addresses: what those who ask once gain or lose by the gate's following a client from \
    one response to the next; \"kept\" is at most 1.05 times the mean if it followed nobody."
)]
pub(super) struct Arguments {
    /// Rates of the uplink
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "2mbit")]
    #[arg(value_parser = link_rate)]
    uplink: Vec<BitRate>,

    /// Round trips of all clients, such as 50ms
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "0")]
    #[arg(value_parser = round_trip::parse)]
    round_trip: Vec<Duration>,

    /// Policies
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    #[arg(default_value = "protective,fsp,fair,srpt")]
    policy: Vec<PolicyKind>,

    /// How many seeds of the workload with loops, from 1 on; 0 leaves it out
    #[arg(long, value_name = "N", default_value_t = 5)]
    #[arg(value_parser = clap::value_parser!(u64).range(0..=1000))]
    seeds: u64,

    /// Load over time of the workload with loops
    #[arg(long, value_name = "SHAPE", default_value = "w1")]
    workload: String,

    /// Law of its sizes in bytes
    #[arg(long, value_name = "LAW", long_help = weir_workload::law::SYNTAX)]
    #[arg(default_value = "worldcup")]
    law: String,

    /// Rate of its uplink
    #[arg(long, value_name = "RATE", default_value = "10mbit")]
    #[arg(value_parser = link_rate)]
    workload_uplink: BitRate,

    /// How long its requests arrive [default: whole cycles of the workload, 150 s or more]
    #[arg(long, value_name = "TIME")]
    #[arg(value_parser = seconds)]
    duration: Option<f64>,

    /// Write JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let scenarios = scenarios(arguments);
    let workload_rate = arguments.workload_uplink;
    let offered = offered(&arguments.law, &arguments.workload, arguments.duration, workload_rate)?;
    let rows = replications::each(scenarios.len(), |index| Row::play(&scenarios[index]));
    let crowds = replications::each(arguments.seeds as usize, |index| {
        Crowd::play(workload_rate, &offered, index as u64 + 1)
    });
    let invalid = |error: weir_sim::uplink::Invalid| failed(error.to_string());
    let crowds: Vec<Crowd> = crowds.into_iter().collect::<Result<_, _>>().map_err(invalid)?;
    let figures = Figures {
        rows: rows.into_iter().collect::<Result<_, _>>().map_err(invalid)?,
        workload: arguments.workload.to_lowercase(),
        workload_uplink_bits_per_second: workload_rate.bits(),
        crowds_ratio: Crowd::ratio(&crowds),
        crowds,
    };
    print::result(arguments.json, None, &figures, || figures::text(&figures))
}

fn scenarios(arguments: &Arguments) -> Vec<Scenario> {
    let mut scenarios = Vec::new();
    for &rate in &arguments.uplink {
        for &round_trip in &arguments.round_trip {
            for case in CASES {
                let scenario = |&policy| Scenario { case, rate, round_trip, policy };
                scenarios.extend(arguments.policy.iter().map(scenario));
            }
        }
    }
    scenarios
}

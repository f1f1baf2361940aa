//! `weir-lab sim transient`: one server under a load that comes and goes, under each policy.

mod figures;
mod requests;

use std::str::FromStr;

use weir_sim::queue::Discipline;
use weir_sim::replications;
use weir_units::BitRate;
use weir_workload::arrivals::Offered;
use weir_workload::law;
use weir_workload::shape::{self, Shape};

use crate::failure::{Failure, invalid_usage};
use crate::print;
use crate::values::{LoadIs, link_rate, seconds};
use figures::{Figures, Run};
use requests::requests;

/// One ideal server, without packets or delay, under a load that is above 1 at times. Equal seeds
/// give the requests of `weir-lab trace make` with the same law, shape, uplink, duration and seed.
///
/// Ratios and late responses are against exact processor sharing (ps) and exact shortest remaining
/// first of the same requests.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// Load over time: W1 to W9 of Schroeder & Harchol-Balter, Table 1, or any shape
    #[arg(long, value_name = "SHAPE", long_help = shape::SYNTAX)]
    workload: String,

    #[arg(long, value_name = "LIST", help = format!("Orders of service: ps, {}, or all", weir_sched::PolicyKind::names()))]
    #[arg(value_delimiter = ',', required = true)]
    policy: Vec<Policies>,

    /// Law of sizes in bytes
    #[arg(long, value_name = "LAW", long_help = law::SYNTAX, default_value = "worldcup")]
    law: String,

    /// Rate of the link that a load of 1 fills
    #[arg(long, value_name = "RATE", default_value = "10mbit")]
    #[arg(value_parser = link_rate)]
    uplink: BitRate,

    /// The bytes that load counts and that the server serves
    #[arg(long, value_enum, default_value = "wire")]
    load_is: LoadIs,

    /// How long requests arrive [default: whole cycles of the workload, 150 s or more]
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    duration: Option<f64>,

    /// Equal seeds give equal requests
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// Independent runs, on all cores
    #[arg(long, value_name = "N", default_value_t = 1)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=100_000))]
    replications: u32,

    /// Write JSON
    #[arg(long)]
    json: bool,
}

/// One policy, or all of them.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Policies {
    One(Discipline),
    All,
}

impl FromStr for Policies {
    type Err = weir_sim::queue::UnknownDiscipline;

    fn from_str(name: &str) -> Result<Policies, Self::Err> {
        if name == "all" { Ok(Policies::All) } else { name.parse().map(Policies::One) }
    }
}

/// The time of a run if none is given, but for whole cycles.
const USUAL: f64 = 150.0;

/// Most requests of a run: each is some 50 bytes.
const MOST_REQUESTS: f64 = 1e8;

pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let law = law::parse(&arguments.law).map_err(invalid_usage)?;
    let shape = Shape::parse(&arguments.workload).map_err(invalid_usage)?;
    let cycle = shape.cycle();
    let duration = arguments.duration.unwrap_or_else(|| (USUAL / cycle).ceil() * cycle);
    let offered = Offered {
        load_is: arguments.load_is.into(),
        ..Offered::new(law, shape, duration, arguments.uplink.bits() as f64 / 8.0)
    };
    // Says what is wrong before anything runs.
    let expected = offered.expected().map_err(invalid_usage)?;
    if expected > MOST_REQUESTS {
        return Err(invalid_usage(format!(
            "these are about {expected:.0} requests, and all of a run are kept in memory; give a \
             shorter --duration, a slower --uplink or larger sizes, for at most {MOST_REQUESTS:.0}"
        )));
    }
    let disciplines = disciplines(&arguments.policy);
    let one = |seed| Run::of(&requests(&Offered { seed, ..offered.clone() }), &disciplines);
    let runs = match arguments.replications {
        // The seed as it was given.
        1 => vec![one(arguments.seed)],
        more => replications::run(more as usize, arguments.seed, one),
    };
    let figures = Figures::of(&offered, &disciplines, &runs)?;
    print::result(arguments.json, Some(arguments.seed), &figures, || figures.text())
}

/// The policies in the order asked, each once.
fn disciplines(asked: &[Policies]) -> Vec<Discipline> {
    let mut all: Vec<Discipline> = Vec::new();
    let each = asked.iter().flat_map(|policies| match policies {
        Policies::One(discipline) => vec![*discipline],
        Policies::All => Discipline::all().collect(),
    });
    for discipline in each {
        if !all.contains(&discipline) {
            all.push(discipline);
        }
    }
    all
}

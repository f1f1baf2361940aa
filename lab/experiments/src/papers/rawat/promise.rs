//! The experiment `rawat-promise`: the promise that no response ends later than under fair sharing,
//! over each order of `protective`, with clients near and far beside each other.

use std::sync::Arc;
use std::time::Duration;

use weir_sched::PolicyKind;
use weir_sched::policy::{FSP, PROTECTIVE, SRPT};
use weir_sim::replications;
use weir_sim::uplink::{Client, Lateness, Link, Request};
use weir_workload::arrivals::Offered;
use weir_workload::law::WorldCup;
use weir_workload::shape::Shape;

use super::played::over_seeds;
use super::scene::RATE;
use crate::choice::Scale;
use crate::experiment::{Evidence, Experiment};
use crate::findings::{Axis, Bar, Ours, Plot, Row, Section, Table, Unit, series};

pub(in crate::papers) const EXPERIMENT: Experiment = Experiment {
    name: "rawat-promise",
    paper: "Rawat 2003",
    repeats: "none: what knowing the path is worth when nobody may be late",
    title: "Orders that know the path, inside the promise, simulated",
    groups: |_| Vec::new(),
    report,
};

/// Round trips of the clients, in milliseconds, as many with each.
const ROUND_TRIPS_MS: [u64; 6] = [10, 25, 50, 100, 150, 250];

/// What is asked for: its name here, and its shape.
const LOADS: [(&str, &str); 4] = [
    ("load 0.5", "constant:load=0.5"),
    ("load 0.7", "constant:load=0.7"),
    ("load 0.9", "constant:load=0.9"),
    ("W1", "w1"),
];

/// The order that is to be better than least remaining size; others are reported.
const BETTER: [&str; 1] = ["protective/burst"];

fn report(evidence: &Evidence<'_>, section: &mut Section) {
    section.text(
        "Simulated as rawat, with requests of the World Cup law alone, from clients 10 to 250 ms away \
         beside each other. The response time runs from when the request is at the server. A response \
         is as late as it ends after its end under exact processor sharing over the same paths. The \
         promise is kept in a run if nobody is later than a round trip and two grants, or than the \
         latest of fsp and a round trip.",
    );
    let choice = evidence.choice;
    let seeds = choice.seeds.unwrap_or(choice.scale.seeds()).max(1) as usize;
    let seconds = match choice.scale {
        Scale::Quick => 20.0,
        Scale::Full => 150.0,
        Scale::Paper => 1800.0,
    };
    let mut policies = vec![SRPT, FSP, PROTECTIVE];
    policies.extend(PolicyKind::ORDERS);
    let played = replications::each(LOADS.len() * seeds, |index| {
        let (_, shape) = LOADS[index / seeds];
        play(shape, 1 + (index % seeds) as u64, seconds, &policies)
    });
    match played.into_iter().collect::<Result<Vec<Run>, String>>() {
        Ok(runs) => {
            for ((load, _), runs) in LOADS.iter().zip(runs.chunks(seeds)) {
                Found { load, runs, policies: &policies }.report(section);
            }
        }
        Err(why) => section.text(format!("The simulation could not be run: {why}.")),
    }
}

/// A seed of a load.
struct Run {
    /// By policy.
    lateness: Vec<Lateness>,
    two_grants: f64,
}

fn play(shape: &str, seed: u64, seconds: f64, policies: &[PolicyKind]) -> Result<Run, String> {
    let said = |why: &dyn std::fmt::Display| why.to_string();
    let shape = Shape::parse(shape).map_err(|why| said(&why))?;
    let seconds = (seconds / shape.cycle()).ceil() * shape.cycle();
    let speed = RATE.bits() as f64 / 8.0;
    let offered = Offered { seed, ..Offered::new(Arc::new(WorldCup), shape, seconds, speed) };
    let arrivals = offered.arrivals().map_err(|why| said(&why))?;
    let requests: Vec<Request> = arrivals
        .enumerate()
        .map(|(index, request)| Request {
            at: request.at,
            size: offered.wire.head + request.size.unwrap_or(0),
            client: Client { round_trip: round_trip(index), ..Client::default() },
        })
        .collect();
    let link = Link::new(RATE);
    let fair = link.share(&requests).map_err(|why| said(&why))?;
    let lateness = policies.iter().map(|&policy| {
        let finish = link.play(policy, &requests).map_err(|why| said(&why))?;
        Ok(Lateness::of(&requests, &finish, &fair))
    });
    let lateness = lateness.collect::<Result<_, String>>()?;
    Ok(Run { lateness, two_grants: link.two_grants() })
}

/// Of the request with this number: evenly, and without a pattern that a cycle of the load could share.
fn round_trip(index: usize) -> Duration {
    let drawn = (index as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    Duration::from_millis(ROUND_TRIPS_MS[drawn as usize % ROUND_TRIPS_MS.len()])
}

/// What a load came to.
struct Found<'a> {
    load: &'a str,
    runs: &'a [Run],
    policies: &'a [PolicyKind],
}

impl Found<'_> {
    /// A figure of one policy, the first seeing that of another too.
    fn over(&self, policy: PolicyKind, figure: impl Fn(&Lateness, &Run) -> f64) -> Ours {
        let Some(place) = self.policies.iter().position(|known| *known == policy) else {
            return Ours::none();
        };
        over_seeds(self.runs.iter().map(|run| figure(&run.lateness[place], run)))
    }

    fn gain(&self, policy: PolicyKind, than: PolicyKind) -> Ours {
        let than = self.policies.iter().position(|known| *known == than).unwrap_or(0);
        self.over(policy, |found, run| 1.0 - found.mean / run.lateness[than].mean)
    }

    fn latest_ms(&self, policy: PolicyKind) -> Ours {
        self.over(policy, |found, _| 1e3 * found.latest)
    }

    /// 1 in a run in which the promise is broken.
    fn broken(&self, policy: PolicyKind) -> Ours {
        let fsp = self.policies.iter().position(|known| *known == FSP).unwrap_or(0);
        self.over(policy, |found, run| {
            f64::from(!found.in_time(run.two_grants, &run.lateness[fsp]))
        })
    }

    fn report(&self, section: &mut Section) {
        let load = self.load;
        for &order in PolicyKind::ORDERS {
            let what = format!("{load}: {order}, mean below that of protective by");
            let mut row = Row::new(what, "", self.gain(order, PROTECTIVE), Unit::Percent);
            row.bar = BETTER.contains(&order.name()).then_some(Bar::Above(0.0));
            section.row(row);
        }
        for order in [PROTECTIVE].iter().chain(PolicyKind::ORDERS) {
            let what = format!("{load}: {order}, seeds in which somebody is later than promised");
            section.row(
                Row::new(what, "", self.broken(*order).worst(), Unit::Count)
                    .bar(Bar::AtMost(0.0))
                    .note("1 if there is one"),
            );
        }
        let columns = &["", "mean, ms", "below protective, %", "below srpt, %", "latest by, ms"];
        let mut table = Table::new(format!("{load}, round trips 10 to 250 ms mixed"), columns);
        for &policy in self.policies {
            let figures = [
                (self.over(policy, |found, _| 1e3 * found.mean), Unit::Ms),
                (self.gain(policy, PROTECTIVE), Unit::Percent),
                (self.gain(policy, SRPT), Unit::Percent),
                (self.latest_ms(policy), Unit::Ms),
            ];
            table.row(policy.name(), &figures);
        }
        section.table(table);
        self.plot(section);
    }

    fn plot(&self, section: &mut Section) {
        let names = self.policies.iter().map(|policy| policy.name().to_owned());
        let mut plot = Plot::new(
            format!("{}: mean and latest", self.load),
            Axis::names("policy", names),
            Axis::log("ms"),
        );
        let points = |figure: &dyn Fn(PolicyKind) -> Ours| {
            let all = self.policies.iter().enumerate();
            all.map(|(place, &policy)| (place as f64, figure(policy))).collect::<Vec<_>>()
        };
        let means = points(&|policy| self.over(policy, |found, _| 1e3 * found.mean));
        let latest = points(&|policy| self.latest_ms(policy));
        plot.series
            .push(series::measured("simulated", means, 1.0).named("mean").coloured(0, false));
        let latest = series::measured("simulated", latest, 1.0);
        plot.series.push(latest.named("latest after fair sharing").coloured(1, true));
        section.plot(plot);
    }
}

//! Carter 1999 with a real application: what proxies in front of it make of more requests than it can
//! answer, from clients who leave. It says what is run and told; how cells run is `backend`'s.

mod conditions;
mod figures;
mod rows;
mod simulated;
mod tables;

use super::{Choice, Experiment, Group, Scale, Told};
use crate::report::Section;

use conditions::{Conditions, LOADS, PATIENCE, STEADY_SYSTEMS};

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "carter-proxy",
    paper: "Carter 1999",
    repeats: "Figures 2 to 5 and 7, with a real application behind a proxy",
    title: "Requests whose clients have left: proxies in front of an application",
    groups,
    tell,
};

/// weir with its defaults.
const WEIR: &str = "weir:proxy";
/// weir by expected service time.
const SHORTEST: &str = "weir:proxy --backend-order shortest-expected";
/// Nothing in front.
const DIRECT: &str = "direct";
/// The paper's server: the application looks for itself.
const CHECKING: &str = "checking";

/// What all conditions compare.
const MAIN: [&str; 9] = [
    WEIR,
    SHORTEST,
    CHECKING,
    DIRECT,
    "nginx",
    "nginx-expert",
    "haproxy",
    "haproxy-expert",
    "caddy",
];

/// What is compared where it matters most: other orders of weir's queue, and other proxies.
const OTHERS: [&str; 8] = [
    "weir:proxy --backend-order newest-first",
    "weir:proxy --backend-order fifo",
    "weir:proxy --backend-order edf",
    "haproxy-limit",
    "varnish",
    "apache-event",
    "lighttpd",
    "h2o",
];

/// What other patience is tried with.
const PATIENT: [&str; 4] = [WEIR, CHECKING, DIRECT, "nginx"];

/// What a quick run compares: no more than three minutes have room for.
const QUICK: [&str; 8] =
    [WEIR, SHORTEST, CHECKING, DIRECT, "nginx", "nginx-expert", "haproxy", "haproxy-expert"];

/// Systems that are compared under all loads.
fn main(choice: &Choice) -> Vec<String> {
    match choice.scale {
        Scale::Quick => choice.systems(&QUICK),
        Scale::Full | Scale::Paper => choice.systems(&MAIN),
    }
}

/// Systems that are compared at 150 and 300 % without retries.
fn all(choice: &Choice) -> Vec<String> {
    let mut all = main(choice);
    if choice.scale != Scale::Quick && choice.systems.is_none() {
        all.extend(OTHERS.map(str::to_owned));
    }
    all
}

fn groups(choice: &Choice) -> Vec<Group> {
    let scale = choice.scale;
    let of = |conditions: Conditions, systems: &[String]| {
        // Where there is a bar, all seeds are run.
        let point = !conditions.is_judged();
        let group = |system: &String| Group { cell: conditions.cell(scale, system), point };
        systems.iter().map(group).collect::<Vec<_>>()
    };
    let mut groups = Vec::new();
    for retries in conditions::retries(scale) {
        for load in conditions::loads(scale) {
            let systems = if retries == 0 && [1.5, 3.0].contains(&load) { all } else { main };
            groups.extend(of(Conditions::new(load, PATIENCE[0], retries), &systems(choice)));
        }
    }
    if scale != Scale::Quick {
        for patience in &PATIENCE[1..] {
            for load in [1.5, 3.0] {
                let systems = choice.systems(&PATIENT);
                groups.extend(of(Conditions::new(load, *patience, 0), &systems));
            }
        }
    }
    groups.extend(of(Conditions::steady(), &choice.systems(&STEADY_SYSTEMS)));
    groups
}

fn tell(told: &Told<'_>, section: &mut Section) {
    let unit = match told.choice.scale {
        Scale::Quick => "a tenth of these times",
        Scale::Full | Scale::Paper => "these times",
    };
    section.text(format!(
        "An application answers one request at a time, 100 a second in the mean, and does not look \
         whether its client is still there; service times follow Figure 21. Clients come open loop \
         (Poisson) at {} to {} % of what it can do, each on a connection of its own, wait 5 s (8 and \
         10 s further below), leave, and ask again at once where they retry. After 20 s (four times \
         their patience) 60 s are counted; then the load falls to 50 %. Run with {unit}. Everything \
         is on the loopback interface of one machine.",
        LOADS[0] * 100.0,
        LOADS[LOADS.len() - 1] * 100.0
    ));
    section.text(
        "Useful requests are clients answered before they left, useful work is the application's time \
         for them, both in % of its capacity: count alone rewards whoever serves the small ones. Wasted \
         is its time for clients who had left before the answer. Intervals are over the seeds; of a \
         single seed, of 95 % by 20 batches of the window.",
    );
    tables::tell(told, section);
    rows::tell(told, section);
    match simulated::points(told.choice.scale) {
        Ok(points) => simulated::tell(told, section, &points),
        Err(why) => section.text(format!("The simulation could not be run: {why}.")),
    }
}

//! Carter 1999 with a real application: what proxies in front of it make of more requests than it can
//! answer, from clients who leave. How cells run is `backend`'s.

mod conditions;
mod figures;
mod rows;
mod simulated;
mod systems;
mod tables;

use crate::choice::{Choice, Scale};
use crate::experiment::{Evidence, Experiment, Group};
use crate::findings::Section;

use conditions::{Conditions, LOADS, PATIENCE, STEADY_SYSTEMS};
use systems::{PATIENT, all, main};

pub(in crate::papers) const EXPERIMENT: Experiment = Experiment {
    name: "carter-proxy",
    paper: "Carter 1999",
    repeats: "Figures 2 to 5 and 7, with a real application behind a proxy",
    title: "Requests whose clients have left: proxies in front of an application",
    groups,
    report,
};

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

fn report(evidence: &Evidence<'_>, section: &mut Section) {
    let unit = match evidence.choice.scale {
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
    tables::report(evidence, section);
    rows::report(evidence, section);
    match simulated::points(evidence.choice.scale) {
        Ok(points) => simulated::report(evidence, section, &points),
        Err(why) => section.text(format!("The simulation could not be run: {why}.")),
    }
}

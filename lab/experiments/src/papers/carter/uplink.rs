//! Carter's useful throughput on Schroeder's link: three times what it carries is asked for, and users
//! leave after 5 s. What share of its bytes goes to responses that somebody still waits for?

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use weir_sched::{BitRate, PolicyKind, policy};
use weir_sim::uplink::{Client, Link, Request};
use weir_workload::arrivals::Offered;
use weir_workload::law::WorldCup;
use weir_workload::shape::Shape;

use crate::cell::Network;
use crate::choice::{Choice, Scale};
use crate::experiment::case::Case;
use crate::experiment::systems::{FAIR, NGINX, PROTECTIVE, SRPT};
use crate::experiment::{Evidence, Experiment, Group};
use crate::findings::{Axis, Bar, Plot, Row, Section, Table, Unit, label, series};
use crate::outcome::{Outcome, Served, UP_TO};

pub(in crate::papers) const EXPERIMENT: Experiment = Experiment {
    name: "carter-uplink",
    paper: "Carter 1999",
    repeats: "useful throughput, on the uplink",
    title: "An uplink asked for three times what it carries, and users who leave",
    groups,
    report,
};

const OWN: [&str; 4] = [PROTECTIVE, SRPT, FAIR, NGINX];
/// Offered load, as a multiple of what the link carries.
const LOAD: f64 = 3.0;
/// Seconds that users wait.
const PATIENCE: f64 = 5.0;
/// Least share of the bytes on the wire that are of use under weir's default.
const USEFUL: f64 = 0.98;

/// Every request has a connection of its own, and users close first: the ports of their address last
/// for some 40 s.
fn case(scale: Scale) -> Case {
    let seconds = match scale {
        Scale::Quick => 20.0,
        Scale::Full | Scale::Paper => 36.0,
    };
    Case::open(vec![(seconds, LOAD)], seconds).abort(PATIENCE, 0)
}

fn groups(choice: &Choice) -> Vec<Group> {
    case(choice.scale).groups(&choice.systems(&OWN)).collect()
}

/// Share of the link's bytes that went to complete responses.
fn useful(served: &Served) -> f64 {
    served.useful_bytes as f64 / served.link_bytes as f64
}

fn of(figure: impl Fn(&Served) -> f64) -> impl Fn(&Outcome) -> f64 {
    move |outcome| outcome.served.as_ref().map_or(f64::NAN, &figure)
}

/// Share of a class that was served.
fn success(class: usize) -> impl Fn(&Served) -> f64 {
    move |served| {
        let class = served.classes.get(class);
        class.map_or(f64::NAN, |class| class.complete as f64 / class.asked as f64)
    }
}

fn report(evidence: &Evidence<'_>, section: &mut Section) {
    let case = case(evidence.choice.scale);
    let systems = evidence.choice.systems(&OWN);
    section.text(
        "Users close the connection when they have waited 5 s for a complete response, and do not ask \
         again. Bytes of use are those of complete responses: heads, bodies, packets and their share \
         of a connection; all others on the wire are for nobody, handshakes of those who left among \
         them.",
    );
    section.plot(by_size(evidence, &case, &systems));
    section.table(table(evidence, &case, &systems));
    for system in &systems {
        let ours = evidence.runs.value(&case.cell(system), of(useful));
        let what = format!("{}, bytes of use, of all on the link", label(system));
        let row = Row::new(what, "", ours, Unit::Percent);
        section.row(if system == PROTECTIVE { row.bar(Bar::AtLeast(USEFUL)) } else { row });
    }
    for (policy, system) in
        [(policy::PROTECTIVE, PROTECTIVE), (policy::SRPT, SRPT), (policy::FAIR, FAIR)]
    {
        match simulated(policy, case.duration()) {
            Ok(share) => section.text(format!(
                "The same simulated with the server's own gate, {}: {:.1} %.",
                label(system),
                share * 100.0
            )),
            Err(why) => section.text(format!("The simulation could not be run: {why}.")),
        }
    }
}

/// Who was served, by the largest size of each class; the last has no bound of its own.
fn by_size(evidence: &Evidence<'_>, case: &Case, systems: &[String]) -> Plot {
    let (x, y) = (Axis::log("largest body of the class, bytes"), Axis::linear("served, %"));
    let mut plot = Plot::new("Requests that were answered before their users left", x, y);
    for system in systems {
        let cell = case.cell(system);
        // The largest document stands for the last class.
        let points = UP_TO.iter().map(|&up_to| (up_to as f64).min(2.02e6)).enumerate();
        let points = points.filter_map(|(class, size)| {
            let share = evidence.runs.value(&cell, of(success(class))).middle()?;
            Some((size, share * 100.0))
        });
        plot.series.push(series::line(system, points.collect()));
    }
    plot
}

fn table(evidence: &Evidence<'_>, case: &Case, systems: &[String]) -> Table {
    let columns = [
        "system",
        "bytes of use %",
        "complete %",
        "to 1 KB",
        "to 2 KB",
        "to 5 KB",
        "to 50 KB",
        "to 500 KB",
        "larger",
    ];
    let caption =
        "Shares in %: of the link's bytes, of the requests, and of those by size of the body.";
    let mut table = Table::new(caption, &columns);
    for system in systems {
        let cell = case.cell(system);
        let mut row = vec![
            (evidence.runs.value(&cell, of(useful)), Unit::Percent),
            (evidence.runs.value(&cell, |outcome| 1.0 - outcome.incomplete), Unit::Percent),
        ];
        for class in 0..UP_TO.len() {
            row.push((evidence.runs.value(&cell, of(success(class))), Unit::Percent));
        }
        table.row(label(system), &row);
    }
    table
}

/// The share of use that the server's own gate reaches in virtual time with the first seed's requests.
fn simulated(policy: PolicyKind, seconds: f64) -> Result<f64, Box<dyn Error>> {
    let rate = Network::default().rate;
    let shape = Shape::parse(&format!("constant:load={LOAD}"))?;
    let offered = Offered::new(Arc::new(WorldCup), shape, seconds, rate as f64 / 8.0);
    let rate = BitRate::new(rate).ok_or("a link of no rate")?;
    let head = offered.wire.head;
    let ask = |request: weir_workload::Request| Request {
        at: request.at,
        size: head + request.size.unwrap_or(0),
        client: Client::default(),
    };
    let requests: Vec<Request> = offered.arrivals()?.map(ask).collect();
    let patience = Duration::from_secs_f64(PATIENCE);
    let found = Link::new(rate).play_impatient(policy, &requests, patience)?;
    Ok(found.useful as f64 / (found.useful + found.wasted) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gate_keeps_the_link_for_those_who_stay() {
        let share = |policy| simulated(policy, 36.0).expect("a simulation");
        assert!(share(policy::PROTECTIVE) > 0.97);
        assert!(share(policy::SRPT) > 0.98);
        assert!(share(policy::FAIR) < 0.8);
    }
}

//! Schroeder 2003, section 4.1 (D): a round trip of 100 ms and 5 % loss.

use crate::cell::Cell;
use crate::choice::{Choice, Scale};
use crate::experiment::case::Case;
use crate::experiment::mean;
use crate::experiment::systems::{APACHE, FAIR, NGINX, PROTECTIVE, SRPT};
use crate::experiment::{Evidence, Experiment, Group, pieces};
use crate::findings::{Bar, Row, Section, Unit};

pub(in crate::papers) const EXPERIMENT: Experiment = Experiment {
    name: "schroeder-wan",
    paper: "Schroeder 2003",
    repeats: "Figure 6 (D); Table 2, row D",
    title: "Round-trip times and losses together",
    groups,
    report,
};

/// Round trip of row D's own case, in milliseconds.
pub(super) const DELAY: f64 = 100.0;
/// Its loss each way, as a share.
pub(super) const LOSS: f64 = 0.05;
/// The load of "the same trace without load".
const IDLE: f64 = 0.05;

const MAIN: [&str; 5] = [SRPT, PROTECTIVE, FAIR, NGINX, APACHE];

/// W1 over an emulated link of this round trip in milliseconds and this loss.
pub(super) fn wan(scale: Scale, delay: f64, loss: f64) -> Case {
    Case::w1(scale).wan(delay, loss)
}

/// Twice as long, since so little is asked for.
fn idle(scale: Scale) -> Case {
    let duration = match scale {
        Scale::Quick => 60.0,
        Scale::Full => 300.0,
        Scale::Paper => 1800.0,
    };
    Case::open(vec![(duration, IDLE)], duration).wan(DELAY, LOSS)
}

fn groups(choice: &Choice) -> Vec<Group> {
    let scale = choice.scale;
    let pair = choice.systems(&[SRPT, NGINX]);
    let main = match scale {
        Scale::Quick => choice.systems(&[SRPT, NGINX]),
        _ => choice.systems(&MAIN),
    };
    let mut groups: Vec<Group> = Vec::new();
    groups.extend(wan(scale, DELAY, LOSS).groups(&main));
    groups.extend(wan(scale, DELAY, LOSS).queue(100).groups(&main));
    groups.extend(idle(scale).groups(&pair));
    groups
}

fn report(evidence: &Evidence<'_>, section: &mut Section) {
    let scale = evidence.choice.scale;
    section.text(
        "Delay and loss come from weir-wan, an emulated link in its own namespace: half of the round \
         trip each way, and each packet lost independently with the same probability each way, as the \
         paper's Dummynet does. \"Without load\" is the same law of sizes at a constant load of 0.05.",
    );
    let main = wan(scale, DELAY, LOSS);
    let systems = evidence.choice.systems(&MAIN);
    section.plot(pieces::over_time(
        evidence,
        "Figure 6 (D): 100 ms and 5 %, over time",
        &main,
        &systems,
    ));
    section.plot(pieces::by_size(evidence, "100 ms and 5 %: by size", &main, &systems));
    for queue in [1000, 100] {
        let caption = format!("100 ms and 5 % (D), queue of {queue} packets.");
        section.table(pieces::table(evidence, caption, &main.clone().queue(queue), &systems));
    }
    rows(evidence, section, scale);
}

fn rows(evidence: &Evidence<'_>, section: &mut Section, scale: Scale) {
    let gain = |system: &str, case: &Case| {
        let ours = evidence.runs.ratio(&case.cell(system), &case.cell(SRPT), mean);
        (ours, Unit::Times)
    };
    let row = |what: String, paper: &str, value: f64, (ours, unit)| {
        Row::new(what, paper, ours, unit).paper_is(value)
    };
    let both = wan(scale, DELAY, LOSS);
    for (queue, bar) in [(1000, 2.2), (100, 3.0)] {
        let what = format!("nginx ÷ weir srpt, 100 ms and 5 %, queue of {queue}");
        let case = both.clone().queue(queue);
        section.row(row(what, "2.0", 2.0, gain(NGINX, &case)).bar(Bar::AtLeast(bar)));
    }
    for queue in [1000, 100] {
        let case = both.clone().queue(queue);
        let what = format!("Apache prefork ÷ weir srpt, 100 ms and 5 %, queue of {queue}");
        section.row(row(what, "2.0", 2.0, gain(APACHE, &case)));
    }
    let quiet = idle(scale);
    let without = |system: &str| {
        let (loaded, idle): (Cell, Cell) = (both.cell(system), quiet.cell(system));
        evidence.runs.ratio(&loaded, &idle, mean)
    };
    section.row(
        Row::new(
            "weir srpt, 100 ms and 5 %, under W1 ÷ without load",
            "",
            without(SRPT),
            Unit::Times,
        )
        .bar(Bar::AtMost(1.25)),
    );
    section.row(Row::new("nginx, the same", "", without(NGINX), Unit::Times));
}

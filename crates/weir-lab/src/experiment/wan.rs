//! Schroeder 2003, section 4.1 (B) to (D): round-trip times, losses, and both.

use crate::cell::Cell;
use crate::report::{Axis, Section};
use crate::verdict::{Bar, Row, Unit};

use super::case::Case;
use super::conditions::{APACHE, FAIR, FEW, NGINX, PROTECTIVE, SRPT};
use super::runs::mean;
use super::{Choice, Experiment, Group, Scale, Told, pieces};

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "schroeder-wan",
    paper: "Schroeder 2003",
    repeats: "Figure 6 (B), (C) and (D); Table 2, rows B to D",
    title: "Round-trip times and losses",
    groups,
    tell,
};

/// Row D's own case: 100 ms and 5 %.
const DELAY: f64 = 100.0;
const LOSS: f64 = 0.05;
/// Column 4 of rows B and C.
const DELAYS: [f64; 4] = [0.0, 50.0, 100.0, 150.0];
const LOSSES: [f64; 4] = [0.0, 0.05, 0.10, 0.15];
/// What of row D's plane is run beside its own case.
const BOTH: [(f64, f64); 4] = [(50.0, 0.05), (150.0, 0.05), (100.0, 0.10), (100.0, 0.15)];
/// The load of "the same trace without load".
const IDLE: f64 = 0.05;

const MAIN: [&str; 5] = [SRPT, PROTECTIVE, FAIR, NGINX, APACHE];

fn wan(scale: Scale, delay: f64, loss: f64) -> Case {
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
    let few = choice.systems(&FEW);
    let pair = choice.systems(&[SRPT, NGINX]);
    let main = match scale {
        Scale::Quick => choice.systems(&[SRPT, NGINX]),
        _ => choice.systems(&MAIN),
    };
    let mut groups: Vec<Group> = Vec::new();
    groups.extend(wan(scale, DELAY, LOSS).groups(&main));
    groups.extend(wan(scale, DELAY, LOSS).queue(100).groups(&main));
    groups.extend(idle(scale).groups(&pair));
    let short = [wan(scale, DELAY, 0.0), wan(scale, 0.0, LOSS)];
    for case in short {
        groups.extend(case.clone().groups(&few));
        groups.extend(case.queue(100).groups(&pair));
    }
    groups.extend(wan(scale, 0.0, 0.0).groups(&few));
    if scale != Scale::Quick {
        for (delay, loss) in curve_points() {
            groups.extend(wan(scale, delay, loss).points(&few));
        }
    }
    groups
}

fn curve_points() -> impl Iterator<Item = (f64, f64)> {
    let delays = DELAYS.into_iter().map(|delay| (delay, 0.0));
    let losses = LOSSES.into_iter().map(|loss| (0.0, loss));
    delays.chain(losses).chain(BOTH)
}

fn tell(told: &Told<'_>, section: &mut Section) {
    let scale = told.choice.scale;
    let few = told.choice.systems(&FEW);
    section.text(
        "Delay and loss come from weir-wan, an emulated link in its own namespace: half of the round \
         trip each way, and each packet lost independently with the same probability each way, as the \
         paper's Dummynet does. \"Without load\" is the same law of sizes at a constant load of 0.05.",
    );
    let seconds = || Axis::linear("mean response time, s");
    let delays: Vec<(f64, Case)> =
        DELAYS.iter().map(|&delay| (delay, wan(scale, delay, 0.0))).collect();
    let losses: Vec<(f64, Case)> =
        LOSSES.iter().map(|&loss| (loss * 100.0, wan(scale, 0.0, loss))).collect();
    for (title, x, cases) in [
        ("Figure 6 (B): round-trip time", Axis::linear("round-trip time, ms"), &delays),
        ("Figure 6 (C): loss", Axis::linear("loss, %"), &losses),
    ] {
        section.plot(pieces::curve(told, title, (x, seconds()), cases, &few, (mean, 1e-3)));
    }
    let main = wan(scale, DELAY, LOSS);
    let systems = told.choice.systems(&MAIN);
    section.plot(pieces::over_time(
        told,
        "Figure 6 (D): 100 ms and 5 %, over time",
        &main,
        &systems,
    ));
    section.plot(pieces::by_size(told, "100 ms and 5 %: by size", &main, &systems));
    let named = curve_points().chain([(DELAY, LOSS)]).map(|(delay, loss)| {
        (format!("{delay} ms, {:.0} %", loss * 100.0), wan(scale, delay, loss))
    });
    let caption = "Round-trip time and loss, queue of 1000.";
    section.table(pieces::range_table(told, caption, "link", &named.collect::<Vec<_>>(), &few));
    for queue in [1000, 100] {
        let caption = format!("100 ms and 5 % (D), queue of {queue} packets.");
        section.table(pieces::table(told, caption, &main.clone().queue(queue), &systems));
    }
    rows(told, section, scale);
}

fn rows(told: &Told<'_>, section: &mut Section, scale: Scale) {
    let gain = |system: &str, case: &Case| {
        let ours = told.runs.ratio(&case.cell(system), &case.cell(SRPT), mean);
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
        told.runs.ratio(&loaded, &idle, mean)
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
    for (word, paper, value, case) in [
        ("100 ms", "at least 2.5", 2.5, wan(scale, DELAY, 0.0)),
        ("5 % loss", "2.0 (1.9 s ÷ 0.93 s)", 2.04, wan(scale, 0.0, LOSS)),
    ] {
        for queue in [1000, 100] {
            let what = format!("nginx ÷ weir srpt, {word}, queue of {queue}");
            section.row(row(what, paper, value, gain(NGINX, &case.clone().queue(queue))));
        }
    }
    if scale != Scale::Quick {
        let worst = wan(scale, 0.0, 0.15);
        let what = "nginx ÷ weir srpt, 15 % loss, queue of 1000".to_owned();
        section.row(row(what, "about 1.5", 1.5, gain(NGINX, &worst)));
    }
}

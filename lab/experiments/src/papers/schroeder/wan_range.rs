//! Schroeder 2003, section 4.1 (B) and (C): ranges of round-trip times and of losses, and the plane of
//! both around row D's own case.

use super::wan::{DELAY, LOSS, wan};
use crate::choice::{Choice, Scale};
use crate::experiment::case::Case;
use crate::experiment::mean;
use crate::experiment::systems::{FEW, NGINX, SRPT};
use crate::experiment::{Evidence, Experiment, Group, pieces};
use crate::findings::{Axis, Row, Section, Unit};

pub(in crate::papers) const EXPERIMENT: Experiment = Experiment {
    name: "schroeder-wan-range",
    paper: "Schroeder 2003",
    repeats: "Figure 6 (B) and (C); Table 2, rows B and C; the range of row D",
    title: "Round-trip times, and losses",
    groups,
    report,
};

/// Column 4 of rows B and C.
const DELAYS: [f64; 4] = [0.0, 50.0, 100.0, 150.0];
const LOSSES: [f64; 4] = [0.0, 0.05, 0.10, 0.15];
/// What of row D's plane is run beside its own case.
const BOTH: [(f64, f64); 4] = [(50.0, 0.05), (150.0, 0.05), (100.0, 0.10), (100.0, 0.15)];

fn groups(choice: &Choice) -> Vec<Group> {
    let scale = choice.scale;
    let few = choice.systems(&FEW);
    let pair = choice.systems(&[SRPT, NGINX]);
    let mut groups: Vec<Group> = Vec::new();
    for case in [wan(scale, DELAY, 0.0), wan(scale, 0.0, LOSS)] {
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

fn report(evidence: &Evidence<'_>, section: &mut Section) {
    let scale = evidence.choice.scale;
    let few = evidence.choice.systems(&FEW);
    section.text("Delay and loss as in schroeder-wan.");
    let seconds = || Axis::linear("mean response time, s");
    let delays: Vec<(f64, Case)> =
        DELAYS.iter().map(|&delay| (delay, wan(scale, delay, 0.0))).collect();
    let losses: Vec<(f64, Case)> =
        LOSSES.iter().map(|&loss| (loss * 100.0, wan(scale, 0.0, loss))).collect();
    for (title, x, cases) in [
        ("Figure 6 (B): round-trip time", Axis::linear("round-trip time, ms"), &delays),
        ("Figure 6 (C): loss", Axis::linear("loss, %"), &losses),
    ] {
        section.plot(pieces::curve(evidence, title, (x, seconds()), cases, &few, (mean, 1e-3)));
    }
    let named = curve_points().chain([(DELAY, LOSS)]).map(|(delay, loss)| {
        (format!("{delay} ms, {:.0} %", loss * 100.0), wan(scale, delay, loss))
    });
    let caption = "Round-trip time and loss, queue of 1000.";
    section.table(pieces::range_table(evidence, caption, "link", &named.collect::<Vec<_>>(), &few));
    rows(evidence, section, scale);
}

fn rows(evidence: &Evidence<'_>, section: &mut Section, scale: Scale) {
    let mut row = |what: String, paper: &str, value: f64, case: &Case| {
        let ours = evidence.runs.ratio(&case.cell(NGINX), &case.cell(SRPT), mean);
        section.row(Row::new(what, paper, ours, Unit::Times).paper_is(value));
    };
    for (word, paper, value, case) in [
        ("100 ms", "at least 2.5", 2.5, wan(scale, DELAY, 0.0)),
        ("5 % loss", "2.0 (1.9 s ÷ 0.93 s)", 2.04, wan(scale, 0.0, LOSS)),
    ] {
        for queue in [1000, 100] {
            let what = format!("nginx ÷ weir srpt, {word}, queue of {queue}");
            row(what, paper, value, &case.clone().queue(queue));
        }
    }
    if scale != Scale::Quick {
        let what = "nginx ÷ weir srpt, 15 % loss, queue of 1000".to_owned();
        row(what, "about 1.5", 1.5, &wan(scale, 0.0, 0.15));
    }
}

//! Schroeder 2003, section 4.1 (A), transient overload: workload W1 on the simple baseline.

use crate::choice::Choice;
use crate::experiment::case::Case;
use crate::experiment::systems::{FAIR, NGINX, PROTECTIVE, QUEUES, SRPT, SYSTEMS};
use crate::experiment::{
    Evidence, Experiment, Group, largest, link_use, mean, most_connections, pieces,
};
use crate::findings::{Bar, Row, Section, Table, Unit, label};
use crate::outcome::Outcome;

pub(in crate::papers) const EXPERIMENT: Experiment = Experiment {
    name: "schroeder-w1",
    paper: "Schroeder 2003",
    repeats: "Figures 6 (A) and 7; section 4.1 (A), transient overload",
    title: "Transient overload: workload W1, baseline",
    groups,
    report,
};

fn groups(choice: &Choice) -> Vec<Group> {
    let systems = choice.systems(&SYSTEMS);
    let of_queue = |queue| Case::w1(choice.scale).queue(queue).groups(&systems).collect::<Vec<_>>();
    QUEUES.into_iter().flat_map(of_queue).collect()
}

fn report(evidence: &Evidence<'_>, section: &mut Section) {
    let systems = evidence.choice.systems(&SYSTEMS);
    let case = Case::w1(evidence.choice.scale).queue(1000);
    section.text(
        "Load alternates between 25 s at 1.2 and 25 s at 0.2 of a 10 Mbit/s uplink; one connection \
         per request. The paper's FAIR server is Apache 1.3 on Linux 2.2 with a queue of 100 \
         packets; today's kernels have 1000, so both are run.",
    );
    section.plot(pieces::over_time(
        evidence,
        "Figure 6 (A): response times over time, queue of 1000",
        &case,
        &systems,
    ));
    section.plot(pieces::distribution(
        evidence,
        "Figure 7 (left): distribution of response times, queue of 1000",
        &case,
        &systems,
    ));
    section.plot(pieces::by_size(
        evidence,
        "Figure 7 (right): response time by size, queue of 1000",
        &case,
        &systems,
    ));
    section.plot(pieces::connections(
        evidence,
        "Connections at the server over time, queue of 1000",
        &case,
        &systems,
    ));
    for queue in QUEUES {
        let case = Case::w1(evidence.choice.scale).queue(queue);
        let caption = format!("W1, queue of {queue} packets.");
        section.table(pieces::table(evidence, caption, &case, &systems));
    }
    section.table(deciles(evidence, &case));
    rows(evidence, section, &case);
}

/// `protective` against `fair` by decile of size.
fn deciles(evidence: &Evidence<'_>, case: &Case) -> Table {
    let names: Vec<String> = (1..=10).map(|tenth| format!("decile {tenth}")).collect();
    let mut columns = vec!["÷ weir fair"];
    columns.extend(names.iter().map(String::as_str));
    columns.push("largest 1 %");
    let caption =
        "Mean response time by decile of size, smallest first, as a ratio to weir fair's.";
    let mut table = Table::new(caption, &columns);
    let fair = case.cell(FAIR);
    for system in [SRPT, PROTECTIVE, NGINX] {
        let cell = case.cell(system);
        let of = |tenth: usize| move |o: &Outcome| decile(o, tenth);
        let mut figures: Vec<_> = (0..10)
            .map(|tenth| (evidence.runs.ratio(&cell, &fair, of(tenth)), Unit::Times))
            .collect();
        figures.push((evidence.runs.ratio(&cell, &fair, largest), Unit::Times));
        table.row(label(system), &figures);
    }
    table
}

/// Mean response time of a decile of size.
fn decile(outcome: &Outcome, tenth: usize) -> f64 {
    outcome.measured.deciles.get(tenth).copied().unwrap_or(f64::NAN)
}

/// The largest ratio among the deciles of size and the largest 1 %.
pub(super) fn worst_by_size(above: &Outcome, below: &Outcome) -> f64 {
    let tenths = (0..10).map(|tenth| decile(above, tenth) / decile(below, tenth));
    tenths.chain([largest(above) / largest(below)]).fold(f64::NAN, f64::max)
}

fn rows(evidence: &Evidence<'_>, section: &mut Section, case: &Case) {
    let (runs, scale) = (evidence.runs, evidence.choice.scale);
    let (srpt, fair) = (case.cell(SRPT), case.cell(FAIR));
    let short = Case::w1(scale).queue(100);
    let gain = |system: &str, case: &Case| runs.ratio(&case.cell(system), &case.cell(SRPT), mean);
    let paper = "8.0 (1.1 s ÷ 138 ms)";
    let row = |what: &str, ours| Row::new(what, paper, ours, Unit::Times).paper_is(8.0);
    section.row(
        row("nginx ÷ weir srpt, means, queue of 1000", gain(NGINX, case)).bar(Bar::AtLeast(10.5)),
    );
    section.row(
        row("nginx ÷ weir srpt, means, queue of 100", gain(NGINX, &short)).bar(Bar::AtLeast(19.0)),
    );
    section
        .row(row("Apache prefork ÷ weir srpt, means, queue of 1000", gain("apache-prefork", case)));
    section.row(row(
        "Apache prefork ÷ weir srpt, means, queue of 100",
        gain("apache-prefork", &short),
    ));
    section.row(row("weir fair ÷ weir srpt, means", gain(FAIR, case)));
    section.row(
        Row::new(
            "weir srpt ÷ exact SRPT, means",
            "",
            runs.value(&srpt, pieces::over_exact),
            Unit::Times,
        )
        .bar(Bar::AtMost(1.20)),
    );
    section.row(
        Row::new(
            "weir srpt, link use in overload",
            "fully used",
            runs.value(&srpt, link_use),
            Unit::Percent,
        )
        .bar(Bar::AtLeast(0.98)),
    );
    let protective = case.cell(PROTECTIVE);
    section.row(
        Row::new("protective ÷ srpt, means", "", runs.ratio(&protective, &srpt, mean), Unit::Times)
            .bar(Bar::AtMost(1.12)),
    );
    section.row(
        Row::new(
            "protective ÷ fair, worst of the size deciles and the largest 1 %",
            "",
            runs.paired(&protective, &fair, worst_by_size),
            Unit::Times,
        )
        .bar(Bar::AtMost(1.03)),
    );
    large(evidence, section, case);
    for (what, system, paper, value) in [
        ("weir srpt, variance in s²", SRPT, "1.08", 1.08),
        ("Apache prefork, variance in s²", "apache-prefork", "6.39", 6.39),
        ("nginx, variance in s²", NGINX, "6.39", 6.39),
    ] {
        let ours = runs.value(&case.cell(system), |outcome| outcome.measured.variance);
        section.row(Row::new(what, paper, ours, Unit::Count).paper_is(value));
    }
    for (what, system, paper) in [
        ("weir srpt, most connections", SRPT, "never above 50"),
        ("Apache prefork, most connections", "apache-prefork", "often above 200"),
        ("nginx, most connections", NGINX, "often above 200"),
    ] {
        let ours = runs.value(&case.cell(system), most_connections);
        section.row(Row::new(what, paper, ours, Unit::Count));
    }
    let incomplete = runs.value(&srpt, |outcome| outcome.incomplete);
    section.row(
        Row::new("weir srpt, incomplete responses", "none", incomplete, Unit::Percent)
            .bar(Bar::AtMost(0.0)),
    );
}

/// What large requests pay.
fn large(evidence: &Evidence<'_>, section: &mut Section, case: &Case) {
    let srpt = case.cell(SRPT);
    for other in [NGINX, "apache-prefork"] {
        let cell = case.cell(other);
        let what = format!("weir srpt ÷ {}, largest 1 %", label(other));
        let ours = evidence.runs.ratio(&srpt, &cell, largest);
        let row = Row::new(what, "0.97 (2.8 s ÷ 2.9 s)", ours, Unit::Times).paper_is(0.97);
        section.row(if other == NGINX { row.bar(Bar::AtMost(1.0)) } else { row });
        let what = format!("weir srpt ÷ {}, the very largest", label(other));
        let ours = evidence.runs.ratio(&srpt, &cell, |outcome| outcome.measured.very_largest);
        section.row(Row::new(what, "1.09 (19.4 s ÷ 17.8 s)", ours, Unit::Times).paper_is(1.09));
    }
}

//! Schroeder 2003, section 4.1 (A), transient overload: workload W1 on the simple baseline.

use super::conditions::{self, AS_THE_PAPER, Conditions};
use super::w1_paper;
use crate::choice::Choice;
use crate::experiment::case::Case;
use crate::experiment::systems::{
    APACHE, BANDS, FAIR, KERNEL, NGINX, PROTECTIVE, QUEUES, SRPT, SYSTEMS,
};
use crate::experiment::{Evidence, Experiment, Group, largest, link_use, mean, pieces};
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

/// Packets of the transmit queue today: the kernel's default, and Linux 2.2's for comparison.
fn today(choice: &Choice) -> [(u32, Case); 2] {
    QUEUES.map(|queue| (queue, Conditions::Today.of(Case::w1(choice.scale)).queue(queue)))
}

fn groups(choice: &Choice) -> Vec<Group> {
    let paper = w1_paper::case(choice.scale);
    let mut groups = conditions::groups([&paper], &Conditions::Paper.systems(choice, &SYSTEMS));
    let systems = Conditions::Today.systems(choice, &SYSTEMS);
    groups.extend(today(choice).iter().flat_map(|(_, case)| case.groups(&systems)));
    groups
}

fn report(evidence: &Evidence<'_>, section: &mut Section) {
    section.text(
        "Load alternates between 25 s at 1.2 and 25 s at 0.2 of a 10 Mbit/s uplink; one connection \
         per request. Today's conditions: load in wire bytes, the kernel's queue of 1000 packets (and \
         the paper's of 100), and its initial retransmission timeout of a second.",
    );
    section.text(AS_THE_PAPER);
    w1_paper::report(evidence, section);
    let systems = Conditions::Today.systems(evidence.choice, &SYSTEMS);
    let [(_, case), _] = &today(evidence.choice);
    let titled = |what: &str| format!("{what}, queue of 1000, today");
    let title = titled("Response times over time");
    section.plot(pieces::over_time(evidence, &title, case, &systems));
    let title = titled("Distribution of response times");
    section.plot(pieces::distribution(evidence, &title, case, &systems));
    let title = titled("Response time by size");
    section.plot(pieces::by_size(evidence, &title, case, &systems));
    let title = titled("Connections at the server over time");
    section.plot(pieces::connections(evidence, &title, case, &systems));
    for (queue, case) in today(evidence.choice) {
        let caption = format!("W1, queue of {queue} packets, today.");
        section.table(pieces::table(evidence, caption, &case, &systems));
    }
    section.table(deciles(evidence, case));
    rows(evidence, section, case);
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
    let runs = evidence.runs;
    let (srpt, fair, protective) = (case.cell(SRPT), case.cell(FAIR), case.cell(PROTECTIVE));
    let mut row = |row: Row| Conditions::Today.row(section, row);
    for (queue, case) in today(evidence.choice) {
        for (system, bar) in
            [(NGINX, Some(if queue == 1000 { 10.5 } else { 19.0 })), (APACHE, None)]
        {
            let what = format!("{} ÷ weir srpt, means, queue of {queue}", label(system));
            let ours = runs.ratio(&case.cell(system), &case.cell(SRPT), mean);
            let paper = "8.0 (1.1 s ÷ 138 ms)";
            let found = Row::new(what, paper, ours, Unit::Times).paper_is(8.0);
            row(Row { bar: bar.map(Bar::AtLeast), ..found });
        }
    }
    let ours = runs.ratio(&fair, &srpt, mean);
    row(Row::new("weir fair ÷ weir srpt, means", "", ours, Unit::Times));
    let ours = runs.value(&srpt, pieces::over_exact);
    let what = "weir srpt ÷ exact SRPT at 0.99 × the rate, means";
    row(Row::new(what, "", ours, Unit::Times).bar(Bar::AtMost(1.20)));
    let ours = runs.value(&srpt, pieces::over_full_rate);
    row(Row::new("weir srpt ÷ exact SRPT at the full rate, means", "", ours, Unit::Times));
    let ours = runs.value(&srpt, link_use);
    let what = "weir srpt, link use in overload";
    row(Row::new(what, "", ours, Unit::Percent).bar(Bar::AtLeast(0.98)));
    for (system, what, bar) in
        [(KERNEL, "kernel bands and cap", Some(1.15)), (BANDS, "kernel bands alone", None)]
    {
        let cell = case.cell(system);
        let over = runs.value(&cell, pieces::over_exact);
        let over = Row::new(
            format!("{what} ÷ exact SRPT at 0.99 × the rate, means"),
            "",
            over,
            Unit::Times,
        );
        row(Row { bar: bar.map(Bar::AtMost), ..over });
        let over = runs.value(&cell, pieces::over_full_rate);
        row(Row::new(
            format!("{what} ÷ exact SRPT at the full rate, means"),
            "",
            over,
            Unit::Times,
        ));
        let used = runs.value(&cell, link_use);
        let used = Row::new(format!("{what}, link use in overload"), "", used, Unit::Percent);
        row(Row { bar: bar.map(|_| Bar::AtLeast(0.99)), ..used });
    }
    let ours = runs.ratio(&protective, &srpt, mean);
    row(Row::new("protective ÷ srpt, means", "", ours, Unit::Times).bar(Bar::AtMost(1.12)));
    let ours = runs.paired(&protective, &fair, worst_by_size);
    let what = "protective ÷ fair, worst of the size deciles and the largest 1 %";
    row(Row::new(what, "", ours, Unit::Times).bar(Bar::AtMost(1.03)));
    let ours = runs.ratio(&srpt, &case.cell(NGINX), largest);
    let what = "weir srpt ÷ nginx, largest 1 %";
    row(Row::new(what, "", ours, Unit::Times).bar(Bar::AtMost(1.0)));
    let ours = runs.value(&srpt, |outcome| outcome.incomplete);
    let what = "weir srpt, incomplete responses";
    row(Row::new(what, "", ours, Unit::Percent).bar(Bar::AtMost(0.0)));
}

//! Schroeder 2003, section 5.1: where the gain comes from. Its three suspects are taken away one by
//! one: refused SYNs by a larger backlog, long timeouts by a short RTO, drops in the transmit queue by
//! its length. What is left is queueing behind others.

use super::realistic::realistic;
use crate::choice::{Choice, Scale};
use crate::experiment::case::{Case, PAPER_BACKLOG};
use crate::experiment::systems::{APACHE, NGINX, SRPT};
use crate::experiment::workload::W4;
use crate::experiment::{Evidence, Experiment, Group, listen_drops, mean, pieces};
use crate::findings::{Axis, Row, Section, Unit, label};

pub(in crate::papers) const EXPERIMENT: Experiment = Experiment {
    name: "schroeder-why",
    paper: "Schroeder 2003",
    repeats: "Section 5.1: attribution of the gain; incomplete responses of the largest 1 %",
    title: "Why: backlog, timeouts, transmit queue",
    groups,
    report,
};

const OWN: [&str; 3] = [SRPT, NGINX, APACHE];
/// A backlog that nobody fills.
const LARGE: u32 = 8192;
/// Packets of the transmit queue.
const QUEUES: [u32; 6] = [50, 100, 200, 500, 1000, 2000];

/// W4 on the baseline and in the realistic case, each with the paper's backlog and a larger one.
fn backlogs(scale: Scale) -> [(&'static str, Case, Case); 2] {
    let of = |case: Case| (case.clone().backlog(PAPER_BACKLOG, false), case.backlog(LARGE, false));
    let (small, large) = of(Case::of(&W4, scale));
    let (small_real, large_real) = of(realistic(Case::of(&W4, scale)));
    [("W4", small, large), ("W4, realistic", small_real, large_real)]
}

fn timeouts(scale: Scale) -> [Case; 2] {
    let case = Case::w1(scale).queue(100);
    [case.clone().initial_rto(500), case]
}

fn groups(choice: &Choice) -> Vec<Group> {
    let (scale, systems) = (choice.scale, choice.systems(&OWN));
    let mut groups: Vec<Group> = Vec::new();
    for (_, small, large) in backlogs(scale) {
        groups.extend(small.groups(&systems));
        groups.extend(large.groups(&systems));
    }
    for case in timeouts(scale) {
        groups.extend(case.groups(&systems));
    }
    for queue in QUEUES.into_iter().filter(|queue| scale != Scale::Quick || *queue >= 100) {
        groups.extend(Case::w1(scale).queue(queue).points(&systems));
    }
    groups
}

fn report(evidence: &Evidence<'_>, section: &mut Section) {
    let scale = evidence.choice.scale;
    let systems = evidence.choice.systems(&OWN);
    section.text(
        "The paper found that neither refused SYNs nor packets lost inside the kernel explain the gain: \
         with both taken away SRPT is still 7 times better. Here the same three experiments.",
    );
    let queues: Vec<(f64, Case)> =
        QUEUES.iter().map(|&queue| (f64::from(queue), Case::w1(scale).queue(queue))).collect();
    section.plot(pieces::curve(
        evidence,
        "Transmit queue, W1",
        (Axis::log("packets"), Axis::log("mean response time, ms")),
        &queues,
        &systems,
        (mean, 1.0),
    ));
    section.plot(pieces::curve(
        evidence,
        "Packets dropped at the transmit queue, W1",
        (Axis::log("packets"), Axis::linear("packets dropped")),
        &queues,
        &systems,
        (|outcome| outcome.dropped as f64, 1.0),
    ));
    let named: Vec<(String, Case)> =
        queues.iter().map(|(queue, case)| (format!("{queue}"), case.clone())).collect();
    section.table(pieces::range_table(
        evidence,
        "Transmit queue, W1.",
        "packets",
        &named,
        &systems,
    ));
    let listed: Vec<(String, Case)> = backlogs(scale)
        .into_iter()
        .flat_map(|(name, small, large)| {
            [(format!("{name}, {PAPER_BACKLOG}"), small), (format!("{name}, {LARGE}"), large)]
        })
        .collect();
    section.table(pieces::range_table(evidence, "Listen backlog.", "backlog", &listed, &systems));
    rows(evidence, section, scale);
}

fn rows(evidence: &Evidence<'_>, section: &mut Section, scale: Scale) {
    for ((name, small, large), (paper, value)) in
        backlogs(scale).into_iter().zip([("0.95 or more", 0.97), ("0.70 or more", 0.7)])
    {
        for system in [NGINX, APACHE] {
            let what =
                format!("{}, {name}, backlog {LARGE} ÷ {PAPER_BACKLOG}, means", label(system));
            let ours = evidence.runs.ratio(&large.cell(system), &small.cell(system), mean);
            section.row(Row::new(what, paper, ours, Unit::Times).paper_is(value));
        }
        let ours = evidence.runs.value(&small.cell(APACHE), listen_drops);
        let what = format!("Apache prefork, {name}, refused with {PAPER_BACKLOG}");
        let paper = if name == "W4" { "1 % of the SYNs" } else { "20 % of the SYNs" };
        section.row(Row::new(what, paper, ours, Unit::Count));
    }
    let [short, _] = timeouts(scale);
    for system in [NGINX, APACHE] {
        let what = format!("{} ÷ weir srpt, RTO 0.5 s, queue of 100", label(system));
        let ours = evidence.runs.ratio(&short.cell(system), &short.cell(SRPT), mean);
        section.row(Row::new(what, "7", ours, Unit::Times).paper_is(7.0));
    }
    let longest = Case::w1(scale).queue(2000);
    for system in [NGINX, APACHE] {
        let what = format!("{} ÷ weir srpt, queue of 2000: nothing is lost", label(system));
        let ours = evidence.runs.ratio(&longest.cell(system), &longest.cell(SRPT), mean);
        let note = "what is left without drops is queueing behind others, the paper's problem 1";
        let paper = "no figure; longer than some point hurts";
        section.row(Row::new(what, paper, ours, Unit::Times).note(note));
    }
    let (_, small, _) = &backlogs(scale)[1];
    for system in [SRPT, NGINX, APACHE] {
        let what = format!("{}, incomplete among the largest 1 %, W4 realistic", label(system));
        let ours = evidence.runs.value(&small.cell(system), |o| o.incomplete_largest);
        let paper = if system == SRPT { "3 to 14 %" } else { "3 to 26 %" };
        section.row(Row::new(what, paper, ours, Unit::Percent));
    }
}

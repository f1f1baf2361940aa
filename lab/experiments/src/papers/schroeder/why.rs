//! Schroeder 2003, section 5.1: where the gain comes from. Its three suspects are taken away one by
//! one: refused SYNs by a larger backlog, long timeouts by a short RTO, drops in the transmit queue by
//! its length. What is left is queueing behind others.

use super::conditions::{self, AS_THE_PAPER, BOTH, Conditions};
use super::gains::{self, is, says};
use super::ranges::realistic;
use crate::choice::{Choice, Scale};
use crate::experiment::case::{Case, PAPER_BACKLOG};
use crate::experiment::systems::{APACHE, NGINX, SRPT};
use crate::experiment::workload::W4;
use crate::experiment::{Evidence, Experiment, Group, Measure, listen_drops, mean, pieces};
use crate::findings::{Axis, Bar, Row, Section, Unit, label};

pub(in crate::papers) const EXPERIMENT: Experiment = Experiment {
    name: "schroeder-why",
    paper: "Schroeder 2003",
    repeats: "Section 5.1: attribution of the gain",
    title: "Why: backlog, timeouts, transmit queue",
    groups,
    report,
};

const OWN: [&str; 3] = [SRPT, NGINX, APACHE];
/// A backlog that nobody fills.
const LARGE: u32 = 8192;
/// Packets of the transmit queue, the paper's 100 among them.
const QUEUES: [u32; 6] = [50, 100, 200, 500, 1000, 2000];

/// W4 on the baseline and in the realistic case, each with the paper's backlog and a larger one.
fn backlogs(scale: Scale) -> [(&'static str, Case, Case); 2] {
    let base = Conditions::Paper.of(Case::of(&W4, scale));
    let of = |name, case: Case| (name, case.clone(), case.backlog(LARGE, false));
    [of("W4", base.clone()), of("W4, realistic", realistic(base))]
}

/// W1 with transmit queues of these lengths.
fn queues(conditions: Conditions, scale: Scale) -> Vec<(f64, Case)> {
    let queues = QUEUES.into_iter().filter(|queue| scale != Scale::Quick || *queue >= 100);
    let base = conditions.of(Case::w1(scale));
    queues.map(|queue| (f64::from(queue), base.clone().queue(queue))).collect()
}

fn short(scale: Scale) -> Case {
    Conditions::Paper.of(Case::w1(scale)).initial_rto(500)
}

fn groups(choice: &Choice) -> Vec<Group> {
    let scale = choice.scale;
    let backlogs = backlogs(scale).into_iter().flat_map(|(_, small, large)| [small, large]);
    let mut cases: Vec<Case> = backlogs.chain([short(scale)]).collect();
    cases.extend(queues(Conditions::Paper, scale).into_iter().map(|(_, case)| case));
    let mut groups = conditions::groups(&cases, &Conditions::Paper.systems(choice, &OWN));
    let today = queues(Conditions::Today, scale);
    let systems = choice.systems(&OWN);
    groups.extend(today.iter().flat_map(|(_, case)| case.points(&systems)));
    groups
}

fn report(evidence: &Evidence<'_>, section: &mut Section) {
    section.text(
        "The paper found that neither refused SYNs nor packets lost inside the kernel explain the gain: \
         with both taken away SRPT is still 7 times better. Here the same three experiments.",
    );
    section.text(AS_THE_PAPER);
    for conditions in BOTH {
        let systems = conditions.systems(evidence.choice, &OWN);
        let queues = queues(conditions, evidence.choice.scale);
        let title = conditions.named("Transmit queue, W1");
        let axes = (Axis::log("packets"), Axis::log("mean response time, ms"));
        section.plot(pieces::curve(evidence, &title, axes, &queues, &systems, (mean, 1.0)));
        let title = conditions.named("Packets dropped at the transmit queue, W1");
        let axes = (Axis::log("packets"), Axis::linear("packets dropped"));
        let dropped: Measure = |outcome| outcome.dropped as f64;
        section.plot(pieces::curve(evidence, &title, axes, &queues, &systems, (dropped, 1.0)));
        let named: Vec<(String, Case)> =
            queues.iter().map(|(queue, case)| (format!("{queue}"), case.clone())).collect();
        let caption = conditions.named("Transmit queue, W1") + ".";
        section.table(pieces::range_table(evidence, &caption, "packets", &named, &systems));
    }
    let listed: Vec<(String, Case)> = backlogs(evidence.choice.scale)
        .into_iter()
        .flat_map(|(name, small, large)| {
            [(format!("{name}, {PAPER_BACKLOG}"), small), (format!("{name}, {LARGE}"), large)]
        })
        .collect();
    let systems = Conditions::Paper.systems(evidence.choice, &OWN);
    let caption = "Listen backlog, as the paper ran it.";
    section.table(pieces::range_table(evidence, caption, "backlog", &listed, &systems));
    backlog_rows(evidence, section);
    queue_rows(evidence, section);
}

/// Problem 2: dropped SYNs.
fn backlog_rows(evidence: &Evidence<'_>, section: &mut Section) {
    let refused: Measure = |outcome| listen_drops(outcome) / outcome.requests as f64;
    let better = [
        (is("1 % of the SYNs", 0.01), says("improves by under 5 %", Bar::Above(0.95))),
        (is("20 % of the SYNs", 0.20), is("improves by 30 %", 0.70)),
    ];
    for ((name, small, large), (drops, said)) in
        backlogs(evidence.choice.scale).into_iter().zip(better)
    {
        let word = format!("{name}, refused connections ÷ requests");
        let ours = evidence.runs.value(&small.cell(APACHE), refused);
        gains::say(section, format!("Apache prefork, {word}"), drops, ours, Unit::Percent);
        let word = format!("{name}, backlog of {LARGE} ÷ {PAPER_BACKLOG}");
        gains::change(evidence, section, (APACHE, &large, &small), (&word, said));
    }
}

/// Problem 3: packets lost inside the kernel.
fn queue_rows(evidence: &Evidence<'_>, section: &mut Section) {
    let scale = evidence.choice.scale;
    let said = is("still a factor of 7", 7.0);
    gains::gain(evidence, section, &short(scale), ("RTO 0.5 s", said));
    let of = |conditions: Conditions, packets: f64| {
        let found = queues(conditions, scale).into_iter().find(|(queue, _)| *queue == packets);
        found.map(|(_, case)| case)
    };
    let paper = |packets: f64| of(Conditions::Paper, packets);
    let (Some(hundred), Some(longest)) = (paper(100.0), paper(2000.0)) else { return };
    if let Some(some) = paper(200.0) {
        let said = says("slightly decreases up to a point", Bar::Below(1.0));
        let word = "queue of 200 ÷ 100";
        gains::change(evidence, section, (APACHE, &some, &hundred), (word, said));
    }
    let said = says("beyond that hurts", Bar::Above(1.0));
    let word = "queue of 2000 ÷ 100";
    gains::change(evidence, section, (APACHE, &longest, &hundred), (word, said));
    let Some(longest) = of(Conditions::Today, 2000.0) else { return };
    for system in [NGINX, APACHE] {
        let what = format!("{} ÷ weir srpt, queue of 2000: nothing is lost", label(system));
        let ours = evidence.runs.ratio(&longest.cell(system), &longest.cell(SRPT), mean);
        let note = "what is left without drops is queueing behind others, the paper's problem 1";
        Conditions::Today.row(section, Row::new(what, "", ours, Unit::Times).note(note));
    }
}

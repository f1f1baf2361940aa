//! Schroeder 2003, section 4.1 (J): delay, loss, persistent connections and impatient users together.

use crate::choice::{Choice, Scale};
use crate::experiment::case::Case;
use crate::experiment::systems::{APACHE, FAIR, NGINX, PROTECTIVE, SRPT};
use crate::experiment::workload::{W1, W4, W8, Workload};
use crate::experiment::{Evidence, Experiment, Group, Measure, largest, mean, pieces};
use crate::findings::{Bar, Row, Section, Unit, label};

pub(in crate::papers) const EXPERIMENT: Experiment = Experiment {
    name: "schroeder-realistic",
    paper: "Schroeder 2003",
    repeats: "Figure 8; Table 2, row J; section 4.2, the realistic case",
    title: "A realistic scenario",
    groups,
    report,
};

const OWN: [&str; 5] = [SRPT, PROTECTIVE, FAIR, NGINX, APACHE];
const WORKLOADS: [Workload; 3] = [W1, W4, W8];

/// Row J on any case.
pub(super) fn realistic(case: Case) -> Case {
    case.wan(100.0, 0.05).requests_per_connection(5).abort(7.0, 3)
}

fn groups(choice: &Choice) -> Vec<Group> {
    let systems = match choice.scale {
        Scale::Quick => choice.systems(&[SRPT, NGINX, APACHE]),
        _ => choice.systems(&OWN),
    };
    let mut groups: Vec<Group> = Vec::new();
    for workload in &WORKLOADS {
        groups.extend(realistic(Case::of(workload, choice.scale)).groups(&systems));
    }
    groups.extend(realistic(Case::w1(choice.scale)).queue(100).groups(&systems));
    groups
}

fn report(evidence: &Evidence<'_>, section: &mut Section) {
    let systems = evidence.choice.systems(&OWN);
    let scale = evidence.choice.scale;
    let w1 = realistic(Case::w1(scale));
    section.text(
        "100 ms of round-trip time, 5 % of the packets lost each way, 5 requests per connection, users \
         who abort after 7 s and retry up to 3 times. What limits the gain is what no server's \
         order changes: round trips for the handshake and the congestion window, and timeouts for \
         lost packets. A response of a few packets with 5 % lost each way waits for a timeout in \
         about one case of five even on an idle link.",
    );
    section.plot(pieces::over_time(evidence, "Figure 8: realistic, W1, over time", &w1, &systems));
    section.plot(pieces::by_size(evidence, "Realistic, W1, by size", &w1, &systems));
    for workload in &WORKLOADS {
        let case = realistic(Case::of(workload, scale));
        let caption = format!("Realistic, {}, queue of 1000 packets.", workload.name);
        section.table(pieces::table(evidence, caption, &case, &systems));
    }
    let short = w1.clone().queue(100);
    section.table(pieces::table(
        evidence,
        "Realistic, W1, queue of 100 packets.",
        &short,
        &systems,
    ));
    rows(evidence, section, &w1, &short);
}

fn rows(evidence: &Evidence<'_>, section: &mut Section, w1: &Case, short: &Case) {
    let gain =
        |system: &str, case: &Case| evidence.runs.ratio(&case.cell(system), &case.cell(SRPT), mean);
    let paper = "1.9 (1.48 s ÷ 764 ms)";
    let limits = "the rest is handshakes, slow start and timeouts, which every server has";
    let row = |what: &str, ours| Row::new(what, paper, ours, Unit::Times).paper_is(1.94);
    section.row(
        row("nginx ÷ weir srpt, means, W1, queue of 1000", gain(NGINX, w1))
            .bar(Bar::Above(1.9))
            .note(limits),
    );
    section.row(
        row("nginx ÷ weir srpt, means, W1, queue of 100", gain(NGINX, short)).bar(Bar::Above(1.9)),
    );
    section.row(row("Apache prefork ÷ weir srpt, means, W1", gain(APACHE, w1)));
    for workload in [W4, W8] {
        let case = realistic(Case::of(&workload, evidence.choice.scale));
        let what = format!("nginx ÷ weir srpt, means, {}", workload.name);
        let ours = gain(NGINX, &case);
        section.row(Row::new(what, "1.5 to 4 across the workloads", ours, Unit::Times));
    }
    let at_most = "1.02 (2.28 s ÷ 2.23 s)";
    let ours = evidence.runs.ratio(&w1.cell(SRPT), &w1.cell(NGINX), largest);
    section.row(
        Row::new("weir srpt ÷ nginx, largest 1 %, W1", at_most, ours, Unit::Times).paper_is(1.02),
    );
    let shares: [(&str, Measure, [&str; 3]); 2] = [
        ("incomplete", |o| o.incomplete, ["0.2 %", "10 to 15 %", "10 to 15 %"]),
        (
            "incomplete among the largest 1 %",
            |o| o.incomplete_largest,
            ["3 to 14 % SRPT, 3 to 26 % FAIR"; 3],
        ),
    ];
    for (word, figure, papers) in shares {
        for (workload, paper) in WORKLOADS.iter().zip(papers) {
            let case = realistic(Case::of(workload, evidence.choice.scale));
            for system in [SRPT, NGINX] {
                let what = format!("{}, {word}, {}", label(system), workload.name);
                let ours = evidence.runs.value(&case.cell(system), figure);
                section.row(Row::new(what, paper, ours, Unit::Percent));
            }
        }
    }
}

//! Schroeder 2003, section 4.1 (J): delay, loss, persistent connections and impatient users together.

use super::conditions::{self, AS_THE_PAPER, Conditions};
use super::ranges::realistic;
use super::realistic_paper;
use crate::choice::{Choice, Scale};
use crate::experiment::case::Case;
use crate::experiment::systems::{APACHE, FAIR, NGINX, PROTECTIVE, SRPT};
use crate::experiment::workload::{W1, W4, W8, Workload};
use crate::experiment::{Evidence, Experiment, Group, largest, mean, pieces};
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
const QUICK: [&str; 2] = [SRPT, NGINX];
/// Today's, one of each kind of overload.
const TODAY: [Workload; 3] = [W1, W4, W8];

fn today(choice: &Choice) -> (Vec<Case>, Vec<String>) {
    let own: &[&str] = if choice.scale == Scale::Quick { &QUICK } else { &OWN };
    let of = |workload: &Workload| realistic(Case::of(workload, choice.scale));
    (TODAY.iter().map(of).collect(), choice.systems(own))
}

fn groups(choice: &Choice) -> Vec<Group> {
    let paper = realistic_paper::cases(choice.scale);
    let paper = paper.iter().map(|(_, case)| case);
    let mut groups = conditions::groups(paper, &Conditions::Paper.systems(choice, &OWN));
    let (cases, systems) = today(choice);
    groups.extend(conditions::groups(&cases, &systems));
    let short = realistic(Case::w1(choice.scale)).queue(100);
    groups.extend(short.groups(&systems));
    groups
}

fn report(evidence: &Evidence<'_>, section: &mut Section) {
    section.text(
        "100 ms of round-trip time, 5 % of the packets lost each way, 5 requests per connection, users \
         who abort after 7 s and retry up to 3 times. What limits the gain is what no server's \
         order changes: round trips for the handshake and the congestion window, and timeouts for \
         lost packets. A response of a few packets with 5 % lost each way waits for a timeout in \
         about one case of five even on an idle link.",
    );
    section.text(AS_THE_PAPER);
    realistic_paper::report(evidence, section);
    let (cases, systems) = today(evidence.choice);
    for (workload, case) in TODAY.iter().zip(&cases) {
        let caption = format!("Realistic, {}, queue of 1000 packets, today.", workload.name);
        section.table(pieces::table(evidence, caption, case, &systems));
    }
    let w1 = &cases[0];
    let title = "Realistic, W1, over time, today";
    section.plot(pieces::over_time(evidence, title, w1, &systems));
    section.plot(pieces::by_size(evidence, "Realistic, W1, by size, today", w1, &systems));
    let short = w1.clone().queue(100);
    let caption = "Realistic, W1, queue of 100 packets, today.";
    section.table(pieces::table(evidence, caption, &short, &systems));
    today_rows(evidence, section, &cases, &short);
}

fn today_rows(evidence: &Evidence<'_>, section: &mut Section, cases: &[Case], short: &Case) {
    let mut row = |row: Row| Conditions::Today.row(section, row);
    let runs = evidence.runs;
    let gain = |case: &Case| runs.ratio(&case.cell(NGINX), &case.cell(SRPT), mean);
    let queues = [(1000, &cases[0]), (100, short)];
    for (queue, case) in queues {
        let what = format!("nginx ÷ weir srpt, means, W1, queue of {queue}");
        let found = Row::new(what, "1.9 (1.48 s ÷ 764 ms)", gain(case), Unit::Times);
        row(found.paper_is(1.94).bar(Bar::Above(1.9)));
    }
    for (workload, case) in TODAY.iter().zip(cases).skip(1) {
        let what = format!("nginx ÷ weir srpt, means, {}", workload.name);
        let found = Row::new(what, "1.5 to 4 across the workloads", gain(case), Unit::Times);
        row(found.paper_says(Bar::Between(1.5, 4.0)));
    }
    let w1 = &cases[0];
    let ours = runs.ratio(&w1.cell(SRPT), &w1.cell(NGINX), largest);
    let what = "weir srpt ÷ nginx, largest 1 %, W1";
    row(Row::new(what, "never more than 2 % higher", ours, Unit::Times)
        .paper_says(Bar::AtMost(1.02)));
    for (workload, case) in TODAY.iter().zip(cases) {
        for system in [SRPT, NGINX] {
            let what = format!("{}, incomplete, {}", label(system), workload.name);
            let ours = runs.value(&case.cell(system), |outcome| outcome.incomplete);
            let (paper, low, high) = realistic_paper::incomplete(workload);
            let claim = Bar::Between(low, high);
            row(Row::new(what, paper, ours, Unit::Percent).paper_says(claim));
        }
    }
}

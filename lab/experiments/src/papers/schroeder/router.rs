//! The bottleneck in a router behind the server: what a server that cannot see the queue does to its
//! users, and one that paces itself. Not in the paper, whose bottleneck is the server's own interface.

use crate::choice::Choice;
use crate::experiment::case::Case;
use crate::experiment::mean;
use crate::experiment::systems::{APACHE, FAIR, NGINX, PROTECTIVE, SRPT};
use crate::experiment::{Evidence, Experiment, Group, pieces};
use crate::findings::{Bar, Row, Section, Unit};

pub(in crate::papers) const EXPERIMENT: Experiment = Experiment {
    name: "schroeder-router",
    paper: "Schroeder 2003",
    repeats: "W1 of Table 1, with the bottleneck where the paper has none",
    title: "The bottleneck in a router behind the server",
    groups,
    report,
};

const OWN: [&str; 5] = [SRPT, PROTECTIVE, FAIR, NGINX, APACHE];

fn groups(choice: &Choice) -> Vec<Group> {
    let systems = choice.systems(&OWN);
    let plain = Case::w1(choice.scale).groups(&choice.systems(&[SRPT])).collect::<Vec<_>>();
    Case::w1(choice.scale).router().groups(&systems).chain(plain).collect()
}

fn report(evidence: &Evidence<'_>, section: &mut Section) {
    let case = Case::w1(evidence.choice.scale).router();
    let plain = Case::w1(evidence.choice.scale);
    let systems = evidence.choice.systems(&OWN);
    section.text(
        "The server's interface is fast and the 10 Mbit/s link follows a router with a queue of 1000 \
         packets. The kernel's fairness among sockets has no hold there.",
    );
    section.plot(pieces::over_time(evidence, "Response times over time, router", &case, &systems));
    section.plot(pieces::by_size(evidence, "Response time by size, router", &case, &systems));
    section.table(pieces::table(evidence, "W1, bottleneck in a router.", &case, &systems));
    let (srpt, nginx) = (case.cell(SRPT), case.cell(NGINX));
    section.row(
        Row::new(
            "nginx ÷ weir srpt, means",
            "",
            evidence.runs.ratio(&nginx, &srpt, mean),
            Unit::Times,
        )
        .bar(Bar::AtLeast(20.0)),
    );
    let apache = evidence.runs.ratio(&case.cell(APACHE), &srpt, mean);
    section.row(Row::new("Apache prefork ÷ weir srpt, means", "", apache, Unit::Times));
    let same = evidence.runs.ratio(&srpt, &plain.cell(SRPT), mean);
    section.row(Row::new("weir srpt, router ÷ own interface, means", "", same, Unit::Times));
}

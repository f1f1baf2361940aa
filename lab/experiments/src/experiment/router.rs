//! The bottleneck in a router behind the server: what a server that cannot see the queue does to its
//! users, and one that paces itself. Not in the paper, whose bottleneck is the server's own interface.

use crate::report::Section;
use crate::verdict::{Bar, Row, Unit};

use super::case::Case;
use super::conditions::{APACHE, FAIR, NGINX, PROTECTIVE, SRPT};
use super::runs::mean;
use super::{Choice, Experiment, Group, Told, pieces};

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "schroeder-router",
    paper: "Schroeder 2003",
    repeats: "W1 of Table 1, with the bottleneck where the paper has none",
    title: "The bottleneck in a router behind the server",
    groups,
    tell,
};

const OWN: [&str; 5] = [SRPT, PROTECTIVE, FAIR, NGINX, APACHE];

fn groups(choice: &Choice) -> Vec<Group> {
    let systems = choice.systems(&OWN);
    let plain = Case::w1(choice.scale).groups(&choice.systems(&[SRPT])).collect::<Vec<_>>();
    Case::w1(choice.scale).router().groups(&systems).chain(plain).collect()
}

fn tell(told: &Told<'_>, section: &mut Section) {
    let case = Case::w1(told.choice.scale).router();
    let plain = Case::w1(told.choice.scale);
    let systems = told.choice.systems(&OWN);
    section.text(
        "The server's interface is fast and the 10 Mbit/s link follows a router with a queue of 1000 \
         packets. The kernel's fairness among sockets has no hold there.",
    );
    section.plot(pieces::over_time(told, "Response times over time, router", &case, &systems));
    section.plot(pieces::by_size(told, "Response time by size, router", &case, &systems));
    section.table(pieces::table(told, "W1, bottleneck in a router.", &case, &systems));
    let (srpt, nginx) = (case.cell(SRPT), case.cell(NGINX));
    section.row(
        Row::new("nginx ÷ weir srpt, means", "", told.runs.ratio(&nginx, &srpt, mean), Unit::Times)
            .bar(Bar::AtLeast(20.0)),
    );
    let apache = told.runs.ratio(&case.cell(APACHE), &srpt, mean);
    section.row(Row::new("Apache prefork ÷ weir srpt, means", "", apache, Unit::Times));
    let same = told.runs.ratio(&srpt, &plain.cell(SRPT), mean);
    section.row(Row::new("weir srpt, router ÷ own interface, means", "", same, Unit::Times));
}

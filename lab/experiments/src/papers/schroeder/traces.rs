//! The comparison of W1 on three real traces, request by request, scaled to the link.

use super::nasa::NASA;
use crate::choice::Choice;
use crate::experiment::case::Case;
use crate::experiment::systems::{APACHE, FAIR, NGINX, PROTECTIVE, SRPT};
use crate::experiment::{Evidence, Experiment, Group, largest, mean, pieces};
use crate::findings::{Bar, Row, Section, Unit};

pub(in crate::papers) const EXPERIMENT: Experiment = Experiment {
    name: "real-traces",
    paper: "Schroeder 2003",
    repeats: "W1 of Table 1, on traces the paper does not have",
    title: "Real traces: NASA, SEC EDGAR, CRAN",
    groups,
    report,
};

const OWN: [&str; 5] = [SRPT, PROTECTIVE, FAIR, NGINX, APACHE];

/// Name, file, and what it is.
const TRACES: [(&str, &str, &str); 3] = [
    ("NASA", NASA, "1 August 1995, mean 15.6 KB"),
    ("EDGAR", "edgar-20170630-25k.csv.gz", "71 s of 30 June 2017, mean 130 KB, largest 137 MB"),
    ("CRAN", "cran-mirror-2012.csv.gz", "downloads of a mirror, 2012, mean 812 KB, median 241 KB"),
];

fn case(choice: &Choice, file: &str) -> Case {
    Case::w1(choice.scale).traced(file)
}

fn groups(choice: &Choice) -> Vec<Group> {
    let systems = choice.systems(&OWN);
    let of = |(_, file, _): (_, &str, _)| case(choice, file).groups(&systems).collect::<Vec<_>>();
    TRACES.into_iter().flat_map(of).collect()
}

fn report(evidence: &Evidence<'_>, section: &mut Section) {
    let systems = evidence.choice.systems(&OWN);
    section.text(
        "Each trace keeps its own order and interarrivals, scaled so that W1's periods have their load. \
         EDGAR and CRAN have responses that take a 10 Mbit/s link minutes, so few requests make up \
         the load and seeds differ much.",
    );
    for (name, file, about) in TRACES {
        let case = case(evidence.choice, file);
        let title = format!("{name}: response time by size");
        section.plot(pieces::by_size(evidence, &title, &case, &systems));
        let caption = format!("{name} ({about}), W1.");
        section.table(pieces::table(evidence, caption, &case, &systems));
        let srpt = case.cell(SRPT);
        for (word, rival) in [("nginx", NGINX), ("Apache prefork", APACHE)] {
            let ours = evidence.runs.ratio(&case.cell(rival), &srpt, mean);
            let row = Row::new(format!("{name}: {word} ÷ weir srpt, means"), "", ours, Unit::Times);
            section.row(row.bar(Bar::Above(1.0)));
        }
        let ours = evidence.runs.ratio(&case.cell(PROTECTIVE), &srpt, mean);
        section.row(Row::new(format!("{name}: protective ÷ srpt, means"), "", ours, Unit::Times));
        let ours = evidence.runs.ratio(&srpt, &case.cell(NGINX), largest);
        section.row(Row::new(
            format!("{name}: weir srpt ÷ nginx, largest 1 %"),
            "",
            ours,
            Unit::Times,
        ));
    }
}

//! W1 through TLS: whether the order of responses stays exact when the link also carries records and
//! handshakes. Not in the paper, which has clear text.

use super::w1::worst_by_size;
use crate::choice::Choice;
use crate::experiment::case::Case;
use crate::experiment::systems::{FAIR, NGINX, PROTECTIVE, SRPT};
use crate::experiment::{Evidence, Experiment, Group, Measure, largest, link_use, mean, pieces};
use crate::findings::{Bar, Row, Section, Unit, label};

pub(in crate::papers) const EXPERIMENT: Experiment = Experiment {
    name: "schroeder-tls",
    paper: "Schroeder 2003",
    repeats: "W1 of Table 1, through TLS",
    title: "Transient overload through TLS",
    groups,
    report,
};

const OWN: [&str; 4] = [SRPT, PROTECTIVE, FAIR, NGINX];

/// W1 through TLS.
fn secure(choice: &Choice) -> Case {
    Case::w1(choice.scale).tls()
}

fn groups(choice: &Choice) -> Vec<Group> {
    let clear = Case::w1(choice.scale);
    let systems = choice.systems(&OWN);
    [secure(choice), clear].iter().flat_map(|case| case.groups(&systems)).collect()
}

fn report(evidence: &Evidence<'_>, section: &mut Section) {
    let (case, clear) = (secure(evidence.choice), Case::w1(evidence.choice.scale));
    let systems = evidence.choice.systems(&OWN);
    section.text(
        "Every connection carries one request and has a full handshake: TLS 1.3, AES-128-GCM, x25519, \
         a certificate of P-256. Load counts the bytes of TLS too: 22 for each record, which fills a \
         segment up to 64 KB and then has 16 KB, and the server's part of the handshake. So do the exact \
         servers, for whom a response is as large as it is on the wire. How large a system's own \
         records and handshakes are is its own affair.",
    );
    section.plot(pieces::over_time(evidence, "Response times over time, TLS", &case, &systems));
    section.plot(pieces::by_size(evidence, "Response time by size, TLS", &case, &systems));
    section.table(pieces::table(evidence, "W1 through TLS.", &case, &systems));
    section.table(pieces::table(evidence, "W1 in clear text.", &clear, &systems));
    let runs = evidence.runs;
    for system in [SRPT, PROTECTIVE] {
        let cell = case.cell(system);
        let mut row = |what: &str, figure: Measure, unit, bar: Option<Bar>| {
            let what = format!("{}, {what}", label(system));
            let row = Row::new(what, "", runs.value(&cell, figure), unit);
            section.row(Row { bar, ..row });
        };
        let exact = "÷ exact SRPT with records at 0.99 × the rate, means";
        row(exact, pieces::over_exact, Unit::Times, Some(Bar::AtMost(1.10)));
        let full = "÷ exact SRPT with records at the full rate, means";
        row(full, pieces::over_full_rate, Unit::Times, None);
        row("link use in overload", link_use, Unit::Percent, Some(Bar::AtLeast(0.98)));
        row("incomplete responses", |o| o.incomplete, Unit::Percent, Some(Bar::AtMost(0.0)));
        row("later than exact sharing by more than 50 ms", pieces::late, Unit::Percent, None);
    }
    let (fair, protective) = (case.cell(FAIR), case.cell(PROTECTIVE));
    let ours = runs.paired(&protective, &fair, worst_by_size);
    let what = "protective ÷ fair, worst of the size deciles and the largest 1 %";
    section.row(Row::new(what, "", ours, Unit::Times).bar(Bar::AtMost(1.03)));
    let ours = runs.ratio(&case.cell(NGINX), &case.cell(SRPT), mean);
    section.row(Row::new("nginx ÷ weir srpt, means", "", ours, Unit::Times));
    let ours = runs.ratio(&case.cell(SRPT), &case.cell(NGINX), largest);
    section.row(Row::new("weir srpt ÷ nginx, largest 1 %", "", ours, Unit::Times));
    let ours = runs.ratio(&case.cell(SRPT), &clear.cell(SRPT), mean);
    section.row(Row::new("weir srpt, TLS ÷ clear text, means", "", ours, Unit::Times));
}

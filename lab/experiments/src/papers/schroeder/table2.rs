//! Schroeder 2003, Table 2, the rows that change one thing of the baseline: persistent connections
//! (E), initial RTO (F), SYN cookies (G), packet length (I).

use super::conditions::{self, AS_THE_PAPER, BOTH, Conditions};
use super::gains::{self, Figure, Said, is, says};
use super::ranges::{self, Range};
use crate::choice::{Choice, Scale};
use crate::experiment::case::{Case, PAPER_BACKLOG};
use crate::experiment::systems::{APACHE, BANDS, NGINX, RIVALS, SRPT};
use crate::experiment::workload::{W1, W4, Workload};
use crate::experiment::{Evidence, Experiment, Group, mean, pieces};
use crate::findings::{Axis, Bar, Row, Section, Unit, label};

pub(in crate::papers) const PERSISTENT_CONNECTIONS: Experiment = Experiment {
    name: "schroeder-persistent-connections",
    paper: "Schroeder 2003",
    repeats: "Figure 6 (E); Table 2, row E",
    title: "Persistent connections",
    groups: |choice| of(choice, |base| ranges::requests(&base)),
    report: report_persistent,
};

pub(in crate::papers) const RTO: Experiment = Experiment {
    name: "schroeder-rto",
    paper: "Schroeder 2003",
    repeats: "Figure 6 (F); Table 2, row F",
    title: "The initial retransmission timeout",
    groups: |choice| of(choice, |base| ranges::timeouts(&base.queue(100))),
    report: report_rto,
};

pub(in crate::papers) const SYN_COOKIES: Experiment = Experiment {
    name: "schroeder-syn-cookies",
    paper: "Schroeder 2003",
    repeats: "Section 4.1 (G); Table 2, row G",
    title: "SYN cookies",
    groups: |choice| {
        let cases = cookies(choice.scale);
        let systems = Conditions::Paper.systems(choice, &RIVALS);
        conditions::groups(cases.iter().map(|(_, case)| case), &systems)
    },
    report: report_cookies,
};

pub(in crate::papers) const PACKET_LENGTH: Experiment = Experiment {
    name: "schroeder-packet-length",
    paper: "Schroeder 2003",
    repeats: "Figure 6 (I); Table 2, row I",
    title: "Packet length",
    groups: |choice| of(choice, |base| ranges::lengths(&base)),
    report: report_lengths,
};

/// The range of a row in the paper's conditions and in today's.
fn of(choice: &Choice, range: impl Fn(Case) -> Range) -> Vec<Group> {
    let in_conditions = |conditions: Conditions| {
        let cases = range(conditions.of(Case::w1(choice.scale)));
        let systems = conditions.systems(choice, &RIVALS);
        conditions::groups(cases.iter().map(|(_, case)| case), &systems)
    };
    BOTH.into_iter().flat_map(in_conditions).collect()
}

fn cookies(scale: Scale) -> Vec<(String, Case)> {
    let case = |(workload, on): (&Workload, bool)| {
        let word = if on { "on" } else { "off" };
        let case = Conditions::Paper.of(Case::of(workload, scale)).backlog(PAPER_BACKLOG, on);
        (format!("{}, cookies {word}", workload.name), case)
    };
    [(&W1, false), (&W1, true), (&W4, false), (&W4, true)].map(case).to_vec()
}

/// Plot and table of a range.
fn range(
    evidence: &Evidence<'_>,
    section: &mut Section,
    (conditions, title, x): (Conditions, &str, &str),
    cases: &Range,
) {
    let systems = conditions.systems(evidence.choice, &RIVALS);
    let axes = (Axis::linear(x), Axis::linear("mean response time, s"));
    let title = conditions.named(title);
    section.plot(pieces::curve(evidence, &title, axes, cases, &systems, (mean, 1e-3)));
    let named = named(cases);
    section.table(pieces::range_table(evidence, &(title + "."), x, &named, &systems));
}

fn named(cases: &Range) -> Vec<(String, Case)> {
    cases.iter().map(|(at, case)| (at.to_string(), case.clone())).collect()
}

/// Today's rows: the others over `srpt` in one case, with the paper's figure beside them.
fn today(evidence: &Evidence<'_>, section: &mut Section, case: &Case, word: &str, said: Said) {
    for system in [NGINX, APACHE] {
        let ours = evidence.runs.ratio(&case.cell(system), &case.cell(SRPT), mean);
        let what = format!("{} ÷ weir srpt, {word}", label(system));
        let row = Row { claim: said.claim, ..Row::new(what, said.words, ours, Unit::Times) };
        Conditions::Today.row(section, row);
    }
}

fn report_persistent(evidence: &Evidence<'_>, section: &mut Section) {
    section.text(
        "A request takes an idle connection that has not carried its number of requests yet, and makes \
         a new one if there is none (section 3.3.3).",
    );
    section.text(AS_THE_PAPER);
    let gains = says("still a factor of 3 with up to 10", Bar::AtLeast(3.0));
    for conditions in BOTH {
        let cases = ranges::requests(&conditions.of(Case::w1(evidence.choice.scale)));
        let title = "Figure 6 (E): requests per connection";
        range(evidence, section, (conditions, title, "requests"), &cases);
        let [(_, one), (_, five), (_, ten)] = cases.as_slice() else { continue };
        if conditions == Conditions::Today {
            today(evidence, section, ten, "10 requests per connection", gains);
            continue;
        }
        let (fair, srpt) = (is("0.5", 0.5), is("hardly affected", 1.0));
        let word = "5 requests per connection ÷ 1";
        gains::changes(evidence, section, (five, one), (word, fair, srpt));
        gains::gain(evidence, section, ten, ("10 requests per connection", gains));
    }
}

fn report_rto(evidence: &Evidence<'_>, section: &mut Section) {
    section.text(
        "Queue of 100 packets in all, as in the paper, where SYN-ACKs are lost in the server's own \
         queue. Linux has waited 1 s instead of 3 for the first answer since 2011 (RFC 6298).",
    );
    section.text(AS_THE_PAPER);
    let least = says("always at least a factor of 4", Bar::AtLeast(4.0));
    for conditions in BOTH {
        let base = conditions.of(Case::w1(evidence.choice.scale)).queue(100);
        let cases = ranges::timeouts(&base);
        let title = "Figure 6 (F): initial RTO, queue of 100";
        range(evidence, section, (conditions, title, "RTO, ms"), &cases);
        let [(_, short), (_, second), (_, long)] = cases.as_slice() else { continue };
        if conditions == Conditions::Today {
            today(evidence, section, second, "RTO 1 s, the kernel's own, queue of 100", least);
            continue;
        }
        let (fair, srpt) = (is("0.73 (0.8 s ÷ 1.1 s)", 0.73), is("does not improve", 1.0));
        gains::changes(evidence, section, (short, long), ("RTO 0.5 s ÷ 3 s", fair, srpt));
        gains::each(evidence, section, short, &SHORT_MEAN);
        gains::least_gain(evidence, section, &named(&cases), ("least over the RTOs, ms", least));
        let said = is("still a factor of 7 (section 5.1)", 7.0);
        gains::gain(evidence, section, short, ("RTO 0.5 s", said));
    }
}

/// Of row F's own case.
const SHORT_MEAN: Figure = Figure::of("mean, RTO 0.5 s", Unit::Ms, mean).fair(is("0.8 s", 800.0));

fn report_cookies(evidence: &Evidence<'_>, section: &mut Section) {
    let systems = Conditions::Paper.systems(evidence.choice, &RIVALS);
    let cases = cookies(evidence.choice.scale);
    section.text(
        "Listen queues of 512. The paper's Linux 2.2 kept a queue of half-open connections of its own \
         length; today's kernel makes a connection's entry only when its handshake is complete, \
         refuses a SYN when the accept queue is full whether cookies are on or not, and sends cookies \
         only when half-open connections fill the backlog. Without a flood of SYNs from nowhere they \
         never do, so the switch has nothing to act on.",
    );
    section.text(AS_THE_PAPER);
    let caption = "SYN cookies, listen queues of 512.";
    section.table(pieces::range_table(evidence, caption, "workload", &cases, &systems));
    let reason =
        "half-open connections do not fill the backlog on this kernel, so no cookie is sent";
    for (workload, off, on) in [("W1", 0, 1), ("W4", 2, 3)] {
        for system in [APACHE, BANDS, SRPT] {
            let what = format!("{}, {workload}, cookies on ÷ off, means", label(system));
            let ours =
                evidence.runs.ratio(&cases[on].1.cell(system), &cases[off].1.cell(system), mean);
            let paper = match (system, workload) {
                (APACHE, "W4") => "0.95 to 0.98",
                (APACHE, _) => "hardly affected",
                _ => "not affected",
            };
            let row = Row::new(what, paper, ours, Unit::Times).not_comparable(reason);
            Conditions::Paper.row(section, row);
        }
    }
}

fn report_lengths(evidence: &Evidence<'_>, section: &mut Section) {
    section.text(
        "Packets of 576 bytes carry segments of 524 with timestamps (536 without, the default of RFC \
         1122). Today's load counts the headers of the packets that are really sent, so fewer \
         requests are asked for where packets are short; the paper's load counts file bytes only.",
    );
    section.text(AS_THE_PAPER);
    let least = says("always at least a factor of 6", Bar::AtLeast(6.0));
    for conditions in BOTH {
        let cases = ranges::lengths(&conditions.of(Case::w1(evidence.choice.scale)));
        let title = "Figure 6 (I): packet length";
        range(evidence, section, (conditions, title, "packet length, bytes"), &cases);
        let [(_, small), _, (_, full)] = cases.as_slice() else { continue };
        if conditions == Conditions::Today {
            today(evidence, section, small, "576 bytes", least);
            continue;
        }
        let fair = is("almost 1.5 (1.6 s ÷ 1.1 s)", 1.45);
        let srpt = is("doubles (260 ms ÷ 138 ms)", 1.88);
        gains::changes(evidence, section, (small, full), ("576 bytes ÷ 1500", fair, srpt));
        gains::each(evidence, section, small, &SMALL_MEAN);
        let word = "least over the lengths, bytes";
        gains::least_gain(evidence, section, &named(&cases), (word, least));
    }
}

/// Of row I's own case.
const SMALL_MEAN: Figure = Figure::of("mean, 576 bytes", Unit::Ms, mean)
    .fair(is("1.6 s", 1600.0))
    .srpt(is("260 ms", 260.0));

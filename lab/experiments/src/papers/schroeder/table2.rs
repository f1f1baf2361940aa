//! Schroeder 2003, Table 2, the rows that change one thing of the baseline: persistent connections
//! (E), initial RTO (F), SYN cookies (G), packet length (I).

use crate::choice::{Choice, Scale};
use crate::experiment::case::{Case, PAPER_BACKLOG};
use crate::experiment::systems::{APACHE, NGINX, RIVALS, SRPT};
use crate::experiment::workload::{W1, W4};
use crate::experiment::{Evidence, Experiment, Group, listen_drops, mean, pieces};
use crate::findings::{Axis, Ours, Row, Section, Unit, label};

pub(in crate::papers) const PERSISTENT_CONNECTIONS: Experiment = Experiment {
    name: "schroeder-persistent-connections",
    paper: "Schroeder 2003",
    repeats: "Figure 6 (E); Table 2, row E",
    title: "Persistent connections",
    groups: |choice| of(choice, &persistent(choice.scale)),
    report: report_persistent,
};

pub(in crate::papers) const RTO: Experiment = Experiment {
    name: "schroeder-rto",
    paper: "Schroeder 2003",
    repeats: "Figure 6 (F); Table 2, row F",
    title: "The initial retransmission timeout",
    groups: |choice| of(choice, &timeouts(choice.scale)),
    report: report_rto,
};

pub(in crate::papers) const SYN_COOKIES: Experiment = Experiment {
    name: "schroeder-syn-cookies",
    paper: "Schroeder 2003",
    repeats: "Section 4.1 (G); Table 2, row G",
    title: "SYN cookies",
    groups: |choice| {
        let systems = choice.systems(&COOKIE_SYSTEMS);
        let cases = cookies(choice.scale);
        cases.iter().flat_map(|(_, case)| case.groups(&systems).collect::<Vec<_>>()).collect()
    },
    report: report_cookies,
};

pub(in crate::papers) const PACKET_LENGTH: Experiment = Experiment {
    name: "schroeder-packet-length",
    paper: "Schroeder 2003",
    repeats: "Figure 6 (I); Table 2, row I",
    title: "Packet length",
    groups: |choice| of(choice, &lengths(choice.scale)),
    report: report_lengths,
};

fn of(choice: &Choice, cases: &[(f64, Case)]) -> Vec<Group> {
    let systems = choice.systems(&RIVALS);
    cases.iter().flat_map(|(_, case)| case.groups(&systems).collect::<Vec<_>>()).collect()
}

/// Requests on a connection.
fn persistent(scale: Scale) -> Vec<(f64, Case)> {
    [1, 5, 10].map(|n| (f64::from(n), Case::w1(scale).requests_per_connection(n))).to_vec()
}

/// Initial RTO in ms. The paper's queue, so that something is lost: SYN-ACKs too.
fn timeouts(scale: Scale) -> Vec<(f64, Case)> {
    let case = Case::w1(scale).queue(100);
    let set = |ms: u32| (f64::from(ms), case.clone().initial_rto(ms));
    vec![set(500), (1000.0, case.clone()), set(3000)]
}

/// Bytes of a packet.
fn lengths(scale: Scale) -> Vec<(f64, Case)> {
    [576, 1000, 1500].map(|n| (f64::from(n), Case::w1(scale).mtu(n))).to_vec()
}

const COOKIE_SYSTEMS: [&str; 3] = [SRPT, NGINX, APACHE];

fn cookies(scale: Scale) -> Vec<(String, Case)> {
    let each = [(W1, false), (W1, true), (W4, false), (W4, true)];
    let case = |(workload, on): (crate::experiment::workload::Workload, bool)| {
        let word = if on { "on" } else { "off" };
        let case = Case::of(&workload, scale).backlog(PAPER_BACKLOG, on);
        (format!("{}, cookies {word}", workload.name), case)
    };
    each.map(case).to_vec()
}

/// Plot, table and the gains of the others over `srpt` at each condition.
fn range(
    evidence: &Evidence<'_>,
    section: &mut Section,
    (title, x, word): (&str, Axis, &str),
    cases: &[(f64, Case)],
) {
    let systems = evidence.choice.systems(&RIVALS);
    let y = Axis::linear("mean response time, s");
    section.plot(pieces::curve(evidence, title, (x, y), cases, &systems, (mean, 1e-3)));
    let named = cases.iter().map(|(at, case)| (format!("{at} {word}"), case.clone()));
    section.table(pieces::range_table(evidence, title, word, &named.collect::<Vec<_>>(), &systems));
}

fn gain(evidence: &Evidence<'_>, system: &str, case: &Case) -> Ours {
    evidence.runs.ratio(&case.cell(system), &case.cell(SRPT), mean)
}

/// A system under a case over the same under another.
fn change(evidence: &Evidence<'_>, system: &str, above: &Case, below: &Case) -> Ours {
    evidence.runs.ratio(&above.cell(system), &below.cell(system), mean)
}

fn report_persistent(evidence: &Evidence<'_>, section: &mut Section) {
    let cases = persistent(evidence.choice.scale);
    section.text(
        "A request takes an idle connection that has not carried its number of requests yet, and makes \
         a new one if there is none (section 3.3.3).",
    );
    let x = Axis::linear("requests per connection");
    range(evidence, section, ("Figure 6 (E): requests per connection", x, "requests"), &cases);
    let [one, five, ten] = [&cases[0].1, &cases[1].1, &cases[2].1];
    for system in [NGINX, APACHE, SRPT] {
        let (paper, value) = if system == SRPT { ("hardly affected", 1.0) } else { ("0.5", 0.5) };
        let what = format!("{}, 5 requests per connection ÷ 1, means", label(system));
        let ours = change(evidence, system, five, one);
        section.row(Row::new(what, paper, ours, Unit::Times).paper_is(value));
    }
    for system in [NGINX, APACHE] {
        let what = format!("{} ÷ weir srpt, 10 requests per connection", label(system));
        section.row(Row::new(what, "3", gain(evidence, system, ten), Unit::Times).paper_is(3.0));
    }
}

fn report_rto(evidence: &Evidence<'_>, section: &mut Section) {
    let cases = timeouts(evidence.choice.scale);
    section.text(
        "Queue of 100 packets, as in the paper, where SYN-ACKs are lost in the server's own queue. Linux \
         has waited 1 s instead of 3 for the first answer since 2011 (RFC 6298): that is today's \
         baseline, between the paper's two.",
    );
    let x = Axis::linear("initial RTO, ms");
    range(evidence, section, ("Figure 6 (F): initial RTO, queue of 100", x, "ms"), &cases);
    let [short, today, long] = [&cases[0].1, &cases[1].1, &cases[2].1];
    for system in [NGINX, APACHE] {
        let label = label(system);
        let what = format!("{label}, RTO 0.5 s ÷ 3 s, means");
        let ours = change(evidence, system, short, long);
        section.row(Row::new(what, "0.73 (0.8 s ÷ 1.1 s)", ours, Unit::Times).paper_is(0.73));
        let what = format!("{label} ÷ weir srpt, RTO 0.5 s");
        let ours = gain(evidence, system, short);
        section
            .row(Row::new(what, "at least 4; section 5.1 says 7", ours, Unit::Times).paper_is(7.0));
    }
    for system in [NGINX, APACHE] {
        let label = label(system);
        let row = Row::new(
            format!("{label} ÷ weir srpt, RTO 3 s"),
            "8",
            gain(evidence, system, long),
            Unit::Times,
        );
        section.row(row.paper_is(8.0));
        let today = gain(evidence, system, today);
        let row = Row::new(format!("{label} ÷ weir srpt, RTO 1 s"), "", today, Unit::Times);
        section.row(row.note("the kernel's own"));
    }
}

fn report_cookies(evidence: &Evidence<'_>, section: &mut Section) {
    let systems = evidence.choice.systems(&COOKIE_SYSTEMS);
    let cases = cookies(evidence.choice.scale);
    section.text(
        "Listen queues of 512. The paper's Linux 2.2 kept a queue of half-open connections of its own \
         length; today's kernel makes a connection's entry only when its handshake is complete, \
         refuses a SYN when the accept queue is full whether cookies are on or not, and sends cookies \
         only when half-open connections fill the backlog. Without a flood of SYNs from nowhere they \
         never do, so the switch has nothing to act on.",
    );
    let caption = "SYN cookies, listen queues of 512.";
    section.table(pieces::range_table(evidence, caption, "workload", &cases, &systems));
    let reason =
        "half-open connections do not fill the backlog on this kernel, so no cookie is sent";
    for (workload, off, on) in [("W1", 0, 1), ("W4", 2, 3)] {
        for system in [NGINX, APACHE, SRPT] {
            let label = label(system);
            let what = format!("{label}, {workload}, cookies on ÷ off, means");
            let ours = change(evidence, system, &cases[on].1, &cases[off].1);
            let paper =
                if workload == "W1" { "no effect" } else { "0.95 to 0.98 where SYNs are dropped" };
            section.row(Row::new(what, paper, ours, Unit::Times).not_comparable(reason));
        }
    }
    let refused = evidence.runs.value(&cases[2].1.cell(APACHE), listen_drops);
    let paper = "1 % of the SYNs";
    section.row(Row::new("Apache prefork, W4, connections refused", paper, refused, Unit::Count));
}

fn report_lengths(evidence: &Evidence<'_>, section: &mut Section) {
    let cases = lengths(evidence.choice.scale);
    section.text(
        "Packets of 576 bytes carry segments of 524 with timestamps (536 without, the default of RFC \
         1122). Offered load counts the headers of the packets that are really sent, so fewer requests \
         are asked for where packets are short; the paper's load counts file bytes only, and its \
         response times grow more.",
    );
    let x = Axis::linear("packet length, bytes");
    range(evidence, section, ("Figure 6 (I): packet length", x, "bytes"), &cases);
    let [small, _, full] = [&cases[0].1, &cases[1].1, &cases[2].1];
    for (system, paper, value) in [
        (NGINX, "1.45 (1.6 s ÷ 1.1 s)", 1.45),
        (APACHE, "1.45 (1.6 s ÷ 1.1 s)", 1.45),
        (SRPT, "1.88 (260 ms ÷ 138 ms)", 1.88),
    ] {
        let what = format!("{}, 576 bytes ÷ 1500, means", label(system));
        let ours = change(evidence, system, small, full);
        section.row(Row::new(what, paper, ours, Unit::Times).paper_is(value));
    }
    for system in [NGINX, APACHE] {
        let what = format!("{} ÷ weir srpt, 576 bytes", label(system));
        section.row(
            Row::new(what, "at least 6", gain(evidence, system, small), Unit::Times).paper_is(6.0),
        );
    }
}

//! Crovella, Frangioso & Harchol-Balter 1999, section 5: SURGE's users in a closed loop, below, around
//! and above saturation, and how much of the order is lost to bytes that wait in the kernel.

use crate::choice::{Choice, Scale};
use crate::experiment::case::Case;
use crate::experiment::systems::{APACHE, FAIR, SRPT};
use crate::experiment::{Evidence, Experiment, Group, Measure, largest, mean, pieces};
use crate::findings::{Axis, Bar, Plot, Row, Section, Table, Unit, label, series};
use crate::outcome::Outcome;

pub(in crate::papers) const LOAD: Experiment = Experiment {
    name: "crovella",
    paper: "Crovella 1999",
    repeats: "Figures 2, 3 and 4; sections 5.1 to 5.3",
    title: "Shortest connection first, with SURGE's users",
    groups: load_groups,
    report: report_load,
};

pub(in crate::papers) const CONCURRENCY: Experiment = Experiment {
    name: "crovella-concurrency",
    paper: "Crovella 1999",
    repeats: "Figures 5 and 6; section 5.4",
    title: "Write concurrency: bytes in the kernel",
    groups: concurrency_groups,
    report: report_concurrency,
};

/// In what a row is unlike the paper's, beside the scale of its users.
const UNLIKE: &str = "unlike the paper: 10 Mbit/s for 100, users in proportion, Apache 2.4 for 1.2.5, \
     at full scale 150 s for 10 minutes";

const OWN: [&str; 3] = [SRPT, FAIR, APACHE];

/// Users who ask for as much as a 10 Mbit/s link carries, if answers came at once: SURGE's users of
/// `weir-workload` ask for 3.2 to 4.3 KB a second each, by seed. The paper's network queue begins to
/// grow at 1000.
const FULL: u32 = 340;

/// The paper's loads of 400 to 2000 users, and less: its server's threads hid what queued below 1000.
const USERS: [u32; 7] = [LIGHT, 70, 140, 240, FULL, MODERATE, ABOVE];
/// A tenth of what fills the link.
const LIGHT: u32 = 34;
/// The paper's 1400.
const MODERATE: u32 = 480;
/// The paper's 1800.
const ABOVE: u32 = 610;

/// Caps on bytes in the kernel, as the server's flag takes them.
const CAPS: [(f64, &str); 6] =
    [(16e3, "16kb"), (64e3, "64kb"), (256e3, "256kb"), (1e6, "1mb"), (4e6, "4mb"), (16e6, "16mb")];
/// Little enough that the server orders nearly everything.
const CONTROLLED: &str = "64kb";

/// A row with a figure of the paper, which says in what it is unlike it.
fn beside(section: &mut Section, row: Row) {
    let note =
        if row.note.is_empty() { UNLIKE.to_owned() } else { format!("{}; {UNLIKE}", row.note) };
    section.row(row.note(note));
}

fn case(scale: Scale, users: u32) -> Case {
    let seconds = match scale {
        Scale::Quick => 50.0,
        Scale::Full => 150.0,
        Scale::Paper => 600.0,
    };
    Case::closed(users, seconds)
}

fn capped(policy: &str, cap: &str) -> String {
    format!("{policy} --uplink-in-kernel {cap}")
}

fn load_groups(choice: &Choice) -> Vec<Group> {
    let systems = choice.systems(&OWN);
    let few = [LIGHT, FULL, MODERATE, ABOVE];
    let users: Vec<u32> = match choice.scale {
        Scale::Quick => few.to_vec(),
        _ => USERS.to_vec(),
    };
    let of = |users: u32| case(choice.scale, users).groups(&systems).collect::<Vec<_>>();
    users.into_iter().flat_map(of).collect()
}

fn report_load(evidence: &Evidence<'_>, section: &mut Section) {
    let scale = evidence.choice.scale;
    let systems = evidence.choice.systems(&OWN);
    section.text(
        "SURGE's user equivalents ask, wait for the answer and think. The paper ran 400 to 2000 of \
         them on a 100 Mbit/s network, of which half of the load had 10 Mbit/s only (section 4.2), and \
         found its server's network queue to grow from 1000 on; a \
         link of 10 Mbit/s is full at about 340. Their size-independent server is weir's fair, \
         their shortest connection first is weir's srpt. A closed loop cannot be overloaded: users \
         who wait do not ask.",
    );
    let cases: Vec<(f64, Case)> =
        USERS.iter().map(|&users| (f64::from(users), case(scale, users))).collect();
    let apache = pair(evidence, APACHE, FAIR);
    let policies = pair(evidence, SRPT, FAIR);
    for users in [FULL, MODERATE, ABOVE] {
        let case = case(scale, users);
        let title = format!("Figure 2: {users} users, Apache and size-independent");
        section.plot(pieces::by_size(evidence, &title, &case, &apache));
        let title = format!("Figure 4: {users} users, shortest first and size-independent");
        section.plot(pieces::by_size(evidence, &title, &case, &policies));
    }
    let figures: [(&str, Axis, Measure); 2] = [
        ("Figure 3: mean response time over load", Axis::log("mean response time, ms"), mean),
        ("Responses over load", Axis::linear("responses per second"), |outcome| {
            outcome.responses_per_second
        }),
    ];
    for (title, y, figure) in figures {
        let x = Axis::linear("user equivalents");
        section.plot(pieces::curve(evidence, title, (x, y), &cases, &systems, (figure, 1.0)));
    }
    let named: Vec<(String, Case)> =
        USERS.iter().map(|&users| (users.to_string(), case(scale, users))).collect();
    section.table(pieces::range_table(evidence, "Closed loop.", "users", &named, &systems));
    load_rows(evidence, section, scale);
}

/// These two, of the systems that were chosen.
fn pair(evidence: &Evidence<'_>, one: &str, other: &str) -> Vec<String> {
    let chosen = evidence.choice.systems(&OWN);
    chosen.into_iter().filter(|system| system == one || system == other).collect()
}

fn load_rows(evidence: &Evidence<'_>, section: &mut Section, scale: Scale) {
    let over = |above: &str, below: &str, users: u32, figure: Measure| {
        let case = case(scale, users);
        evidence.runs.ratio(&case.cell(above), &case.cell(below), figure)
    };
    let null = Bar::Between(0.9, 1.1);
    let ratio = |what: String, paper: &str, ours| Row::new(what, paper, ours, Unit::Times);
    let none = "no difference below 1000 users";
    let what = format!("null result: weir fair ÷ weir srpt, means, {LIGHT} users (load 0.1)");
    let row = ratio(what, none, over(FAIR, SRPT, LIGHT, mean)).paper_is(1.0).bar(null);
    beside(section, row.note("where nothing queues, order should not matter"));
    if scale != Scale::Quick {
        let what = "weir fair ÷ weir srpt, means, 240 users (below saturation)".to_owned();
        let note =
            "here every byte is ordered at the link, so order matters before the link is full";
        let row = ratio(what, none, over(FAIR, SRPT, 240, mean)).paper_is(1.0);
        beside(section, row.note(note));
    }
    let what = format!("weir fair ÷ weir srpt, means, {MODERATE} users (its 1400)");
    let row = ratio(what, "a factor of 4 to 5", over(FAIR, SRPT, MODERATE, mean));
    let note = "srpt's paced link is at most 98.5 % used, and users who wait less ask more";
    beside(section, row.paper_says(Bar::Between(4.0, 5.0)).note(note));
    let what = format!("Apache prefork ÷ weir fair, means, {MODERATE} users (its 1400)");
    let row = ratio(what, "very similar", over(APACHE, FAIR, MODERATE, mean));
    beside(section, row.paper_is(1.0));
    for (users, its, paper, limit) in [
        (MODERATE, 1400, "large jobs do not fare worse", Bar::AtMost(1.0)),
        (ABOVE, 1800, "large jobs begin to suffer", Bar::Above(1.0)),
    ] {
        let what = format!("weir srpt ÷ weir fair, largest 1 %, {users} users (its {its})");
        let row = ratio(what, paper, over(SRPT, FAIR, users, largest));
        beside(section, row.paper_says(limit));
    }
}

fn concurrency_groups(choice: &Choice) -> Vec<Group> {
    let case = case(choice.scale, MODERATE);
    let capped = CAPS.iter().flat_map(|(_, cap)| [capped(SRPT, cap), capped(FAIR, cap)]);
    let systems: Vec<String> = capped.chain(choice.systems(&[APACHE])).collect();
    case.groups(&systems).collect()
}

fn report_concurrency(evidence: &Evidence<'_>, section: &mut Section) {
    let scale = evidence.choice.scale;
    let case = case(scale, MODERATE);
    section.text(format!(
        "The paper's server writes blocks of up to 32 KB with a pool of threads; their number bounds \
         what waits in the kernel, where order is lost. weir's --uplink-in-kernel bounds the same \
         directly and paces nothing. {MODERATE} users. 1 MB is about what 35 threads of 32 KB hold; \
         the queue of 1000 packets holds 1.5 MB.",
    ));
    let figures: [(&str, &str, Measure); 3] = [
        ("Figure 5 (upper): mean response time", "mean response time, ms", mean),
        ("Figure 5 (lower): responses per second", "responses per second", |o| {
            o.responses_per_second
        }),
        ("Figure 6: goodput", "kB of bodies per second", |o| o.goodput_bytes / 1e3),
    ];
    for (title, axis, figure) in figures {
        let mut plot =
            Plot::new(title, Axis::log("cap on bytes in the kernel"), Axis::linear(axis));
        for policy in [SRPT, FAIR] {
            let points = CAPS.iter().map(|(bytes, cap)| {
                (*bytes, evidence.runs.value(&case.cell(&capped(policy, cap)), figure))
            });
            plot.series.push(series::measured(policy, points, 1.0));
        }
        let apache = evidence.runs.value(&case.cell(APACHE), figure);
        let ends = [CAPS[0].0, CAPS[CAPS.len() - 1].0];
        let level = ends.map(|x| (x, apache.clone()));
        let mut series = series::measured(APACHE, level, 1.0).coloured(4, true);
        series.marked = false;
        plot.series.push(series);
        section.plot(plot);
    }
    let mut table = Table::new(
        format!("Write concurrency, {MODERATE} users. Times in ms."),
        &["cap", "weir srpt, mean", "weir fair, mean", "fair ÷ srpt", "srpt, kB/s", "fair, kB/s"],
    );
    for (_, cap) in CAPS {
        let (srpt, fair) = (case.cell(&capped(SRPT, cap)), case.cell(&capped(FAIR, cap)));
        let goodput = |o: &Outcome| o.goodput_bytes / 1e3;
        let figures = [
            (evidence.runs.value(&srpt, mean), Unit::Ms),
            (evidence.runs.value(&fair, mean), Unit::Ms),
            (evidence.runs.ratio(&fair, &srpt, mean), Unit::Times),
            (evidence.runs.value(&srpt, goodput), Unit::Count),
            (evidence.runs.value(&fair, goodput), Unit::Count),
        ];
        table.row(cap, &figures);
    }
    section.table(table);
    concurrency_rows(evidence, section, &case);
}

fn concurrency_rows(evidence: &Evidence<'_>, section: &mut Section, case: &Case) {
    let of = |above: String, below: String, figure: Measure| {
        evidence.runs.ratio(&case.cell(&above), &case.cell(&below), figure)
    };
    let gain = |cap: &str| of(capped(FAIR, cap), capped(SRPT, cap), mean);
    let ratio = |what: String, paper: &str, ours| Row::new(what, paper, ours, Unit::Times);
    let goodput: Measure = |outcome| outcome.goodput_bytes;
    let what = "convergence: weir fair ÷ weir srpt, means, cap of 16 MB".to_owned();
    let row = ratio(what, "no effect at about 60 threads", gain("16mb"));
    let row = row.paper_is(1.0).bar(Bar::Between(0.9, 1.1));
    beside(section, row.note("with everything in the kernel, the kernel orders"));
    let what = format!("weir fair ÷ weir srpt, means, cap of {CONTROLLED}");
    let row = ratio(what, "even greater than 4 to 5 with fewer threads", gain(CONTROLLED));
    beside(section, row.paper_says(Bar::Above(4.0)).bar(Bar::Above(1.1)));
    let what = "weir fair ÷ weir srpt, means, cap of 1mb (about its 35 threads)".to_owned();
    let row = ratio(what, "a factor of 4 to 5", gain("1mb"));
    beside(section, row.paper_says(Bar::Between(4.0, 5.0)));
    let what = "weir srpt, goodput with the least cap ÷ with the most".to_owned();
    let ends = [CAPS[0].1, CAPS[CAPS.len() - 1].1].map(|cap| capped(SRPT, cap));
    let [least, most] = ends;
    let row = ratio(what, "grows with the number of threads", of(least, most, goodput));
    beside(section, row.paper_says(Bar::Below(1.0)));
    for (_, cap) in CAPS {
        let what = format!("weir srpt ÷ weir fair, goodput, cap of {cap}");
        let ours = of(capped(SRPT, cap), capped(FAIR, cap), goodput);
        let row = ratio(what, "slightly higher in all cases", ours);
        beside(section, row.paper_says(Bar::Above(1.0)));
    }
    let what = format!("weir srpt with a cap of 1mb ÷ {}, goodput", label(APACHE));
    let ours = of(capped(SRPT, "1mb"), APACHE.to_owned(), goodput);
    let row = ratio(what, "higher at 35 threads", ours);
    beside(section, row.paper_says(Bar::Above(1.0)));
}

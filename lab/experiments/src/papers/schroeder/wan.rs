//! Schroeder 2003, section 4.1 (D): a round trip of 100 ms and 5 % loss.

use super::conditions::{self, AS_THE_PAPER, BOTH, Conditions};
use super::gains::{self, Figure, is};
use super::ranges::{self, DELAY, LOSS};
use crate::choice::{Choice, Scale};
use crate::experiment::case::Case;
use crate::experiment::systems::{APACHE, FAIR, NGINX, PROTECTIVE, SRPT};
use crate::experiment::{Evidence, Experiment, Group, mean, pieces};
use crate::findings::{Bar, Row, Section, Unit, label};

pub(in crate::papers) const EXPERIMENT: Experiment = Experiment {
    name: "schroeder-wan",
    paper: "Schroeder 2003",
    repeats: "Figure 6 (D); Table 2, row D and its range",
    title: "Round-trip times and losses together",
    groups,
    report,
};

/// The load of "the same trace without load".
const IDLE: f64 = 0.05;

const MAIN: [&str; 5] = [SRPT, PROTECTIVE, FAIR, NGINX, APACHE];

/// W1 over row D's link.
fn both(conditions: Conditions, scale: Scale) -> Case {
    conditions.of(Case::w1(scale)).wan(DELAY, LOSS)
}

/// Twice as long, since so little is asked for.
fn idle(scale: Scale) -> Case {
    let duration = match scale {
        Scale::Quick => 60.0,
        Scale::Full => 300.0,
        Scale::Paper => 1800.0,
    };
    Case::open(vec![(duration, IDLE)], duration).wan(DELAY, LOSS)
}

fn groups(choice: &Choice) -> Vec<Group> {
    let scale = choice.scale;
    let pair = choice.systems(&[SRPT, NGINX]);
    let main = if scale == Scale::Quick { pair.clone() } else { choice.systems(&MAIN) };
    let plane = plane(scale);
    let plane = plane.iter().map(|(_, case)| case);
    let mut groups = conditions::groups(plane, &Conditions::Paper.systems(choice, &MAIN));
    let today = both(Conditions::Today, scale);
    groups.extend(conditions::groups([&today, &today.clone().queue(100)], &main));
    groups.extend(idle(scale).groups(&pair));
    groups
}

/// Row D as the paper ran it; of its range, a quick run has its own case.
fn plane(scale: Scale) -> Vec<(String, Case)> {
    let mut plane = ranges::plane(&Conditions::Paper.of(Case::w1(scale)));
    if scale == Scale::Quick {
        plane.truncate(1);
    }
    plane
}

fn report(evidence: &Evidence<'_>, section: &mut Section) {
    let scale = evidence.choice.scale;
    section.text(
        "Delay and loss come from weir-wan, an emulated link in its own namespace: half of the round \
         trip each way, and each packet lost independently with the same probability each way, as the \
         paper's Dummynet does. \"Without load\" is the same law of sizes at a constant load of 0.05.",
    );
    section.text(AS_THE_PAPER);
    for conditions in BOTH {
        let case = both(conditions, scale);
        let systems = conditions.systems(evidence.choice, &MAIN);
        let title = conditions.named("Figure 6 (D): 100 ms and 5 %, over time");
        section.plot(pieces::over_time(evidence, &title, &case, &systems));
        let title = conditions.named("100 ms and 5 %: by size");
        section.plot(pieces::by_size(evidence, &title, &case, &systems));
    }
    paper(evidence, section);
    let systems = evidence.choice.systems(&MAIN);
    for queue in [1000, 100] {
        let caption = format!("100 ms and 5 % (D), queue of {queue} packets, today.");
        let case = both(Conditions::Today, scale).queue(queue);
        section.table(pieces::table(evidence, caption, &case, &systems));
    }
    today(evidence, section);
}

fn paper(evidence: &Evidence<'_>, section: &mut Section) {
    let systems = Conditions::Paper.systems(evidence.choice, &MAIN);
    let case = both(Conditions::Paper, evidence.choice.scale);
    let plane = plane(evidence.choice.scale);
    let caption = "100 ms and 5 % (D), as the paper ran it.";
    section.table(pieces::table(evidence, caption, &case, &systems));
    let caption = "Figure 6 (D), right, as the paper ran it.";
    section.table(pieces::range_table(evidence, caption, "link", &plane, &systems));
    let said = is("a factor of 2", 2.0);
    gains::gain(evidence, section, &case, ("100 ms and 5 %", said));
    let figure = Figure::of("mean, 100 ms and 5 %", Unit::Ms, mean);
    let figure = figure.fair(is("2.5 s", 2500.0)).srpt(is("1.2 s", 1200.0));
    gains::each(evidence, section, &case, &figure);
}

fn today(evidence: &Evidence<'_>, section: &mut Section) {
    let scale = evidence.choice.scale;
    let case = both(Conditions::Today, scale);
    for (system, bars) in [(NGINX, [Some(2.2), Some(3.0)]), (APACHE, [None, None])] {
        for (queue, bar) in [1000, 100].into_iter().zip(bars) {
            let case = case.clone().queue(queue);
            let what = format!("{} ÷ weir srpt, 100 ms and 5 %, queue of {queue}", label(system));
            let ours = evidence.runs.ratio(&case.cell(system), &case.cell(SRPT), mean);
            let row = Row::new(what, "a factor of 2", ours, Unit::Times).paper_is(2.0);
            Conditions::Today.row(section, Row { bar: bar.map(Bar::AtLeast), ..row });
        }
    }
    let quiet = idle(scale);
    for (system, bar) in [(SRPT, Some(Bar::AtMost(1.25))), (NGINX, None)] {
        let ours = evidence.runs.ratio(&case.cell(system), &quiet.cell(system), mean);
        let what = format!("{}, 100 ms and 5 %, under W1 ÷ without load", label(system));
        Conditions::Today.row(section, Row { bar, ..Row::new(what, "", ours, Unit::Times) });
    }
}

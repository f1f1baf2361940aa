//! Schroeder 2003, section 4.2: the nine workloads of Table 1 on the baseline.

use crate::outcome::Outcome;
use crate::report::{Axis, Plot, Section, Series, Table, label};
use crate::verdict::{Bar, Ours, Row, Unit};

use super::case::Case;
use super::conditions::{APACHE, FAIR, NGINX, PROTECTIVE, SRPT, SYSTEMS};
use super::runs::{Runs, largest, listen_drops, mean};
use super::w1::worst_by_size;
use super::workload::{WORKLOADS, Workload};
use super::{Choice, Experiment, Group, Scale, Told, pieces};

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "schroeder-workloads",
    paper: "Schroeder 2003",
    repeats: "Figure 9, Table 1; section 4.2",
    title: "Transient overload: workloads W1 to W9",
    groups,
    tell,
};

/// A quick run has fewer, so that all its cells fit side by side.
const QUICK: [&str; 3] = [SRPT, PROTECTIVE, NGINX];

fn systems(choice: &Choice) -> Vec<String> {
    match choice.scale {
        Scale::Quick => choice.systems(&QUICK),
        _ => choice.systems(&SYSTEMS),
    }
}

fn groups(choice: &Choice) -> Vec<Group> {
    let systems = systems(choice);
    let of = |workload| Case::of(workload, choice.scale).groups(&systems).collect::<Vec<_>>();
    WORKLOADS.iter().flat_map(of).collect()
}

fn tell(told: &Told<'_>, section: &mut Section) {
    let systems = systems(told.choice);
    section.text(
        "W1 to W5 alternate between overload and low load, W6 to W9 have spikes of twice the rate. \
         Queue of 1000 packets.",
    );
    let figures: [(&str, &str, fn(&Outcome) -> f64); 2] = [
        ("Figure 9 (left): mean response time", "mean response time, ms", mean),
        ("Figure 9 (right): largest 1 %", "mean response time of the largest 1 %, ms", largest),
    ];
    for (title, label, figure) in figures {
        section.plot(by_workload(told, title, label, &systems, figure));
    }
    section.table(overview(told, &systems));
    for workload in &WORKLOADS {
        let case = Case::of(workload, told.choice.scale);
        let caption = format!("{}.", workload.name);
        section.table(pieces::table(told, caption, &case, &systems));
    }
    rows(told, section);
}

fn by_workload(
    told: &Told<'_>,
    title: &str,
    label: &str,
    systems: &[String],
    figure: fn(&Outcome) -> f64,
) -> Plot {
    let names = WORKLOADS.iter().map(|workload| workload.name.to_owned());
    let mut plot = Plot::new(title, Axis::names("workload", names), Axis::log(label));
    for system in systems {
        let points = WORKLOADS.iter().enumerate().map(|(index, workload)| {
            let cell = Case::of(workload, told.choice.scale).cell(system);
            (index as f64, told.runs.value(&cell, figure))
        });
        plot.series.push(Series::measured(system, points, 1.0));
    }
    plot
}

fn overview(told: &Told<'_>, systems: &[String]) -> Table {
    let mut columns = vec!["system".to_owned()];
    columns.extend(WORKLOADS.iter().map(|workload| workload.name.to_owned()));
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    let caption = "Mean response time ÷ weir srpt's, by workload.";
    let mut table = Table::new(caption, &columns);
    for system in systems {
        let ratios = WORKLOADS.iter().map(|workload| {
            let case = Case::of(workload, told.choice.scale);
            (told.runs.ratio(&case.cell(system), &case.cell(SRPT), mean), Unit::Times)
        });
        table.row(label(system), &ratios.collect::<Vec<_>>());
    }
    table
}

/// The workload on which a figure is least, or most, and that figure.
fn extreme(
    told: &Told<'_>,
    figure: impl Fn(&Runs, &Case) -> Ours,
    least: bool,
) -> (Ours, Option<&'static str>) {
    let each = WORKLOADS
        .iter()
        .map(|workload| (figure(told.runs, &Case::of(workload, told.choice.scale)), workload));
    let known: Vec<(Ours, &Workload)> = each.filter(|(ours, _)| ours.interval.is_some()).collect();
    let left_out = known.iter().map(|(ours, _)| ours.left_out).sum();
    let value = |ours: &Ours| ours.middle().unwrap_or(f64::NAN);
    let by_value =
        |a: &&(Ours, &Workload), b: &&(Ours, &Workload)| value(&a.0).total_cmp(&value(&b.0));
    let found = match least {
        true => known.iter().min_by(by_value),
        false => known.iter().max_by(by_value),
    };
    match found {
        Some((ours, workload)) => (Ours { left_out, ..ours.clone() }, Some(workload.name)),
        None => (Ours::none(), None),
    }
}

/// Of ratios that should be large the least counts, of those that should be small the largest.
fn over_all(
    told: &Told<'_>,
    what: &str,
    paper: &str,
    bar: Option<Bar>,
    figure: impl Fn(&Runs, &Case) -> Ours,
) -> Row {
    let least = !matches!(bar, Some(Bar::AtMost(_)));
    let (ours, workload) = extreme(told, figure, least);
    let word = if least { "least" } else { "most" };
    let note =
        workload.map_or(String::new(), |name| format!("{word} of the workloads run, on {name}"));
    let row = Row::new(what, paper, ours, Unit::Times).note(note);
    Row { bar, ..row }
}

fn rows(told: &Told<'_>, section: &mut Section) {
    let paper = "4 to 8 across the workloads";
    for (name, limit) in [("W4", 9.5), ("W8", 6.5)] {
        let workload = WORKLOADS.iter().find(|workload| workload.name == name);
        let ours = workload.map_or(Ours::none(), |workload| {
            let case = Case::of(workload, told.choice.scale);
            told.runs.ratio(&case.cell(NGINX), &case.cell(SRPT), mean)
        });
        let what = format!("nginx ÷ weir srpt, means, {name}");
        section.row(Row::new(what, paper, ours, Unit::Times).bar(Bar::AtLeast(limit)));
    }
    for rival in [NGINX, APACHE] {
        let figures: [(&str, fn(&Outcome) -> f64); 2] =
            [("means", mean), ("medians", |outcome| outcome.measured.median)];
        for (word, figure) in figures {
            let what = format!("{} ÷ weir srpt, {word}", label(rival));
            section.row(over_all(told, &what, paper, Some(Bar::Above(1.0)), |runs, case| {
                runs.ratio(&case.cell(rival), &case.cell(SRPT), figure)
            }));
        }
    }
    let largest_paper = "at most 1.10 on any workload";
    section.row(over_all(
        told,
        "weir srpt ÷ nginx, largest 1 %",
        largest_paper,
        Some(Bar::AtMost(1.0)),
        |runs, case| runs.ratio(&case.cell(SRPT), &case.cell(NGINX), largest),
    ));
    section.row(over_all(
        told,
        "protective ÷ srpt, means",
        "",
        Some(Bar::AtMost(1.12)),
        |runs, case| runs.ratio(&case.cell(PROTECTIVE), &case.cell(SRPT), mean),
    ));
    section.row(over_all(
        told,
        "protective ÷ fair, worst of the size deciles and the largest 1 %",
        "",
        Some(Bar::AtMost(1.03)),
        |runs, case| runs.paired(&case.cell(PROTECTIVE), &case.cell(FAIR), worst_by_size),
    ));
    let shares: [(&str, &str, &str, fn(&Outcome) -> f64, Unit, bool); 5] = [
        ("weir srpt, incomplete responses", SRPT, "none", |o| o.incomplete, Unit::Percent, true),
        (
            "weir protective, later than exact processor sharing by more than 50 ms",
            PROTECTIVE,
            "",
            pieces::late,
            Unit::Percent,
            false,
        ),
        ("weir protective, worst lateness", PROTECTIVE, "", pieces::worst, Unit::Ms, false),
        (
            "weir srpt, later than exact processor sharing by more than 50 ms",
            SRPT,
            "",
            pieces::late,
            Unit::Percent,
            false,
        ),
        (
            "Apache prefork, refused connections",
            APACHE,
            "1 to 3 % of SYNs on W3 and W4",
            listen_drops,
            Unit::Count,
            false,
        ),
    ];
    for (what, system, paper, figure, unit, lossless) in shares {
        let bar = lossless.then_some(Bar::AtMost(0.0));
        let most = Some(Bar::AtMost(f64::INFINITY));
        let row =
            over_all(told, what, paper, most, |runs, case| runs.value(&case.cell(system), figure));
        section.row(Row { unit, bar, ..row });
    }
}

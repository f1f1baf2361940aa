//! Schroeder 2003, appendix B: the experiments again with the NASA trace.

use super::realistic::realistic;
use crate::choice::{Choice, Scale};
use crate::experiment::case::Case;
use crate::experiment::systems::{FEW, NGINX, SRPT};
use crate::experiment::workload::WORKLOADS;
use crate::experiment::{Evidence, Experiment, Group, largest, mean, pieces};
use crate::findings::{Axis, Plot, Row, Section, Unit, series};

pub(in crate::papers) const EXPERIMENT: Experiment = Experiment {
    name: "schroeder-nasa",
    paper: "Schroeder 2003",
    repeats: "Figures 11, 12 and 13; appendix B",
    title: "The NASA trace",
    groups,
    report,
};

/// The day of the NASA log that there is.
pub(super) const NASA: &str = "nasa-19950801.tsv.gz";

/// Figure 11's rows with the values of Table 2, column 3.
fn table_2(scale: Scale) -> Vec<(&'static str, Case)> {
    let case = || Case::w1(scale).traced(NASA);
    vec![
        ("A: baseline", case()),
        ("B: 100 ms", case().wan(100.0, 0.0)),
        ("C: 5 % loss", case().wan(0.0, 0.05)),
        ("D: 100 ms, 5 %", case().wan(100.0, 0.05)),
        ("E: 5 requests per connection", case().requests_per_connection(5)),
        ("F: RTO 0.5 s", case().initial_rto(500)),
        ("H: abort after 10 s", case().abort(10.0, 3)),
        ("I: 576 bytes", case().mtu(576)),
        ("J: realistic", realistic(case())),
    ]
}

fn groups(choice: &Choice) -> Vec<Group> {
    let systems = match choice.scale {
        Scale::Quick => choice.systems(&[SRPT, NGINX]),
        _ => choice.systems(&FEW),
    };
    let mut groups: Vec<Group> = Vec::new();
    for (name, case) in table_2(choice.scale) {
        match name.as_bytes().first() {
            Some(b'A' | b'J') => groups.extend(case.groups(&systems)),
            _ => groups.extend(case.points(&systems)),
        }
    }
    for workload in &WORKLOADS {
        groups.extend(Case::of(workload, choice.scale).traced(NASA).points(&systems));
    }
    groups
}

fn report(evidence: &Evidence<'_>, section: &mut Section) {
    let scale = evidence.choice.scale;
    let systems = evidence.choice.systems(&FEW);
    let rows = table_2(scale);
    section.text(
        "One day of the log of NASA's Kennedy Space Center, 1 August 1995: 30,969 requests (the paper \
         used several hours of a day of 100,000), mean 15.6 KB, the largest 3 % half of the bytes. It \
         keeps its own interarrivals, scaled so that each period has its load. G, SYN cookies, is left \
         out: see schroeder-syn-cookies.",
    );
    let base = Case::w1(scale).traced(NASA);
    let real = realistic(base.clone());
    section.plot(pieces::over_time(
        evidence,
        "Figure 11 (A): baseline, over time",
        &base,
        &systems,
    ));
    section.plot(pieces::over_time(evidence, "Figure 12: realistic, over time", &real, &systems));
    section.plot(pieces::by_size(evidence, "Baseline, by size", &base, &systems));
    let names = WORKLOADS.iter().map(|workload| workload.name.to_owned());
    let y = Axis::log("mean response time, ms");
    let mut plot = Plot::new("Figure 13 (left): workloads", Axis::names("workload", names), y);
    for system in &systems {
        let points = WORKLOADS.iter().enumerate().map(|(index, workload)| {
            let cell = Case::of(workload, scale).traced(NASA).cell(system);
            (index as f64, evidence.runs.value(&cell, mean))
        });
        plot.series.push(series::measured(system, points, 1.0));
    }
    section.plot(plot);
    let named = rows.iter().map(|(name, case)| ((*name).to_owned(), case.clone()));
    let caption = "Figure 11: rows of Table 2 on the NASA trace.";
    section.table(pieces::range_table(
        evidence,
        caption,
        "row",
        &named.collect::<Vec<_>>(),
        &systems,
    ));
    let by_workload = WORKLOADS
        .iter()
        .map(|workload| (workload.name.to_owned(), Case::of(workload, scale).traced(NASA)));
    let caption = "Figure 13: workloads of Table 1 on the NASA trace.";
    let listed: Vec<(String, Case)> = by_workload.collect();
    section.table(pieces::range_table(evidence, caption, "workload", &listed, &systems));
    section.table(pieces::table(evidence, "W1, baseline.", &base, &systems));
    let gain = |case: &Case| evidence.runs.ratio(&case.cell(NGINX), &case.cell(SRPT), mean);
    let same = "the gains of the World Cup trace";
    let paper = |text: &str| format!("{text}: {same}");
    section.row(
        Row::new("nginx ÷ weir srpt, means, W1", paper("8"), gain(&base), Unit::Times)
            .paper_is(8.0),
    );
    section.row(
        Row::new("nginx ÷ weir srpt, means, W1 realistic", paper("1.9"), gain(&real), Unit::Times)
            .paper_is(1.94),
    );
    let ours = evidence.runs.ratio(&base.cell(SRPT), &base.cell(NGINX), largest);
    section.row(Row::new("weir srpt ÷ nginx, largest 1 %, W1", "at most 1.1", ours, Unit::Times));
}

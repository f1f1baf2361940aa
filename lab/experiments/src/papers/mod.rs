//! All experiments, paper by paper, and the sections of a report. `weir-lab` lists, runs and reports
//! them by name.

mod carter;
mod crovella;
mod figures;
mod rawat;
mod ruan;
mod schroeder;

use std::path::Path;

use weir_peers::{Error, Result};

use crate::choice::Choice;
use crate::experiment::{Experiment, Runs};
use crate::findings::Section;
use crate::outcome::Outcome;
use crate::report::{Report, Run};

pub use figures::{FIGURES, Figure, State};

/// All experiments, in the order of reports.
pub const EXPERIMENTS: [Experiment; 36] = [
    schroeder::w1::EXPERIMENT,
    schroeder::persistent::EXPERIMENT,
    schroeder::workloads::EXPERIMENT,
    schroeder::wan::EXPERIMENT,
    schroeder::wan_range::EXPERIMENT,
    schroeder::table2::PERSISTENT_CONNECTIONS,
    schroeder::table2::RTO,
    schroeder::table2::SYN_COOKIES,
    schroeder::aborts::EXPERIMENT,
    schroeder::table2::PACKET_LENGTH,
    schroeder::realistic::EXPERIMENT,
    schroeder::why::EXPERIMENT,
    schroeder::nasa::EXPERIMENT,
    schroeder::traces::EXPERIMENT,
    schroeder::router::EXPERIMENT,
    schroeder::tls::EXPERIMENT,
    crovella::load::LOAD,
    crovella::load::CONCURRENCY,
    schroeder::onoff::EXPERIMENT,
    crovella::slowdown::EXPERIMENT,
    ruan::set::EXPERIMENT,
    ruan::load::EXPERIMENT,
    ruan::sets::EXPERIMENT,
    ruan::steps::EXPERIMENT,
    ruan::bursts::EXPERIMENT,
    ruan::hot::EXPERIMENT,
    ruan::factorial::EXPERIMENT,
    ruan::generations::EXPERIMENT,
    carter::load::EXPERIMENT,
    carter::days::EXPERIMENT,
    carter::model::EXPERIMENT,
    carter::proxy::EXPERIMENT,
    carter::uplink::EXPERIMENT,
    rawat::simulated::EXPERIMENT,
    rawat::promise::EXPERIMENT,
    rawat::wan::EXPERIMENT,
];

/// The experiment of this name.
pub fn find(name: &str) -> Option<&'static Experiment> {
    EXPERIMENTS.iter().find(|experiment| experiment.name == name)
}

/// The runs kept in a directory, and all outcomes in it.
///
/// # Errors
///
/// When it is not the directory of a run, a file in it is not what it should be, or a run names an
/// experiment that does not exist.
pub fn read_runs(directory: &Path) -> Result<(Vec<Run>, Vec<Outcome>)> {
    let (runs, outcomes) = Run::read(directory)?;
    let mut names = runs.iter().flat_map(|run| &run.experiments);
    if let Some(name) = names.find(|name| find(name).is_none()) {
        let directory = directory.display();
        return Err(Error(format!("{directory}/runs.json: no experiment is called {name}")));
    }
    Ok((runs, outcomes))
}

/// The report of the runs: a section for each experiment. One that several runs have at the same
/// scale has one section, with what all of them planned.
pub fn report(runs: Vec<Run>, outcomes: &Runs) -> Report {
    let mut planned: Vec<(&Experiment, Choice)> = Vec::new();
    for run in &runs {
        for experiment in run.experiments.iter().filter_map(|name| find(name)) {
            let same = |(known, choice): &&mut (&Experiment, Choice)| {
                known.name == experiment.name && choice.scale == run.choice.scale
            };
            match planned.iter_mut().find(same) {
                Some((_, choice)) => *choice = choice.with(&run.choice),
                None => planned.push((experiment, run.choice.clone())),
            }
        }
    }
    let section =
        |(experiment, choice): &(&Experiment, Choice)| experiment.section(choice, outcomes);
    let mut sections: Vec<Section> = planned.iter().map(section).collect();
    sections.sort_by_key(|section| EXPERIMENTS.iter().position(|e| e.name == section.name));
    Report { runs, sections }
}
